/* Marks each line of a log as standard output or standard error by a leading byte 1 or 2. Incomplete lines of the
 * two are buffered, so that one never ends up inside the other. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define AGENT_LOG_MARK_LINE_MAX (32u * 1024) /* longer ones are cut between two characters */

/* Zeroed: no output yet. */
struct agent_log_mark {
    struct agent_log_mark_part {
        uint8_t *data;
        size_t len;
    } part[2]; /* incomplete lines */
};

/* The marked lines that the data of stream 1 or 2 completes; the caller frees them, *out_len may be 0. NULL: out of
 * memory, the data is lost. */
uint8_t *agent_log_mark_lines(struct agent_log_mark *m, uint8_t number, const uint8_t *data, size_t len,
                              size_t *out_len);

/* The command has exited: the rest becomes a line as well. Returns as above. */
uint8_t *agent_log_mark_rest(struct agent_log_mark *m, size_t *out_len);
void agent_log_mark_done(struct agent_log_mark *m);
