/* Contents of files as they are, in and out. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call.h"
#include "generated/tables.h"

#define HEADERS_MAX 3 /* two, and the end */

static struct call content_call(const iii_sandbox *s, const char *method, unsigned flags, const char *path,
                                const char *format)
{
    struct call c = iii_call(iii_sandbox_client(s), method, flags | CALL_LONG);
    iii_call_path(&c, "/sandbox/sandboxes/{id}/files/content", iii_sandbox_id(s), NULL);
    iii_call_text(&c, "path", IN_QUERY, path);
    if (format)
        iii_call_text(&c, "format", IN_QUERY, format);
    return c;
}

int iii_upload(const iii_sandbox *s, const char *path, iii_source_fn *source, void *arg,
               const struct iii_upload_options *options, struct iii_file_content **ret, struct iii_error *err)
{
    struct iii_upload_options o = options ? *options : (struct iii_upload_options){ 0 };
    struct call c = content_call(s, "PUT", 0, path, o.format);
    struct iii_pair headers[HEADERS_MAX] = { 0 };
    struct bytes bytes = { .source = source,
                           .arg = arg,
                           .total = o.size ? o.size : -1,
                           .on_progress = o.on_progress,
                           .progress_arg = o.progress_arg,
                           .headers = headers };

    if (o.mode)
        iii_call_text(&c, "mode", IN_QUERY, o.mode);
    if (o.is_new)
        headers[0] = (struct iii_pair){ "If-None-Match: ", "*" };
    else if (o.if_match)
        headers[0] = (struct iii_pair){ "If-Match: ", o.if_match };
    if (!source)
        iii_fail(&c.error, III_ARGUMENT, 0, "source is NULL");
    c.request.bytes = &bytes;
    return iii_call_run(&c, &iii_type_file_content, (void **)ret, err);
}

/* What the answer's head tells, and how much has come. */
static int describe(const char *path, const struct bytes *b, struct iii_file_content **ret, struct iii_error *err)
{
    json_t *found = json_pack("{s:s, s:I}", "path", path, "size", (json_int_t)b->done);
    if (!found)
        return iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    if (b->etag[0])
        json_object_set_new(found, "etag", json_string(b->etag));
    if (b->mode[0])
        json_object_set_new(found, "mode", json_string(b->mode));
    return iii_table_decode(&iii_type_file_content, found, (void **)ret, err);
}

int iii_download(const iii_sandbox *s, const char *path, iii_sink_fn *sink, void *arg,
                 const struct iii_download_options *options, struct iii_file_content **ret, struct iii_error *err)
{
    struct iii_download_options o = options ? *options : (struct iii_download_options){ 0 };
    struct call c = content_call(s, "GET", CALL_SAFE, path, o.format);
    struct iii_pair headers[HEADERS_MAX] = { 0 }, *next = headers;
    char range[64];
    struct bytes bytes = { .sink = sink,
                           .arg = arg,
                           .total = -1,
                           .on_progress = o.on_progress,
                           .progress_arg = o.progress_arg,
                           .headers = headers };

    if (ret)
        *ret = NULL;
    if (o.if_match)
        *next++ = (struct iii_pair){ "If-Match: ", o.if_match };
    if (o.offset != 0 || o.length != 0) {
        int n = snprintf(range, sizeof(range), "bytes=%" PRId64 "-", o.offset);
        if (o.length != 0)
            snprintf(range + n, sizeof(range) - (size_t)n, "%" PRId64, o.offset + (o.length - 1));
        *next = (struct iii_pair){ "Range: ", range };
    }
    if (!sink)
        iii_fail(&c.error, III_ARGUMENT, 0, "sink is NULL");
    else if (o.offset < 0 || o.length < 0 || o.length > INT64_MAX - o.offset)
        iii_fail(&c.error, III_ARGUMENT, 0, "there are no %" PRId64 " bytes from %" PRId64 " on", o.length, o.offset);
    c.request.bytes = &bytes;
    int e = iii_call_no_answer(&c, err);
    return e == 0 && ret ? describe(path, &bytes, ret, err) : e;
}

static int64_t read_fd(void *buf, size_t size, void *arg)
{
    ssize_t n;
    do
        n = read(*(const int *)arg, buf, size);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

int iii_upload_fd(const iii_sandbox *s, const char *path, int fd, const struct iii_upload_options *options,
                  struct iii_file_content **ret, struct iii_error *err)
{
    struct iii_upload_options o = options ? *options : (struct iii_upload_options){ 0 };
    struct stat st;
    off_t at = lseek(fd, 0, SEEK_CUR);

    if (o.size == 0 && at >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > at)
        o.size = st.st_size - at;
    return iii_upload(s, path, read_fd, &fd, &o, ret, err);
}

static int write_fd(const void *data, size_t size, void *arg)
{
    const char *at = data;
    while (size > 0) {
        ssize_t n = write(*(const int *)arg, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

int iii_download_fd(const iii_sandbox *s, const char *path, int fd, const struct iii_download_options *options,
                    struct iii_file_content **ret, struct iii_error *err)
{
    return iii_download(s, path, write_fd, &fd, options, ret, err);
}

struct memory {
    const char *data;
    size_t left;
};

static int64_t read_memory(void *buf, size_t size, void *arg)
{
    struct memory *m = arg;
    size_t part = m->left < size ? m->left : size;
    if (part > 0)
        memcpy(buf, m->data, part);
    m->data += part;
    m->left -= part;
    return (int64_t)part;
}

int iii_write_file(const iii_sandbox *s, const char *path, const void *data, size_t size, struct iii_error *err)
{
    struct memory m = { data, size };
    return iii_upload(s, path, read_memory, &m, &(struct iii_upload_options){ .size = (int64_t)size }, NULL, err);
}

static int into_text(const void *data, size_t size, void *arg)
{
    struct text *t = arg;
    iii_text_add(t, data, size);
    return t->failed ? -ENOMEM : 0;
}

int iii_read_file(const iii_sandbox *s, const char *path, unsigned char **ret, size_t *ret_size, struct iii_error *err)
{
    struct text all = { 0 };

    *ret = NULL;
    *ret_size = 0;
    int e = iii_download(s, path, into_text, &all, NULL, NULL, err);
    if (e == 0 && !(*ret = iii_result_new(all.size + 1)))
        e = iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    if (e == 0 && all.size > 0)
        memcpy(*ret, all.data, all.size);
    if (e == 0)
        *ret_size = all.size;
    iii_text_done(&all);
    return e;
}
