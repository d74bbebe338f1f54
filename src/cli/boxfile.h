/* Files of a sandbox by REST: `file read|write|upload|ls|mv` and `cp`. May include: base/, spec/, cli/. */
#pragma once
#include "cli/verbs.h"

verbs_fn boxfile_read;
verbs_fn boxfile_write;
verbs_fn boxfile_upload;
verbs_fn boxfile_ls;
verbs_fn boxfile_mv;
verbs_fn boxfile_cp;
