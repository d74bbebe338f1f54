/* One step of a build. A step's key is a digest of the layers so far, the configuration and the step itself. A hit in
 * the cache (an image named IMAGE_BUILD_CACHE + key) replaces the layers of place->now. A miss creates a sandbox from
 * the layers so far, runs the step inside it (struct work: RUN, COPY or mkdir), captures its files as one more layer
 * under the key, and deletes the sandbox. The sandbox lives in the build server and expires there if this process dies.
 * On failure place->now is unchanged and nothing is cached. */
#include "image/build_step.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/ident.h"
#include "base/strlist.h"

#define PIECE_BYTES (16 << 20) /* of a file in one call: in base64 it stays below usual body limits */
#define STEP_S      86400
#define MEMORY_MB   2048
#define FILE_MODE   0644
#define FOLDER_MODE 0755

/* What a step does inside its sandbox. */
struct work {
    int (*run)(struct build_step_place *p, const char *id, const void *arg, struct err *err);
    const void *arg;
    char **env; /* of the sandbox */
    const char *user;
};

/* --- the cache --- */

static void add_text(struct digest *d, const char *text)
{
    digest_add(d, text ? text : "", (text ? strlen(text) : 0) + 1);
}

/* Digests everything a step's result depends on, except what the caller adds. */
static void key_init(const struct build_step_place *p, const char *what, const struct work *w, struct digest *d)
{
    const struct image *now = p->now;
    digest_init(d);
    add_text(d, now->is_host ? "host" : "");
    for (size_t i = 0; i < now->n_layers; i++)
        add_text(d, strrchr(now->layers[i], '/'));
    for (size_t i = 0; w->env && w->env[i]; i++)
        add_text(d, w->env[i]);
    add_text(d, "");
    add_text(d, w->user);
    add_text(d, now->workdir);
    add_text(d, p->options->has_network ? "network" : "");
    add_text(d, what);
}

static char *key_finish(struct digest *d)
{
    char hex[DIGEST_HEX];
    digest_hex(d, hex);
    digest_done(d);
    return xasprintf(IMAGE_BUILD_CACHE "%s", hex);
}

static void take_layers(struct image *now, struct image *from)
{
    for (size_t i = 0; i < now->n_layers; i++)
        free(now->layers[i]);
    free(now->layers);
    free(now->layer_bytes);
    now->layers = STEAL(from->layers);
    now->layer_bytes = STEAL(from->layer_bytes);
    now->n_layers = from->n_layers;
    now->size_bytes = from->size_bytes;
    from->n_layers = 0;
}

static bool take_cached(struct build_step_place *p, const char *key)
{
    CLEANUP(image_free_p) struct image *found = NULL;
    if (!p->options->has_cache || image_resolve(p->store, key, &found, NULL) < 0)
        return false;
    take_layers(p->now, found);
    return true;
}

/* --- one sandbox --- */

static int create_sandbox(struct build_step_place *p, const struct work *w, json_t **ret, struct err *err)
{
    char step[IDENT_MAX];
    ident_new("step", step);
    CLEANUP(free_p)
    char *name = xasprintf(IMAGE_BUILD_CACHE "%s", step); /* after a killed build it is removed with the cache */
    struct image like = *p->now;
    like.env = w->env;
    like.user = (char *)(uintptr_t)w->user;
    int r = image_compose(p->store, &like, name, err);
    if (r < 0)
        return r;
    /* Only this backend captures layers; a server without it says so. */
    JSON_OWNED body = json_pack("{s:s, s:s, s:s, s:b, s:i, s:i, s:{s:s}}", "backend", "native", "image", name,
                                "workdir", "/", "network", p->options->has_network, "timeout", STEP_S, "memory",
                                MEMORY_MB, "metadata", "purpose", "image build");
    r = build_server_call(&p->server, "POST", "/sandboxes", body, ret, err);
    struct err ignored = ERR_INIT;
    (void)image_remove(p->store, name,
                       &ignored); /* the sandbox pins the layers itself; on failure the next prune removes the name */
    return r;
}

