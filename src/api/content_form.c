/* A multipart/form-data body into a folder. Theory of operation. Each part with a file name becomes a file: its name is
 * taken below the folder and may have folders of its own, as browsers send them for a whole folder; parts without a
 * file name are skipped. One file is written at a time. The parser stops when the agent has no room, and at the end of
 * a part until its file is in place; on_room then continues it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/content.h"
#include "base/alloc.h"
#include "http/multipart.h"
#include "sandbox/lifecycle/manager.h"

#define FILES_MAX 1000

struct content_form {
    struct content_form_events ev;
    struct multipart *parser;
    struct sandbox *s; /* a reference */
    char *folder;
    uint32_t mode;
    struct guest_writer *writer; /* of the current file; NULL: none */
    json_t *files;
    bool is_part_ended; /* its last byte was sent: the agent puts it in place */
    struct err failure;
};

bool content_form_is_one(const char *content_type)
{
    return multipart_is_form(content_type);
}

static void on_stored(void *arg, const struct guest_content *content, const struct err *err)
{
    struct content_form *f = arg;
    f->writer = NULL;
    f->is_part_ended = false;
    if (err) {
        f->ev.on_failed(f->ev.arg, err);
        return;
    }
    (void)json_array_append_new(f->files, content_json(content));
    f->ev.on_room(f->ev.arg);
}

static void on_writable(void *arg)
{
    struct content_form *f = arg;
    f->ev.on_room(f->ev.arg);
}

/* Below the folder: neither absolute nor with "..", and with a last name. A browser on Windows may send backslashes,
 * which are letters here. */
static bool is_inside(const char *name)
{
    size_t len = strlen(name);
    for (const char *at = name; *at;) {
        size_t n = strcspn(at, "/");
        if (n == 2 && memcmp(at, "..", 2) == 0)
            return false;
        at += n + (at[n] == '/');
    }
    return len > 0 && name[0] != '/' && name[len - 1] != '/' && strcmp(name, ".") != 0;
}

static int on_part(void *arg, const char *name, const char *filename)
{
    struct content_form *f = arg;
    (void)name;
    if (!filename || !*filename)
        return 0; /* a field, or a file that was not chosen */
    if (!is_inside(filename))
        return err_set(&f->failure, ERR_INVALID, 0, "filename \"%.200s\" leads out of the folder", filename);
    if (json_array_size(f->files) >= FILES_MAX)
        return err_set(&f->failure, ERR_TOO_LARGE, 0, "more than %d files in one form: send an archive", FILES_MAX);
    CLEANUP(free_p) char *path = xasprintf("%s/%s", f->folder, filename);
    const struct guest_store_plan plan = { .path = path, .user = f->s->user, .mode = f->mode };
    int r = guest_content_store(f->s->link, &plan, on_stored, f, &f->writer);
    if (r < 0)
        return err_set(&f->failure, r == -EINVAL ? ERR_INVALID : ERR_CONFLICT, 0, "write %.200s: %s", path,
                       r == -EINVAL ? "its path is too long" : strerror(-r));
    guest_writer_on_writable(f->writer, on_writable, f);
    return 0;
}

static size_t on_data(void *arg, const char *data, size_t len)
{
    struct content_form *f = arg;
    return f->writer ? guest_writer_send(f->writer, data, len) : len;
}

static int on_part_end(void *arg)
{
    struct content_form *f = arg;
    if (!f->writer)
        return 0;
    if (!f->is_part_ended) {
        f->is_part_ended = true;
        guest_writer_end(f->writer);
    }
    return -EAGAIN; /* until it is in place */
}

int content_form_new(const struct content_place *place, uint32_t mode, const char *content_type,
                     const struct content_form_events *ev, struct content_form **ret, struct err *err)
{
    char boundary[MULTIPART_BOUNDARY_MAX + 1];
    if (!multipart_boundary(content_type, boundary))
        return err_set(err, ERR_INVALID, 0, "Content-Type: multipart/form-data needs a boundary of 1 to %d characters",
                       MULTIPART_BOUNDARY_MAX);
    struct content_form *f = xzalloc(sizeof(*f));
    *f = (struct content_form){ .ev = *ev, .s = sandbox_ref(place->s), .folder = xstrdup(place->path), .mode = mode };
    f->files = json_array();
    const struct multipart_events events = {
        .on_part = on_part, .on_data = on_data, .on_part_end = on_part_end, .arg = f
    };
    f->parser = multipart_new(boundary, &events);
    *ret = f;
    return 0;
}

struct content_form *content_form_free(struct content_form *f)
{
    if (f) {
        if (f->writer)
            guest_writer_drop(f->writer);
        f->parser = multipart_free(f->parser);
        sandbox_unref(f->s);
        json_decref(f->files);
        free(f->folder);
        free(f);
    }
    return NULL;
}

size_t content_form_send(struct content_form *f, const char *data, size_t len, struct err *err)
{
    size_t used = 0;
    if (multipart_feed(f->parser, data, len, &used) == 0)
        return used;
    *err = f->failure;
    if (!err->code)
        (void)err_set(err, ERR_INVALID, 0,
                      "the body is not a form: each part needs a Content-Disposition with a name, in headers of up to "
                      "%d bytes, and only CRLF or -- may follow a boundary",
                      MULTIPART_HEAD_MAX);
    return len;
}

int content_form_end(struct content_form *f, json_t **ret_files, struct err *err)
{
    if (!multipart_is_whole(f->parser))
        return err_set(err, ERR_INVALID, 0, "the body ends before the last boundary of the form");
    *ret_files = f->files;
    return 0;
}
