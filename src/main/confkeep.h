/* The server's side of the process that may read the configuration file (confreader.h): starts it, takes what it hands
 * over, and starts it again, after a pause, when it ends. Nothing that it does or fails to do stops the server.
 * Untrusted: its messages. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "loop/loop.h"
#include "os/keeper.h"

struct confkeep;

struct confkeep_events {
    /* The file's bytes, borrowed: at the start, when they changed, and when asked for. */
    void (*on_file)(void *arg, const char *text, size_t len, bool is_asked);
    void (*on_trouble)(void *arg, const char *text); /* each once, until there is a file again */
    void *arg;
};

/* keeper is borrowed. */
struct confkeep *confkeep_new(struct loop *l, struct keeper *keeper, unsigned job,
                              const struct confkeep_events *events);
void confkeep_ask(struct confkeep *k);
struct confkeep *confkeep_free(struct confkeep *k); /* waits for the process to end, at most 1 s */
