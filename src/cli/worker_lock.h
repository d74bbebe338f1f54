/* iii.lock, beside the configuration file: which workers `iii worker add` added, and with what content. JSON:
 * {"version": 1, "workers": {NAME: {"version", "source", "config", "digest"}}}. Members of others stay. May include:
 * base/, cli/, image/. */
#pragma once
#include "base/err.h"
#include "base/json.h"

struct worker_lock_entry {
    const char *name, *version; /* the worker, and the version of the program that provides it */
    const char *config;         /* path of the configuration file */
    const char *text;           /* its entry there, whose digest is stored */
    size_t len;
};

char *worker_lock_path(const char *config); /* caller frees */
/* Its content, an empty lock when there is no such file. ERR_INVALID: it is something else. Caller owns *ret. */
int worker_lock_load(const char *path, json_t **ret, struct err *err);
/* Adds the entry, and writes the file unless it is unchanged. */
int worker_lock_put(const char *path, json_t *lock, const struct worker_lock_entry *e, struct err *err);
