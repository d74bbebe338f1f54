/* `iii-sandbox exec -it`: connects this terminal to one in a sandbox, over the session's WebSocket. May include: base/,
 * http/, loop/, spec/, cli/. */
#pragma once
#include "cli/rest_client.h"

/* words: the command; none, or a shell, opens a shell. Returns its exit code, or 1 after the error was printed. */
int exec_terminal_run(const struct rest_client *l, const char *id, char **words, int n_words);