/* Captures the files as a layer and stores it under the step's key. */
static int capture_layer(struct build_step_place *p, const char *id, const char *key, struct err *err)
{
    CLEANUP(free_p) char *path = xasprintf("/sandboxes/%s/snapshots", id);
    CLEANUP(image_free_p) struct image *made = NULL;
    JSON_OWNED body = json_pack("{s:s}", "name", "image build");
    JSON_OWNED snapshot = NULL;
    struct err ignored = ERR_INIT;
    int r = build_server_call(&p->server, "POST", path, body, &snapshot, err);
    if (r < 0)
        return r;
    const char *owner = json_get_str(snapshot, "id", "");
    r = image_from_pin(p->store, owner, p->now, &made, err);
    if (r == 0)
        r = image_compose(p->store, made, key, err);
    CLEANUP(free_p) char *gone = xasprintf("/snapshots/%s", owner);
    (void)build_server_call(&p->server, "DELETE", gone, NULL, NULL, &ignored); /* the image holds the layers now */
    if (r == 0)
        take_layers(p->now, made);
    return r;
}

static int run_in_sandbox(struct build_step_place *p, const struct work *w, const char *key, struct err *err)
{
    JSON_OWNED box = NULL;
    struct err ignored = ERR_INIT;
    int r = 0;
    if (!p->has_server) {
        p->has_server = true;
        r = build_server_open(p->options->data_dir, p->options->url, &p->server, err);
    }
    if (r == 0)
        r = create_sandbox(p, w, &box, err);
    if (r < 0)
        return r;
    const char *id = json_get_str(box, "id", "");
    r = w->run(p, id, w->arg, err);
    if (r == 0)
        r = capture_layer(p, id, key, err);
    CLEANUP(free_p) char *path = xasprintf("/sandboxes/%s", id);
    (void)build_server_call(&p->server, "DELETE", path, NULL, NULL, &ignored); /* on failure the sandbox expires */
    return r;
}

static int do_step(struct build_step_place *p, const struct work *w, struct digest *d, bool *ret_is_cached,
                   struct err *err)
{
    CLEANUP(free_p) char *key = key_finish(d);
    *ret_is_cached = take_cached(p, key);
    return *ret_is_cached ? 0 : run_in_sandbox(p, w, key, err);
}

/* --- RUN --- */

struct output {
    int code;
    bool has_ended;
    char why[200];
};

/* Step output is untrusted: no byte of it may control the terminal. */
static void print_output(const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool is_shown = c >= 0x20 ? c != 0x7f : c == '\n' || c == '\t';
        (void)fputc(is_shown ? c : c == '\r' ? '\n' : '?', stderr);
    }
}

static void print_event(void *arg, const json_t *event)
{
    struct output *o = arg;
    const char *type = json_get_str(event, "type", ""), *data = json_get_str(event, "data", "");
    if (strcmp(type, "exit") == 0) {
        o->has_ended = true;
        o->code = (int)strtol(data, NULL, 10);
    } else if (strcmp(type, "error") == 0) {
        (void)snprintf(o->why, sizeof(o->why), "%s", json_get_str(event, "error", "it failed"));
    } else {
        print_output(data);
    }
}

static int exec_in(struct build_step_place *p, const char *id, const json_t *command, const char *cwd, struct err *err)
{
    struct output o = { 0 };
    CLEANUP(free_p) char *path = xasprintf("/sandboxes/%s/exec/stream", id);
    JSON_OWNED body = json_pack("{s:O, s:s, s:i}", "command", command, "cwd", cwd, "timeout", STEP_S);
    if (!body)
        return err_set(err, ERR_INVALID, 0, "the command or its folder is not UTF-8");
    int r = build_server_stream(&p->server, path, body, print_event, &o, err);
    if (r < 0)
        return r;
    if (o.why[0] || !o.has_ended)
        return err_set(err, ERR_UPSTREAM, 0, "%s", o.why[0] ? o.why : "the command's exit was not reported");
    if (o.code != 0)
        return err_set(err, ERR_INVALID, 0, "the command exited with code %d", o.code);
    return 0;
}

static int work_run(struct build_step_place *p, const char *id, const void *arg, struct err *err)
{
    return exec_in(p, id, arg, p->now->workdir && *p->now->workdir ? p->now->workdir : "/", err);
}

int build_step_run(struct build_step_place *place, const json_t *command, char **env, bool *ret_is_cached,
                   struct err *err)
{
    struct digest d;
    const struct work w = { .run = work_run, .arg = command, .env = env, .user = place->now->user };
    CLEANUP(free_p) char *text = json_write(command, NULL);
    key_init(place, "RUN", &w, &d);
    add_text(&d, text);
    return do_step(place, &w, &d, ret_is_cached, err);
}

/* --- files --- */

