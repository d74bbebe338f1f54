/* `iii-sandbox exec -it`: this terminal as one in a sandbox, over the session's WebSocket. May include: base/, http/,
 * loop/, spec/, cli/. */
#pragma once
#include "cli/restlink.h"

/* words: the command; none, or a shell, opens a shell. Returns its exit code, or 1 after the reason was said. */
int boxshell_run(const struct restlink *l, const char *id, char **words, int n_words);
