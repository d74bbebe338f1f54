/* sandbox::fs::ls, stat, mkdir, rm, mv and chmod. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/fn.h"
#include "base/alloc.h"

/* One file call under way. The texts are the payload's. */
struct work {
    struct call *c;
    struct sandbox *s; /* a reference */
    const char *path, *to;
    uint32_t mode;
    bool has_parents;
};

static struct call *work_free(struct work *w)
{
    struct call *c = w->c;
    sandbox_unref(w->s);
    free(w);
    return c;
}

static void work_fail(struct work *w, const struct err *err, const char *path)
{
    struct sandbox *s = sandbox_ref(w->s);
    fn_fail_file(work_free(w), s, err, path);
    sandbox_unref(s);
}

/* r: what the call to the agent returned; negative: it did not begin. */
static void work_begun(struct work *w, int r)
{
    if (r >= 0)
        return;
    struct sandbox *s = sandbox_ref(w->s);
    const char *path = w->path;
    fn_fail_start(work_free(w), s, r, path);
    sandbox_unref(s);
}

/* id and path, then what more the function reads, then the sandbox. NULL: the call has failed. */
static struct work *work_new(struct call *c, const char *path_key, int (*more)(struct work *w))
{
    struct work *w = xzalloc(sizeof(*w));
    w->c = c;
    w->path = fn_path(c, path_key);
    int r = fn_read_id(c);
    if (r == 0 && more)
        r = more(w);
    struct sandbox *s = r == 0 ? fn_find(c) : NULL;
    if (!s) {
        fn_fail_fault(work_free(w));
        return NULL;
    }
    w->s = sandbox_ref(s);
    return w;
}

static json_t *entry_json(const struct guest_stat *st, const char *name)
{
    char mode[8];
    (void)snprintf(mode, sizeof(mode), "%04o", st->mode & 07777);
    return json_pack("{s:o, s:b, s:I, s:s, s:I, s:b}", "name", json_text(name, strlen(name)), "is_dir",
                     (bool)S_ISDIR(st->mode), "size", (json_int_t)st->size, "mode", mode, "mtime",
                     (json_int_t)(st->mtime_ms / 1000 - (st->mtime_ms % 1000 < 0)), "is_symlink",
                     (bool)S_ISLNK(st->mode));
}

static int ask_stat(struct work *w, const char *path, guest_stats_fn *fn)
{
    return guest_fs_stat(w->s->link, &path, 1, fn, w);
}

/* --- stat --- */

static void on_stat(void *arg, const struct guest_stat *st, size_t n, const struct err *err)
{
    struct work *w = arg;
    (void)n;
    if (err) {
        work_fail(w, err, w->path);
        return;
    }
    size_t len = strlen(w->path);
    while (len > 1 && w->path[len - 1] == '/')
        len--;
    CLEANUP(free_p) char *cut = xstrndup(w->path, len);
    call_ok(work_free(w), entry_json(st, len == 1 ? "/" : strrchr(cut, '/') + 1));
}

void api_fn_stat(struct call *c)
{
    struct work *w = work_new(c, "path", NULL);
    if (w)
        work_begun(w, ask_stat(w, w->path, on_stat));
}

/* --- ls --- */

static void on_list(void *arg, const struct guest_stat *st, size_t n, const struct err *err)
{
    struct work *w = arg;
    if (err) {
        work_fail(w, err, w->path);
        return;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, entry_json(&st[i], st[i].path));
    call_ok(work_free(w), json_pack("{s:o}", "entries", list));
}

static void on_ls_stat(void *arg, const struct guest_stat *st, size_t n, const struct err *err)
{
    struct work *w = arg;
    struct err why = { .sys = ENOTDIR };
    (void)n;
    if (err || !S_ISDIR(st->mode))
        work_fail(w, err ? err : &why, w->path);
    else if (w->s->is_gone)
        work_fail(w, &why, w->path);
    else
        work_begun(w, guest_fs_list(w->s->link, w->path, on_list, w));
}

void api_fn_ls(struct call *c)
{
    struct work *w = work_new(c, "path", NULL);
    if (w)
        work_begun(w, ask_stat(w, w->path, on_ls_stat));
}

/* --- mkdir --- */

static void on_made(void *arg, const struct err *err)
{
    struct work *w = arg;
    if (err && err->sys == ENOENT && !w->has_parents && !w->s->is_gone) {
        fn_fix(w->c, json_pack("{s:b}", "parents", true), FN_MERGE("parents: true"));
        CLEANUP(free_p) char *path = xstrdup(w->path);
        fn_fail(work_free(w), "S211", "parent directory not found: %s", path);
    } else if (err) {
        work_fail(w, err, w->path);
    } else {
        call_ok(work_free(w), json_pack("{s:b}", "created", true));
    }
}