static int files_call(struct build_step_place *p, const char *id, const char *what, json_t *body, json_t **ret,
                      struct err *err)
{
    CLEANUP(free_p) char *path = xasprintf("/sandboxes/%s/files/%s", id, what);
    JSON_OWNED owned = body;
    if (!owned)
        return err_set(err, ERR_INVALID, 0, "a file's name is not UTF-8");
    return build_server_call(&p->server, "POST", path, owned, ret, err);
}

static int set_mode(struct build_step_place *p, const char *id, const char *path, mode_t mode, mode_t usual,
                    struct err *err)
{
    char text[8];
    if ((mode & 07777) == usual)
        return 0;
    (void)snprintf(text, sizeof(text), "%04o", (unsigned)mode & 07777);
    return files_call(p, id, "chmod", json_pack("{s:s, s:s}", "path", path, "mode", text), NULL, err);
}

static int make_folder(struct build_step_place *p, const char *id, const char *path, struct err *err)
{
    return strcmp(path, "/") == 0 ? 0 : files_call(p, id, "mkdir", json_pack("{s:[s]}", "paths", path), NULL, err);
}

static int upload_piece(struct build_step_place *p, const char *id, const char *path, const char *data, size_t len,
                        struct err *err)
{
    CLEANUP(free_p) char *text = try_alloc(BASE64_SIZE(len) + 1);
    if (!text)
        return err_set(err, ERR_INTERNAL, ENOMEM, "upload");
    base64_encode(data, len, text);
    return files_call(p, id, "upload", json_pack("{s:s, s:s}", "path", path, "content", text), NULL, err);
}

