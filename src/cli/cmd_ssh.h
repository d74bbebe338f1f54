/* `iii ssh`: OpenSSH's client, told where the server's SSH is. May include: base/, http/, spec/, cli/. */
#pragma once
#include "cli/verbs.h"

verbs_fn cmd_ssh_run;
