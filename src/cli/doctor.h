/* `iii doctor`: prints what a driver found out about this host. Needs no server and knows no driver: main/ passes the
 * list. May include: base/. */
#pragma once
#include "base/json.h"

/* checks: [{name, ok, detail, required?, fix?}], borrowed; argv[0] is the verb. Options: --json, --help. A table in
 * colour on a terminal (unless NO_COLOR is set), plain text in a pipe. Returns the exit code: 0 sandboxes can be
 * created, 1 they cannot (each missing thing is named with its fix), 2 wrong usage. */
int doctor_print(const json_t *checks, int argc, char **argv);
