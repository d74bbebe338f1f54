/* Row records in as many frames as they take. */
#pragma once
#include "guest/agent/ag_reply.h"

#define AG_ROWS_BYTES (48u * 1024 * 1024) /* most of one answer */

struct ag_rows {
    struct ag_reply *reply;
    struct proto_writer frame;
    uint8_t *mem;
    size_t sent;
};

int ag_rows_init(struct ag_rows *s, struct ag_reply *r);          /* -ENOMEM */
bool ag_rows_add(struct ag_rows *s, const struct proto_row *row); /* false: the answer is full */
void ag_rows_end(struct ag_rows *s);                              /* sends the last frame and frees */
/* Nothing was told: the error instead. Frees. */
void ag_rows_fail(struct ag_rows *s, int error, const char *verb, const char *path);