static void on_mkdir_stat(void *arg, const struct guest_stat *st, size_t n, const struct err *err)
{
    struct work *w = arg;
    struct err why = { .sys = EEXIST };
    (void)n;
    if (err && err->sys != ENOENT)
        work_fail(w, err, w->path);
    else if (err && !w->s->is_gone)
        work_begun(w, guest_fs_mkdir(w->s->link, w->path, w->has_parents, w->mode | GUEST_MODE_GIVEN, on_made, w));
    else if (!err && w->has_parents && S_ISDIR(st->mode))
        call_ok(work_free(w), json_pack("{s:b}", "created", false));
    else {
        if (!err && S_ISDIR(st->mode) && !w->s->is_gone)
            fn_fix(w->c, json_pack("{s:b}", "parents", true), FN_MERGE("parents: true"));
        work_fail(w, &why, w->path);
    }
}

static int read_mkdir(struct work *w)
{
    w->has_parents = call_bool(w->c, "parents", false);
    return fn_read_mode(w->c, "0755", &w->mode);
}

void api_fn_mkdir(struct call *c)
{
    struct work *w = work_new(c, "path", read_mkdir);
    if (w)
        work_begun(w, ask_stat(w, w->path, on_mkdir_stat));
}

/* --- rm --- */

static void on_removed(void *arg, const struct err *err)
{
    struct work *w = arg;
    if (err && err->sys == ENOTEMPTY && !w->s->is_gone)
        fn_fix(w->c, json_pack("{s:b}", "recursive", true), FN_MERGE("recursive: true"));
    if (err)
        work_fail(w, err, w->path);
    else
        call_ok(work_free(w), json_pack("{s:b}", "removed", true));
}

void api_fn_rm(struct call *c)
{
    struct work *w = work_new(c, "path", NULL);
    if (w)
        work_begun(w, guest_fs_remove(w->s->link, w->path, call_bool(c, "recursive", false), false, on_removed, w));
}

/* --- mv: source, then target, then the move --- */

static void on_moved(void *arg, const struct err *err)
{
    struct work *w = arg;
    if (err && err->sys == ENOENT && !w->s->is_gone) {
        CLEANUP(free_p) char *to = xstrdup(w->to), *parent = xstrndup(to, (size_t)(strrchr(to, '/') - to));
        fn_fix_call(
            w->c, "sandbox::fs::mkdir",
            json_pack("{s:s, s:s, s:b}", "sandbox_id", call_fn(w->c)->sandbox_id, "path", parent, "parents", true),
            NULL, FN_CALL("it makes the directory"));
        fn_fail(work_free(w), "S211", "parent directory not found: %s", to);
    } else if (err) {
        work_fail(w, err, w->to);
    } else {
        call_ok(work_free(w), json_pack("{s:b}", "moved", true));
    }
}

static void on_target_stat(void *arg, const struct guest_stat *st, size_t n, const struct err *err)
{
    struct work *w = arg;
    struct err why = { .sys = EEXIST };
    (void)st, (void)n;
    if (err && err->sys != ENOENT)
        work_fail(w, err, w->to);
    else if ((!err && !call_bool(w->c, "overwrite", false)) || w->s->is_gone) {
        if (!w->s->is_gone)
            fn_fix(w->c, json_pack("{s:b}", "overwrite", true), FN_MERGE("overwrite: true"));
        work_fail(w, &why, w->to);
    } else
        work_begun(w, guest_fs_move(w->s->link, w->path, w->to, on_moved, w));
}

static void on_source_stat(void *arg, const struct guest_stat *st, size_t n, const struct err *err)
{
    struct work *w = arg;
    (void)st, (void)n;
    if (err)
        work_fail(w, err, w->path);
    else
        work_begun(w, ask_stat(w, w->to, on_target_stat));
}

void api_fn_mv(struct call *c)
{
    struct work *w = work_new(c, "src", NULL);
    if (!w)
        return;
    w->to = fn_path(c, "dst");
    work_begun(w, ask_stat(w, w->path, on_source_stat));
}

/* --- chmod --- */

static void on_changed(void *arg, const struct guest_row *rows, size_t n, const struct err *err)
{
    struct work *w = arg;
    if (err)
        work_fail(w, err, w->path);
    else
        call_ok(work_free(w), json_pack("{s:I}", "updated", (json_int_t)(n ? rows[0].number : 0)));
}

static int read_chmod(struct work *w)
{
    return fn_read_mode(w->c, "", &w->mode);
}

void api_fn_chmod(struct call *c)
{
    struct work *w = work_new(c, "path", read_chmod);
    if (!w)
        return;
    struct guest_change change = { .mode = w->mode,
                                   .uid = (uint32_t)call_int(c, "uid", UINT32_MAX),
                                   .gid = (uint32_t)call_int(c, "gid", UINT32_MAX),
                                   .is_recursive = call_bool(c, "recursive", false) };
    work_begun(w, guest_fs_change(w->s->link, w->path, &change, on_changed, w));
}
