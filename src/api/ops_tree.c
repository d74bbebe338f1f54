/* Handlers of files that are about names: list, search, info, delete, move, mkdir, rmdir, chmod. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/call.h"
#include "api/handlers.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "base/strlist.h"
#include "sandbox/lifecycle/offload.h"
#include "sandbox/storage/work_path.h"

/* "-rw-r--r--" from a mode. */
static void permissions(uint32_t mode, char out[11])
{
    static const char kinds[] = "?pc?d?b?-?l?s???";
    static const char rwx[] = "rwxrwxrwx";
    out[0] = kinds[(mode & S_IFMT) >> 12];
    for (int i = 0; i < 9; i++)
        out[1 + i] = mode & (0400u >> i) ? rwx[i] : '-';
    if (mode & S_ISUID)
        out[3] = out[3] == 'x' ? 's' : 'S';
    if (mode & S_ISGID)
        out[6] = out[6] == 'x' ? 's' : 'S';
    if (mode & S_ISVTX)
        out[9] = out[9] == 'x' ? 't' : 'T';
    out[10] = '\0';
}

static json_t *metadata_json(const struct guest_stat *st)
{
    char perms[11];
    permissions(st->mode, perms);
    return json_pack("{s:o, s:I, s:s, s:s, s:s, s:b, s:b, s:I}", "path", json_text(st->path, strlen(st->path)), "size",
                     (json_int_t)st->size, "permissions", perms, "owner", st->owner, "group", st->group, "isDirectory",
                     S_ISDIR(st->mode), "isSymlink", S_ISLNK(st->mode), "modifiedAt", (json_int_t)st->mtime_ms);
}

static int resolve_param(struct call *c, struct sandbox *s, const char *field, const char *fallback, char **ret)
{
    struct err err = ERR_INIT;
    int r = work_path_resolve(s, call_str(c, field, fallback), ret, &err);
    if (r < 0)
        call_fail(c, &err);
    return r;
}

/* --- list --- */

#define LIST_AT_ONCE 1000        /* entries that are cheaper to describe here than on another thread */
#define LIST_BYTES   (32u << 20) /* of one answer, as text */

/* Entries to be described by a pool thread. */
struct listing {
    struct call *c;
    char *dir;
    json_t *list;
    struct err err;
    size_t n;
    struct guest_stat *st; /* of each the path, size, mode and time; the paths are behind the last one */
};

/* Bytes of a text in JSON, at most. */
static size_t escaped_size(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += (unsigned char)*s < 0x20 ? sizeof("\\u0000") - 1 : *s == '"' || *s == '\\' ? 2 : 1;
    return n;
}

static json_t *list_json(const char *dir, const struct guest_stat *st, size_t n, struct err *err)
{
    const char *parent = strcmp(dir, "/") == 0 ? "" : dir;
    size_t bytes = 0, parent_bytes = escaped_size(parent);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        CLEANUP(free_p) char *path = xasprintf("%s/%s", parent, st[i].path);
        bytes += 2 * escaped_size(st[i].path) + parent_bytes;
        if (bytes > LIST_BYTES) {
            (void)err_set(err, ERR_TOO_LARGE, 0,
                          "the list of %.200s takes more than %u bytes: list it in parts with limit and offset", dir,
                          LIST_BYTES);
            break;
        }
        (void)json_array_append_new(
            list, json_pack("{s:o, s:o, s:I, s:b, s:I}", "name", json_text(st[i].path, strlen(st[i].path)), "path",
                            json_text(path, strlen(path)), "size", (json_int_t)st[i].size, "isDirectory",
                            S_ISDIR(st[i].mode), "modifiedAt", (json_int_t)st[i].mtime_ms));
    }
    return list;
}

static void describe(void *arg)
{
    struct listing *l = arg;
    l->list = list_json(l->dir, l->st, l->n, &l->err);
}

static void described(void *arg)
{
    struct listing *l = arg;
    if (l->err.code == ERR_NONE)
        call_ok(l->c, STEAL(l->list));
    else
        call_fail(l->c, &l->err);
    json_decref(l->list);
    free(l->dir);
    free(l->st);
    free(l);
}

