/* `iii token`: on a data folder, with or without a server on it, or on a server by REST. May include: base/, store/,
 * cli/. */
#pragma once
#include "cli/verbs.h"

verbs_fn tokencmd_create, tokencmd_ls, tokencmd_show, tokencmd_revoke, tokencmd_rotate;
