/* iii.lock, beside the configuration file: which workers `iii worker add` put there, and what they were. JSON:
 * {"version": 1, "workers": {NAME: {"version", "source", "config", "digest"}}}. Members of others stay.
 * May include: base/, cli/, image/. */
#pragma once
#include "base/err.h"
#include "base/json.h"

struct worker_lock_entry {
    const char *name, *version; /* the worker, and the version of the program that has it */
    const char *config;         /* path of the configuration file */
    const char *text;           /* its entry there, of which the digest is kept */
    size_t len;
};

char *worker_lock_path(const char *config); /* caller frees */
/* What is in it, an empty lock when there is no such file. ERR_INVALID: it is something else. Caller owns *ret. */
int worker_lock_load(const char *path, json_t **ret, struct err *err);
/* Puts the entry in, and writes the file unless that is what it says already. */
int worker_lock_put(const char *path, json_t *lock, const struct worker_lock_entry *e, struct err *err);
