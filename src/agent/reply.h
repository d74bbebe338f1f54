/* Answers to one request: frames go to the link, or through a pipe when a helper process makes them. */
#pragma once
#include <stdint.h>

#include "agent/conn.h"

struct agent_reply {
    struct agent *agent;
    struct agent_conn *conn;
    int pipe_fd; /* >= 0: we are the helper process; frames go here */
    uint32_t stream;
    char *text; /* no host asked: an error becomes this text; nothing else may be answered */
    size_t text_size;
};

void agent_reply_frame(struct agent_reply *r, const void *frame, size_t len);
void agent_reply_empty(struct agent_reply *r, uint16_t type);
void agent_reply_done(struct agent_reply *r);
/* error: positive errno. step: "open /x". Long texts are cut. */
void agent_reply_error(struct agent_reply *r, int error, const char *step, ...) __attribute__((format(printf, 3, 4)));
/* DONE for 0, else the error of a negative errno. */
void agent_reply_result(struct agent_reply *r, int result, const char *verb, const char *path);

/* Runs work(r, arg) in a helper process and forwards its frames, so that a long tree walk holds up no other stream.
 * Runs it here when fork fails. The helper has a copy of all memory: what arg points to may be freed once this
 * returns. */
typedef void agent_work_fn(struct agent_reply *r, void *arg);
void agent_reply_work(struct agent_reply *r, agent_work_fn *work, void *arg);