static size_t read_piece(int fd, char *data, size_t size, int *ret_errno)
{
    size_t len = 0;
    while (len < size) {
        ssize_t n = read(fd, data + len, size - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            *ret_errno = errno;
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    return len;
}

/* Appends one piece: a file larger than PIECE_BYTES is assembled inside the sandbox. */
static int append_piece(struct build_step_place *p, const char *id, const char *path, const char *data, size_t len,
                        struct err *err)
{
    CLEANUP(free_p) char *part = xasprintf("%s.build-part", path);
    int r = upload_piece(p, id, part, data, len, err);
    if (r < 0)
        return r;
    JSON_OWNED command = json_pack("[s, s, s, s, s]", "sh", "-c", "cat \"$0\" >>\"$1\" && rm \"$0\"", part, path);
    return exec_in(p, id, command, "/", err);
}

static int copy_file(struct build_step_place *p, const char *id, const struct build_context_entry *e, const char *path,
                     struct err *err)
{
    CLEANUP(close_fd_p) int fd = build_context_open_file(&p->context, e, err);
    if (fd < 0)
        return fd;
    CLEANUP(free_p) char *piece = try_alloc(PIECE_BYTES);
    if (!piece)
        return err_set(err, ERR_INTERNAL, ENOMEM, "copy %s", e->path);
    int failed = 0, r = 0;
    size_t len = read_piece(fd, piece, PIECE_BYTES, &failed);
    r = upload_piece(p, id, path, piece, len, err);
    while (r == 0 && !failed && len == PIECE_BYTES) {
        len = read_piece(fd, piece, PIECE_BYTES, &failed);
        r = len ? append_piece(p, id, path, piece, len, err) : 0;
    }
    if (r == 0 && failed)
        r = err_set(err, ERR_INTERNAL, failed, "context: read %.200s", e->path);
    return r < 0 ? r : set_mode(p, id, path, e->mode, FILE_MODE, err);
}

static int copy_link(struct build_step_place *p, const char *id, const struct build_context_entry *e, const char *path,
                     struct err *err)
{
    CLEANUP(free_p) char *target = build_context_link(&p->context, e, err);
    if (!target)
        return -EIO;
    JSON_OWNED command = json_pack("[s, s, s, s, s]", "sh", "-c",
                                   "mkdir -p \"${1%/*}/\" && rm -rf \"$1\" && ln -s \"$0\" \"$1\"", target, path);
    return exec_in(p, id, command, "/", err);
}

static int copy_entry(struct build_step_place *p, const char *id, const struct build_context_entry *e, const char *path,
                      struct err *err)
{
    if (S_ISLNK(e->mode))
        return copy_link(p, id, e, path, err);
    if (!S_ISDIR(e->mode))
        return copy_file(p, id, e, path, err);
    int r = make_folder(p, id, path, err);
    return r < 0 ? r : set_mode(p, id, path, e->mode, FOLDER_MODE, err);
}

/* --- COPY --- */

struct copy_job {
    struct build_context_copy *list; /* of all sources */
    size_t n;
    char *to;       /* absolute */
    bool is_folder; /* to is a folder, as far as the instruction tells */
};

static bool is_folder_inside(struct build_step_place *p, const char *id, const char *path)
{
    JSON_OWNED info = NULL;
    struct err ignored = ERR_INIT;
    return files_call(p, id, "info", json_pack("{s:s}", "path", path), &info, &ignored) == 0 &&
           json_get_bool(info, "isDirectory", false);
}

static int work_copy(struct build_step_place *p, const char *id, const void *arg, struct err *err)
{
    const struct copy_job *job = arg;
    bool is_folder = job->is_folder || is_folder_inside(p, id, job->to);
    int r = is_folder ? make_folder(p, id, job->to, err) : 0;
    for (size_t i = 0; r == 0 && i < job->n; i++) {
        const char *slash = strcmp(job->to, "/") == 0 ? "" : "/";
        CLEANUP(free_p)
        char *path = is_folder ? xasprintf("%s%s%s", job->to, slash, job->list[i].to) : xstrdup(job->to);
        r = copy_entry(p, id, job->list[i].from, path, err);
    }
    return r;
}

static int select_all(struct build_step_place *p, char *const *words, size_t n_sources, struct copy_job *job,
                      struct err *err)
{
    const char *to = words[n_sources];
    size_t len = strlen(to);
    job->is_folder = n_sources > 1 || len == 0 || to[len - 1] == '/' || strcmp(to, ".") == 0 ||
                     (len > 1 && strcmp(to + len - 2, "/.") == 0);
    for (size_t i = 0; i < n_sources; i++) {
        CLEANUP(free_p) struct build_context_copy *some = NULL;
        size_t n = 0;
        bool is_file = false;
        int r = build_context_select(&p->context, words[i], &some, &n, &is_file, err);
        if (r < 0)
            return r;
        job->is_folder |= !is_file;
        if (job->n + n > BUILD_CONTEXT_ENTRIES_MAX)
            return err_set(err, ERR_TOO_LARGE, 0, "more than %d files at once", BUILD_CONTEXT_ENTRIES_MAX);
        job->list = xrealloc(job->list, (job->n + n + 1) * sizeof(*job->list));
        memcpy(job->list + job->n, some, n * sizeof(*some));
        job->n += n;
    }
    return 0;
}

int build_step_copy(struct build_step_place *place, char *const *words, bool *ret_is_cached, struct err *err)
{
    struct copy_job job = { 0 };
    struct digest d;
    const struct work w = { .run = work_copy, .arg = &job, .user = "" };
    size_t n = strlist_count(words);
    if (n < 2)
        return err_set(err, ERR_INVALID, 0, "at least one source and a destination are needed");
    job.to = build_step_path(place->now, words[n - 1]);
    key_init(place, "COPY", &w, &d);
    add_text(&d, job.to);
    int r = select_all(place, words, n - 1, &job, err);
    add_text(&d, job.is_folder ? "folder" : "file");
    if (r == 0)
        r = build_context_digest(&place->context, job.list, job.n, &d, err);
    if (r == 0)
        r = do_step(place, &w, &d, ret_is_cached, err);
    else
        digest_done(&d);
    free(job.list);
    free(job.to);
    return r;
}

static int work_mkdir(struct build_step_place *p, const char *id, const void *arg, struct err *err)
{
    return make_folder(p, id, arg, err);
}

int build_step_mkdir(struct build_step_place *place, const char *path, bool *ret_is_cached, struct err *err)
{
    struct digest d;
    const struct work w = { .run = work_mkdir, .arg = path, .user = "" };
    key_init(place, "WORKDIR", &w, &d);
    add_text(&d, path);
    return do_step(place, &w, &d, ret_is_cached, err);
}

char *build_step_path(const struct image *now, const char *path)
{
    CLEANUP(free_p)
    char *whole = path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", now->workdir ? now->workdir : "", path);
    char *out = xzalloc(strlen(whole) + 2);
    size_t len = 0;
    for (const char *at = whole; *at;) {
        size_t n = strcspn(at, "/");
        if (n == 2 && strncmp(at, "..", 2) == 0) {
            while (len && out[--len] != '/')
                continue;
        } else if (n && !(n == 1 && *at == '.')) {
            out[len++] = '/';
            memcpy(out + len, at, n);
            len += n;
        }
        at += n + (at[n] == '/');
    }
    out[len] = '\0';
    if (len == 0)
        out[0] = '/';
    return out;
}
