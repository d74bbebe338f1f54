/* Answers to one request: short frames straight to the link, or through a pipe when a helper process makes them. */
#pragma once
#include <stdint.h>

#include "guest/agent/ag_conn.h"

struct ag_reply {
    struct agent *agent;
    struct ag_conn *conn;
    int pipe_fd; /* >= 0: we are a helper process; frames go here */
    uint32_t stream;
};

void ag_reply_frame(struct ag_reply *r, const void *frame, size_t len);
void ag_reply_empty(struct ag_reply *r, uint16_t type);
void ag_reply_done(struct ag_reply *r);
/* error: positive errno. step: "open /x". Long ones are cut. */
void ag_reply_error(struct ag_reply *r, int error, const char *step, ...) __attribute__((format(printf, 3, 4)));
/* DONE for 0, else the error of a negative errno. */
void ag_reply_result(struct ag_reply *r, int result, const char *verb, const char *path);

/* Runs work(r, arg) in a helper process and passes its frames on, so that long walks through the file tree hold up
 * nobody. When no process can be made it is run here. The helper has copies of
 * all memory: what arg points to may be freed as soon as this returns. */
typedef void ag_work_fn(struct ag_reply *r, void *arg);
void ag_reply_work(struct ag_reply *r, ag_work_fn *work, void *arg);
