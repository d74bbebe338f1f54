/* A log of lines that says of each whether it was standard output or standard error: the line begins with the byte 1
 * or 2. Lines of the two are kept apart until they are whole, so that one never ends up inside the other. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define AGENT_LOG_MARK_LINE_MAX (32u * 1024) /* longer ones are cut, between two characters */

/* Zeroed: nothing was said yet. */
struct agent_log_mark {
    struct agent_log_mark_part {
        uint8_t *data;
        size_t len;
    } part[2]; /* the beginnings of lines without an end */
};

/* The marked lines that the data of stream 1 or 2 completes, to be freed by the caller; *out_len may be 0. NULL: no
 * memory, the data is lost. */
uint8_t *agent_log_mark_lines(struct agent_log_mark *m, uint8_t number, const uint8_t *data, size_t len,
                              size_t *out_len);

/* The command has ended: what is left becomes a line too. As above. */
uint8_t *agent_log_mark_rest(struct agent_log_mark *m, size_t *out_len);
void agent_log_mark_done(struct agent_log_mark *m);