/* A copy of what is the agent's link's. */
static struct guest_stat *copy_entries(const struct guest_stat *st, size_t n)
{
    size_t bytes = 1;
    for (size_t i = 0; i < n; i++)
        bytes += strlen(st[i].path) + 1;
    struct guest_stat *copy = try_alloc(n * sizeof(*st) + bytes);
    char *at = copy ? (char *)(copy + n) : NULL;
    for (size_t i = 0; copy && i < n; i++) {
        size_t len = strlen(st[i].path) + 1;
        copy[i] = (struct guest_stat){ .path = at, .size = st[i].size, .mode = st[i].mode, .mtime_ms = st[i].mtime_ms };
        memcpy(at, st[i].path, len);
        at += len;
    }
    return copy;
}

static void on_list(void *arg, const struct guest_stat *st, size_t n, const struct err *err)
{
    struct call *c = arg;
    struct listing *l = xzalloc(sizeof(*l));
    size_t offset = (size_t)call_int(c, "offset", 0), limit = (size_t)call_int(c, "limit", LIMIT_MAX(FILES));
    size_t left = err || offset > n ? 0 : n - offset;
    *l = (struct listing){ .c = c, .dir = call_state(c), .n = left < limit ? left : limit };
    if (err && err->code != ERR_NOT_FOUND) /* a missing folder is an empty list */
        l->err = *err;
    else if (l->n > LIST_AT_ONCE && (l->st = copy_entries(st + offset, l->n)) &&
             offload_run(call_manager(c), describe, described, l) == 0)
        return;
    else
        l->list = list_json(l->dir, l->n ? st + offset : NULL, l->n, &l->err);
    described(l);
}

void api_fs_list(struct call *c)
{
    struct sandbox *s = handlers_running(c);
    char *dir = NULL;
    if (!s || resolve_param(c, s, "path", call_manager(c)->settings->workspace_dir, &dir) < 0)
        return;
    call_set_state(c, dir);
    int r = guest_fs_list(s->link, dir, on_list, c);
    if (r < 0) {
        free(dir);
        (void)handlers_failed(c, r, "listing");
    }
}

/* --- search --- */

static void on_search(void *arg, const struct guest_stat *st, size_t n, const struct err *err)
{
    json_t *list = json_array(); /* the contract: a failed search finds nothing */
    for (size_t i = 0; !err && i < n; i++)
        (void)json_array_append_new(list, json_text(st[i].path, strlen(st[i].path)));
    call_ok(arg, list);
}

void api_fs_search(struct call *c)
{
    struct sandbox *s = handlers_running(c);
    CLEANUP(free_p) char *dir = NULL;
    if (!s || resolve_param(c, s, "dir", call_manager(c)->settings->workspace_dir, &dir) < 0)
        return;
    const char *pattern = call_str(c, "pattern", "");
    if (strpbrk(pattern, ";|$`\\")) {
        call_error(c, ERR_INVALID, "pattern: ; | $ ` and backslash are not allowed in it");
        return;
    }
    (void)handlers_failed(c, guest_fs_search(s->link, dir, pattern, on_search, c), "searching");
}

/* --- info --- */

static void on_info(void *arg, const struct guest_stat *st, size_t n, const struct err *err)
{
    struct call *c = arg;
    if (err) {
        call_fail(c, err);
        return;
    }
    if (!json_get(call_params(c), "paths")) {
        call_ok(c, metadata_json(&st[0]));
        return;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, metadata_json(&st[i]));
    call_ok(c, list);
}

/* The call's paths: `paths`, or the single `path`; resolved. NULL: answered. */
static char **resolved_paths(struct call *c, struct sandbox *s)
{
    struct err err = ERR_INIT;
    CLEANUP(strlist_free_p) char **given = strlist_from_json(json_get(call_params(c), "paths"));
    char **out = NULL;
    if (!given && call_str(c, "path", NULL))
        strlist_add(&given, call_str(c, "path", ""));
    if (!given || !given[0]) {
        call_error(c, ERR_INVALID, "paths: expected a non-empty list of paths, or one path");
        return NULL;
    }
    for (char **p = given; *p; p++) {
        CLEANUP(free_p) char *path = NULL;
        if (work_path_resolve(s, *p, &path, &err) < 0) {
            call_fail(c, &err);
            return strlist_free(out);
        }
        strlist_add(&out, path);
    }
    return out;
}

