/* `iii serve --takeover`: the new server's part before it opens anything. May include: base/, os/, store/, main/. */
#pragma once
#include "base/err.h"
#include "base/settings.h"
#include "os/inherit.h"

/* Checks everything that can be checked without changing it, then takes over. *ret_conn is NO_FD when no server runs on
 * dir (then this is a normal start), otherwise the connection to the old server, which waits for takeover_ready(). From
 * success on the process has a minute to become ready; then the kernel kills it, and the old server continues. */
int takeover_begin(const struct settings *s, const char *dir, struct inherit *to, int *ret_conn, struct err *err);
void takeover_ready(int *conn); /* tells the old server to exit; closes */
