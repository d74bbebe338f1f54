/* Files of a sandbox by REST: `file read|write|upload|ls|mv`. May include: base/, spec/, cli/. */
#pragma once
#include "cli/verbs.h"

verbs_fn sandbox_files_read;
verbs_fn sandbox_files_write;
verbs_fn sandbox_files_upload;
verbs_fn sandbox_files_ls;
verbs_fn sandbox_files_mv;
