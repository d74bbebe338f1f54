/* The server's side of the process that may read the configuration file (config_reader.h): starts it, receives the file
 * from it, and restarts it after a pause when it exits. No failure of it stops the server. Untrusted: its messages. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "loop/loop.h"
#include "os/keeper.h"

struct config_keeper;

struct config_keeper_events {
    /* The file's bytes, borrowed: at the start, when they changed, and when requested. */
    void (*on_file)(void *arg, const char *text, size_t len, bool is_asked);
    void (*on_trouble)(void *arg, const char *text); /* each problem once, until there is a file again */
    void *arg;
};

/* keeper is borrowed. */
struct config_keeper *config_keeper_new(struct loop *l, struct keeper *keeper, unsigned job,
                                        const struct config_keeper_events *events);
void config_keeper_ask(struct config_keeper *k);
struct config_keeper *config_keeper_free(struct config_keeper *k); /* waits for the process to exit, at most 1 s */
