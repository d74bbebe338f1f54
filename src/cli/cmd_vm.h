/* `iii vm …`: passes its options to the room that knows microVMs. May include: base/, cli/. */
#pragma once
#include "cli/verbs.h"

verbs_fn cmd_vm_setup, cmd_vm_status;
