/* Shared libraries that only some of our processes need, loaded when one first uses them: each costs every process
 * that is linked with it memory and start time. May include: base/. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct library_symbol {
    const char *name;
    size_t at; /* offset of its pointer in the struct of functions */
};

struct library {
    const char *file;    /* "libcurl.so.4" */
    const char *package; /* Debian's name, for messages */
    const struct library_symbol *symbols;
    size_t n;
    void *functions; /* the struct that gets the pointers */
    pthread_mutex_t lock;
    bool is_loaded;
};

/* Idempotent, from any thread. Call it before the files become unreadable (landlock). ERR_UNSUPPORTED names file and
 * package. */
int library_load(struct library *l, struct err *err);
/* Looks the symbols up in what dlopen() returned. The name of the first that is missing, or NULL. */
const char *library_bind(void *handle, const struct library_symbol *symbols, size_t n, void *functions);
