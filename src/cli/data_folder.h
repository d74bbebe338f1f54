/* The data folder a command works on: --data-dir, III_DATA_DIR, otherwise this user's own. May include: base/, cli/. */
#pragma once
#include "cli/verbs.h"

char *data_folder_of(const struct verbs_args *a); /* caller frees; need not exist */
