/* `iii vm …`: hands its options to the part of the program that knows microVMs. May include: base/, cli/. */
#pragma once
#include "cli/verbs.h"

verbs_fn vmcmd_setup, vmcmd_status;
