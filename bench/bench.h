/* Rows of the benchmark: each is one operation, timed over interleaved rounds. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "client.h"

#define POOL_MEMORY "777" /* MB, of the sandboxes in the warm pool */

struct row;

struct bench {
    struct row *ours, *peers;
    const char *bin;       /* the iii under test */
    const char *backend;   /* NULL: native */
    const char *image;     /* of every sandbox */
    const char *floor_bin; /* iii-floor */
    uint16_t port, engine_port;
    int server_pid;
    char data_dir[64];
    char runc_bundle[80]; /* made on first use */
    struct client http;
    char box[64]; /* a sandbox that lives for the whole run */
    /* Of a backend that is not native; each may be NULL. */
    bool (*prepare)(struct bench *b); /* before the server starts: its data folder is there */
    bool (*open)(struct bench *b);    /* after: what it is compared with */
    void (*close)(struct bench *b);
    void (*measure)(struct bench *b);                 /* once, after the rounds */
    void (*print)(const struct bench *b, FILE *json); /* after the table of rows */
};

struct row {
    const char *name, *what;
    double budget_ms; /* 0: none */
    /* One sample in µs, or < 0 when it failed. */
    int64_t (*sample)(struct bench *b);
    unsigned per_round;
    int64_t *samples; /* private */
    unsigned n, failed;
};

/* Peers and floors: are they there? They are rows like ours. */
extern struct row rows_ours[], rows_peers[];
bool rows_peer_present(struct bench *b, const char *name);
double rows_quantile_ms(struct row *r, double q); /* 0 without samples */
/* One sample of an operation that every backend has. */
int64_t rows_exec_true(struct bench *b);
int64_t rows_exec_sh(struct bench *b);
int64_t rows_write(struct bench *b);
int64_t rows_read(struct bench *b);
int64_t rows_pause(struct bench *b);
int64_t rows_resume(struct bench *b);
int64_t rows_wake_pause(struct bench *b);
int64_t rows_hibernate(struct bench *b);
int64_t rows_wake_hibernate(struct bench *b);
int64_t rows_snapshot(struct bench *b);

bool rows_serve(struct bench *b); /* starts the server and makes b->box */
void rows_stop(struct bench *b);
int64_t rows_spawn_us(const char *const *argv);                   /* bare fork + exec + wait; < 0 on failure */
bool rows_make_box(struct bench *b, char *id, const char *extra); /* POST /sandboxes; extra: more JSON members or "" */
int64_t rows_make_us(struct bench *b, char *id, const char *extra); /* the same, timed; < 0 on failure */
void rows_drop_box(struct bench *b, const char *id);
double rows_kib(const char *file, const char *key); /* the number behind "key:" in a file of /proc; 0 without */
