/* `iii token`: on a data folder, with or without a running server, or on a server by REST. May include: base/, store/,
 * cli/. */
#pragma once
#include "cli/verbs.h"

verbs_fn cmd_token_create, cmd_token_ls, cmd_token_show, cmd_token_revoke, cmd_token_rotate;
