/* Contents of files as bytes: where a call reads or writes, and in which format. content_read.c and content_write.c
 * have the two directions.
 *
 * `format` names an archive. Without it a path that ends with a slash is a folder, and the headers decide: Accept of a
 * read, Content-Type of a write. They do not for other paths: a client that sends a .zip file as application/zip means
 * that file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/content.h"
#include "api/handlers.h"
#include "base/alloc.h"
#include "http/conditions.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/storage/work_path.h"

/* --- formats --- */

static const struct {
    const char *format, *type;
} formats[] = {
    { "tar", "application/x-tar" },
    { "tar.gz", "application/gzip" },
    { "tar.zst", "application/zstd" },
    { "zip", "application/zip" },
    /* other names */
    { "tar", "application/tar" },
    { "tar.gz", "application/x-gzip" },
    { "tar.gz", "application/x-gtar-compressed" },
    { "tar.zst", "application/x-zstd" },
    { "tar.zst", "application/x-zstd-compressed-tar" },
    { "zip", "application/x-zip-compressed" },
};

const char *content_type_of(const char *format)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (strcmp(formats[i].format, format) == 0)
            return formats[i].type;
    return "application/octet-stream";
}

/* By the first media type of a header; "": it names no archive. */
static const char *format_of(const char *header)
{
    if (!header)
        return "";
    size_t len = strcspn(header, ",; \t");
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (len == strlen(formats[i].type) && strncasecmp(header, formats[i].type, len) == 0)
            return formats[i].format;
    return "";
}

/* --- what both directions share --- */

void content_failed(struct call *c, const struct sandbox *s, int r)
{
    if (r == -ENOSYS)
        call_error(c, ERR_UNSUPPORTED, "sandbox %s: its agent cannot do this: %s", s->id,
                   guest_link_version(s->link)
                       ? "it was started by an earlier release, or has no agent of its own; for contents use "
                         "files/read and files/write, or create the sandbox again"
                       : "it has not answered yet");
    else
        (void)handlers_failed(c, r, "starting the transfer");
}

json_t *content_json(const struct guest_content *content)
{
    char tag[CONDITIONS_TAG_TEXT], mode[8];
    conditions_tag(content->version, tag);
    (void)snprintf(mode, sizeof(mode), "%04o", content->stat.mode & 07777);
    return json_pack("{s:o, s:I, s:s, s:s, s:I, s:b}", "path",
                     json_text(content->stat.path, strlen(content->stat.path)), "size", (json_int_t)content->stat.size,
                     "mode", mode, "etag", tag, "modifiedAt", (json_int_t)content->stat.mtime_ms, "created",
                     content->is_new);
}

/* --- what the agent can do is known once it has answered anything --- */

struct asking {
    struct call *c;
    op_fn *next;
    bool is_cancelled;
};

static void on_ask_cancel(void *arg)
{
    struct asking *a = arg;
    a->is_cancelled = true;
}

static void on_pong(void *arg, const struct err *err)
{
    struct asking a = *(struct asking *)arg;
    free(arg);
    call_on_cancel(a.c, NULL, NULL);
    if (err)
        call_fail(a.c, err);
    else if (a.is_cancelled)
        call_error(a.c, ERR_GONE, "the client left");
    else
        a.next(a.c);
}

void content_when_ready(struct call *c, op_fn *next)
{
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    if (guest_link_version(s->link)) {
        next(c);
        return;
    }
    struct asking *a = xzalloc(sizeof(*a));
    *a = (struct asking){ .c = c, .next = next };
    int r = guest_ping(s->link, on_pong, a);
    if (r < 0) {
        free(a);
        (void)handlers_failed(c, r, "asking the agent");
        return;
    }
    call_on_cancel(c, on_ask_cancel, a);
}

/* --- calls --- */

/* place->path is to be freed. False: the call was answered. */
static bool find_place(struct call *c, const char *header, struct content_place *place)
{
    struct err err = ERR_INIT;
    const char *path = call_str(c, "path", ""), *format = call_str(c, "format", "");
    *place = (struct content_place){ .s = handlers_running(c) };
    if (!place->s)
        return false;
    if (work_path_any(place->s, path, &place->path, &err) < 0) {
        call_fail(c, &err);
        return false;
    }
    bool is_folder = *path && path[strlen(path) - 1] == '/';
    place->format = *format || !is_folder ? format : format_of(call_header(c, header));
    return true;
}

static void start_read(struct call *c)
{
    struct content_place place;
    if (find_place(c, "accept", &place))
        content_read_start(c, &place);
    free(place.path);
}

static void start_write(struct call *c)
{
    struct content_place place;
    if (find_place(c, "content-type", &place))
        content_write_start(c, &place);
    free(place.path);
}

void api_fs_content_read(struct call *c)
{
    content_when_ready(c, start_read);
}

void api_fs_content_write(struct call *c)
{
    content_when_ready(c, start_write);
}
