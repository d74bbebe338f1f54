/* `iii audit`: reads the audit log of a data folder, also while a server runs. May include: base/, store/, cli/. */
#pragma once
#include "cli/verbs.h"

verbs_fn cmd_audit_show, cmd_audit_tail, cmd_audit_verify;
