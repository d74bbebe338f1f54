/* Sends row records in as many frames as needed. */
#pragma once
#include "agent/reply.h"

#define AGENT_ROWS_BYTES (48u * 1024 * 1024) /* limit of one answer */

struct agent_rows {
    struct agent_reply *reply;
    struct proto_writer frame;
    uint8_t *mem;
    size_t sent;
};

int agent_rows_init(struct agent_rows *s, struct agent_reply *r);       /* -ENOMEM */
bool agent_rows_add(struct agent_rows *s, const struct proto_row *row); /* false: the answer is full */
void agent_rows_end(struct agent_rows *s);                              /* sends the last frame and frees */
/* Sends the error instead of rows. Frees. */
void agent_rows_fail(struct agent_rows *s, int error, const char *verb, const char *path);
