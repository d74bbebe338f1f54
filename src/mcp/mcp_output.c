#include "mcp/mcp_output.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void mcp_output_init(struct mcp_output *o)
{
    *o = (struct mcp_output){ 0 };
    for (int i = 0; i < 2; i++)
        buf_init(&o->text[i], MCP_OUTPUT_MAX);
}

void mcp_output_done(struct mcp_output *o)
{
    for (int i = 0; i < 2; i++)
        buf_done(&o->text[i]);
}

/* The last line of a piece that has visible characters. A piece that continues a line replaces it: a follower sees the
 * newest text. */
static void keep_line(struct mcp_output *o, const char *data, size_t len)
{
    while (len && strchr(" \t\r\n", data[len - 1]))
        len--;
    size_t from = len;
    while (from && data[from - 1] != '\n' && data[from - 1] != '\r' && len - from < MCP_OUTPUT_LINE_MAX)
        from--;
    while (from < len && utf8_step(data + from, len - from) == 0)
        from++; /* the cut was inside a letter */
    if (from < len) {
        memcpy(o->line, data + from, len - from);
        o->line[len - from] = '\0';
    }
}

void mcp_output_event(struct mcp_output *o, const json_t *event)
{
    const char *type = json_get_str(event, "type", "");
    if (strcmp(type, "stdout") == 0 || strcmp(type, "stderr") == 0) {
        const json_t *data = json_get(event, "data");
        const char *text = json_string_value(data);
        int which = strcmp(type, "stderr") == 0;
        struct buf *b = &o->text[which];
        size_t len = json_string_length(data), room = b->max - b->len;
        if (!text)
            return;
        size_t fits = len > room ? utf8_whole(text, room) : len;
        if (buf_add(b, text, fits) < 0 || fits < len)
            o->is_cut[which] = true;
        keep_line(o, text, fits);
    } else if (strcmp(type, "exit") == 0) {
        o->exit_code = (int)strtol(json_get_str(event, "data", "0"), NULL, 10);
        o->has_exit = true;
        o->is_timeout = o->exit_code < 0;
    } else if (strcmp(type, "error") == 0) {
        (void)snprintf(o->error, sizeof(o->error), "%s",
                       json_get_str(event, "error", "the command could not be followed"));
    }
}

int mcp_output_answer(const struct mcp_output *o, int64_t duration_ms, json_t **ret_body)
{
    if (o->is_timeout || !o->has_exit) {
        const char *why = o->is_timeout ? "the time of the command is over" : "the stream ended without an exit code";
        *ret_body =
            json_pack("{s:o}", "error", json_text(*o->error ? o->error : why, strlen(*o->error ? o->error : why)));
        return o->is_timeout ? 504 : 502;
    }
    json_t *body = json_pack("{s:i, s:o, s:o, s:I}", "exitCode", o->exit_code, "stdout",
                             json_text(buf_text(&o->text[0]), o->text[0].len), "stderr",
                             json_text(buf_text(&o->text[1]), o->text[1].len), "duration", (json_int_t)duration_ms);
    if (o->is_cut[0])
        (void)json_object_set_new(body, "stdoutTruncated", json_true());
    if (o->is_cut[1])
        (void)json_object_set_new(body, "stderrTruncated", json_true());
    *ret_body = body;
    return 200;
}