void api_fs_info(struct call *c)
{
    struct sandbox *s = handlers_running(c);
    CLEANUP(strlist_free_p) char **paths = s ? resolved_paths(c, s) : NULL;
    if (paths)
        (void)handlers_failed(c, guest_fs_stat(s->link, (const char *const *)paths, strlist_count(paths), on_info, c),
                              "info");
}

/* --- one after the other: move, mkdir, rmdir --- */

struct series {
    struct call *c;
    struct sandbox *s;
    char **paths; /* move: from, to, from, to, … */
    size_t at;
    int (*step)(struct series *q);
};

static void free_series(struct series *q)
{
    sandbox_unref(q->s);
    strlist_free(q->paths);
    free(q);
}

static void on_step(void *arg, const struct err *err)
{
    struct series *q = arg;
    struct call *c = q->c;
    if (err || !q->paths[q->at]) {
        free_series(q);
        handlers_success(c, err);
        return;
    }
    if (q->s->is_gone) {
        free_series(q);
        call_error(c, ERR_NOT_FOUND, "sandbox not found: it was killed during the call");
        return;
    }
    int r = q->step(q);
    if (r < 0) {
        free_series(q);
        (void)handlers_failed(c, r, "file operation");
    }
}

static void run_series(struct call *c, struct sandbox *s, char **paths, int (*step)(struct series *q))
{
    struct series *q = xzalloc(sizeof(*q));
    *q = (struct series){ .c = c, .s = sandbox_ref(s), .paths = paths, .step = step };
    on_step(q, NULL);
}

static int step_mkdir(struct series *q)
{
    return guest_fs_mkdir(q->s->link, q->paths[q->at++], true, 0755, on_step, q);
}

static int step_rmdir(struct series *q)
{
    return guest_fs_remove(q->s->link, q->paths[q->at++], true, true, on_step, q);
}

static int step_move(struct series *q)
{
    size_t at = q->at;
    q->at += 2;
    return guest_fs_move(q->s->link, q->paths[at], q->paths[at + 1], on_step, q);
}

void api_fs_mkdir(struct call *c)
{
    struct sandbox *s = handlers_running(c);
    char **paths = s ? resolved_paths(c, s) : NULL;
    if (paths)
        run_series(c, s, paths, step_mkdir);
}

void api_fs_rmdir(struct call *c)
{
    struct sandbox *s = handlers_running(c);
    char **paths = s ? resolved_paths(c, s) : NULL;
    if (paths)
        run_series(c, s, paths, step_rmdir);
}

static int add_move(struct sandbox *s, const json_t *move, char ***paths, struct err *err)
{
    static const char *const ends[] = { "from", "to" };
    for (int i = 0; i < 2; i++) {
        CLEANUP(free_p) char *path = NULL;
        const char *given = json_get_str(move, ends[i], NULL);
        if (!given)
            return err_set(err, ERR_INVALID, 0, "moves: each entry needs \"from\" and \"to\"");
        int r = work_path_resolve(s, given, &path, err);
        if (r < 0)
            return r;
        strlist_add(paths, path);
    }
    return 0;
}

void api_fs_move(struct call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_running(c);
    char **paths = NULL;
    size_t i;
    json_t *move;
    if (!s)
        return;
    json_array_foreach(json_get(call_params(c), "moves"), i, move)
    {
        if (add_move(s, move, &paths, &err) < 0) {
            strlist_free(paths);
            call_fail(c, &err);
            return;
        }
    }
    if (paths)
        run_series(c, s, paths, step_move);
    else
        call_error(c, ERR_INVALID, "moves: expected a non-empty list of {from, to}");
}

void api_fs_delete(struct call *c)
{
    struct sandbox *s = handlers_running(c);
    CLEANUP(free_p) char *path = NULL;
    if (s && resolve_param(c, s, "path", "", &path) == 0)
        (void)handlers_failed(c, guest_fs_remove(s->link, path, true, true, handlers_success, c), "deleting");
}

void api_fs_chmod(struct call *c)
{
    struct sandbox *s = handlers_running(c);
    CLEANUP(free_p) char *path = NULL;
    if (s && resolve_param(c, s, "path", "", &path) == 0)
        (void)handlers_failed(
            c, guest_fs_chmod(s->link, path, call_str(c, "mode", ""), NULL, false, handlers_success, c), "chmod");
}
