/* What the scenes of the escape suite share: the server, its sandboxes, and the rows of the report. May include: base/,
 * os/, loop/, image/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/json.h"
#include "image/build_server.h"

#define SUITE_SECRET 33 /* 32 hex digits and the end */

struct suite {
    char *dir;    /* temporary: data/, the bait file */
    char *marker; /* a file of the host that holds the secret */
    char secret[SUITE_SECRET];
    struct build_server server;
    json_t *rows; /* [{item, name, result, detail}] */
    char *box, *neighbour;
    const char *backend;
    bool is_vm; /* its sandboxes have their own kernels (escape_vm.h) */
};

enum suite_result { SUITE_DENIED, SUITE_REACHED, SUITE_SKIPPED };

void suite_row(struct suite *s, int item, const char *name, enum suite_result result, const char *fmt, ...)
    PRINTF_LIKE(5, 6);

int suite_open(struct suite *s, const char *data_dir, const char *backend, struct err *err);
void suite_close(struct suite *s); /* terminates the server and removes the folder; for CLEANUP() too */

/* Creates a sandbox; its id, or NULL with err. Caller frees. fields: more of the create body, taken over; or NULL. */
char *suite_create(struct suite *s, json_t *fields, struct err *err);
void suite_delete(struct suite *s, const char *id);
/* Runs a command (argv ended by NULL) to its end. *ret_out: its stdout, caller frees. */
int suite_exec(struct suite *s, const char *id, const char *const *argv, char **ret_out, struct err *err);
int suite_shell(struct suite *s, const char *id, const char *script, char **ret_out, struct err *err);
/* Calls /sandboxes/ID/TAIL with body (taken over); the reply as text in *ret (caller frees), also that of an error. */
int suite_post(struct suite *s, const char *id, const char *tail, json_t *body, char **ret);
/* Copies the probe program into a sandbox as /workspace/iii-probe. */
int suite_load_probe(struct suite *s, const char *id, struct err *err);

/* The scenes. Each adds its rows; one that cannot run adds a row with the reason. */
typedef void suite_scene(struct suite *s);
suite_scene scenes_probes, scenes_files, scenes_kill, scenes_forks, scenes_neighbours;
