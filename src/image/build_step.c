/* One step of a build. A step's key is a digest of the layers so far, the configuration and the step itself. A hit in
 * the cache (an image named IMAGE_BUILD_CACHE + key) replaces the layers of place->now. On a miss, RUN creates a
 * sandbox from the layers so far, runs the command inside it, captures its files as one more layer under the key, and
 * deletes the sandbox, which lives in the build server and expires there if this process dies (with hooks, the server
 * that we work for does all that); COPY and WORKDIR write their layer themselves (build_copy.c). On failure place->now
 * is unchanged and nothing is cached. */
#include "image/build_step.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ident.h"
#include "image/layer_tree.h"
#include "image/layout.h"

#define STEP_S    86400
#define MEMORY_MB 2048

/* --- the cache --- */

/* Digests everything a step's result depends on, except what the caller adds. */
static void key_init(const struct build_step_place *p, const char *what, char **env, struct digest *d)
{
    const struct image *now = p->now;
    digest_init(d);
    digest_text(d, now->is_host ? "host" : "");
    for (size_t i = 0; i < now->n_layers; i++)
        digest_text(d, strrchr(now->layers[i], '/'));
    for (size_t i = 0; env && env[i]; i++)
        digest_text(d, env[i]);
    digest_text(d, "");
    digest_text(d, now->user ? now->user : "");
    digest_text(d, now->workdir ? now->workdir : "");
    digest_text(d, p->options->has_network ? "network" : "");
    digest_text(d, what);
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

/* Takes the step from the cache. ret_key: its name there; caller frees. */
static bool take_cached(struct build_step_place *p, struct digest *d, char **ret_key)
{
    CLEANUP(image_free_p) struct image *found = NULL;
    char hex[DIGEST_HEX];
    digest_end(d, hex);
    *ret_key = xasprintf(IMAGE_BUILD_CACHE "%s", hex);
    const struct image_scope scope = { .tenant = p->now->tenant ? p->now->tenant : "" };
    if (!p->options->has_cache || image_resolve_for(p->store, &scope, *ret_key, &found, NULL) < 0)
        return false;
    take_layers(p->now, found);
    return true;
}

/* What the disk quota has left bounds what the next layer may have. */
static int check_left(struct build_step_place *p, struct err *err)
{
    const struct image_build_hooks *hooks = p->options->hooks;
    int64_t left = hooks ? hooks->left(hooks->arg) : INT64_MAX;
    if (left < 0)
        return err_set(err, ERR_RATE_LIMITED, 0,
                       "the quota diskMb is used up: remove images, or build from fewer files");
    if (left < p->store->limits.bytes)
        p->store->limits.bytes = left;
    return 0;
}

/* --- RUN --- */

static int create_sandbox(struct build_step_place *p, char **env, json_t **ret, struct err *err)
{
    char step[IDENT_MAX];
    ident_new("step", step);
    CLEANUP(free_p)
    char *name = xasprintf(IMAGE_BUILD_CACHE "%s", step); /* after a killed build it is removed with the cache */
    struct image like = *p->now;
    like.env = env;
    int r = image_compose(p->store, &like, name, err);
    if (r < 0)
        return r;
    /* Only this backend captures layers; a server without it says so. */
    JSON_OWNED body = json_pack("{s:s, s:s, s:s, s:b, s:i, s:i, s:{s:s}}", "backend", "native", "image", name,
                                "workdir", "/", "network", p->options->has_network, "timeout", STEP_S, "memory",
                                MEMORY_MB, "metadata", "purpose", "image build");
    r = build_server_call(&p->server, "POST", "/sandboxes", body, ret, err);
    struct err ignored = ERR_INIT;
    (void)image_remove(p->store, NULL, name,
                       &ignored); /* the sandbox pins the layers itself; on failure the next prune removes the name */
    return r;
}

/* A sandbox has files and mount points of its own, which are not the image's. As in Docker, what a command does to them
 * is lost. */
static void drop_own(const char *layer)
{
    static const char *const files[] = { "hostname", "hosts", "resolv.conf" };
    static const struct {
        const char *name;
        mode_t mode;
    } folders[] = { { "dev", 0755 }, { "etc", 0755 },  { "proc", 0555 },
                    { "sys", 0555 }, { "tmp", 01777 }, { "workspace", 0755 } };
    CLEANUP(close_fd_p) int root = open(layer, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP(close_fd_p)
    int etc = root < 0 ? NO_FD : openat(root, "etc", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    for (size_t i = 0; etc >= 0 && i < sizeof(files) / sizeof(files[0]); i++)
        (void)unlinkat(etc, files[i], 0); /* absent is fine */
    for (size_t i = 0; root >= 0 && i < sizeof(folders) / sizeof(folders[0]); i++) {
        struct stat st;
        char value[4];
        CLEANUP(close_fd_p) int fd = openat(root, folders[i].name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        bool is_own = fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 07777) == folders[i].mode &&
                      fgetxattr(fd, "trusted.overlay.opaque", value, sizeof(value)) < 0 &&
                      fgetxattr(fd, "user.overlay.opaque", value, sizeof(value)) < 0;
        if (is_own)
            (void)unlinkat(root, folders[i].name, AT_REMOVEDIR); /* one with files in it stays */
    }
}

/* Stores the layers that owner's pin holds under the step's key. */
static int take_captured(struct build_step_place *p, const char *owner, const char *key, struct err *err)
{
    CLEANUP(image_free_p) struct image *made = NULL;
    int r = image_from_pin(p->store, owner, p->now, &made, err);
    if (r == 0 && made->n_layers > p->now->n_layers) { /* nobody else knows the new layer yet */
        size_t top = made->n_layers - 1;
        drop_own(made->layers[top]);
        made->size_bytes -= made->layer_bytes[top];
        made->layer_bytes[top] = layer_tree_size_at(AT_FDCWD, made->layers[top]);
        made->size_bytes += made->layer_bytes[top];
    }
    if (r == 0)
        r = image_compose(p->store, made, key, err);
    if (r == 0)
        take_layers(p->now, made);
    return r;
}

/* Captures the files of a sandbox as a layer. */
static int capture_layer(struct build_step_place *p, const char *id, const char *key, struct err *err)
{
    CLEANUP(free_p) char *path = xasprintf("/sandboxes/%s/snapshots", id);
    JSON_OWNED body = json_pack("{s:s}", "name", "image build");
    JSON_OWNED snapshot = NULL;
    struct err ignored = ERR_INIT;
    int r = build_server_call(&p->server, "POST", path, body, &snapshot, err);
    if (r < 0)
        return r;
    const char *owner = json_get_str(snapshot, "id", "");
    r = take_captured(p, owner, key, err);
    CLEANUP(free_p) char *gone = xasprintf("/snapshots/%s", owner);
    (void)build_server_call(&p->server, "DELETE", gone, NULL, NULL, &ignored); /* the image holds the layers now */
    return r;
}

struct output {
    int code;
    bool has_ended;
    char why[200];
};

static void print_event(void *arg, const json_t *event)
{
    struct output *o = arg;
    const char *type = json_get_str(event, "type", ""), *data = json_get_str(event, "data", "");
    if (strcmp(type, "exit") == 0) {
        o->has_ended = true;
        o->code = (int)strtol(data, NULL, 10);
        return;
    }
    if (strcmp(type, "error") == 0) {
        (void)snprintf(o->why, sizeof(o->why), "%s", json_get_str(event, "error", "it failed"));
        return;
    }
    for (; *data; data++) { /* a command's output is untrusted: no byte of it may control the terminal */
        unsigned char c = (unsigned char)*data;
        bool is_shown = c >= 0x20 ? c != 0x7f : c == '\n' || c == '\t';
        (void)fputc(is_shown ? c : c == '\r' ? '\n' : '?', stderr);
    }
}

static int run_command(struct build_step_place *p, const char *id, const json_t *command, struct err *err)
{
    struct output o = { 0 };
    const char *cwd = p->now->workdir && *p->now->workdir ? p->now->workdir : "/";
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

/* With hooks: the server has the sandbox. */
static int run_hooked(struct build_step_place *p, const json_t *command, char **env, const char *key, struct err *err)
{
    const struct image_build_hooks *hooks = p->options->hooks;
    CLEANUP(free_p) char *owner = NULL;
    int r = check_left(p, err);
    if (r == 0)
        r = hooks->run(hooks->arg, p->now, command, env, &owner, err);
    if (r < 0)
        return r;
    r = take_captured(p, owner, key, err);
    hooks->done(hooks->arg);
    return r;
}

int build_step_run(struct build_step_place *place, const json_t *command, char **env, bool *ret_is_cached,
                   struct err *err)
{
    struct digest d;
    JSON_OWNED box = NULL;
    struct err ignored = ERR_INIT;
    CLEANUP(free_p) char *text = json_write(command, NULL);
    CLEANUP(free_p) char *key = NULL;
    if (place->now->n_layers == 0)
        return err_set(err, ERR_INVALID, 0, "scratch has nothing to run: COPY a program into it first");
    key_init(place, "RUN", env, &d);
    digest_text(&d, text);
    *ret_is_cached = take_cached(place, &d, &key);
    if (*ret_is_cached)
        return 0;
    int r = 0;
    if (place->options->hooks)
        return run_hooked(place, command, env, key, err);
    if (!place->has_server) {
        place->has_server = true;
        r = build_server_open(place->options->data_dir, place->options->url, &place->server, err);
    }
    if (r == 0)
        r = create_sandbox(place, env, &box, err);
    if (r < 0)
        return r;
    const char *id = json_get_str(box, "id", "");
    r = run_command(place, id, command, err);
    if (r == 0)
        r = capture_layer(place, id, key, err);
    CLEANUP(free_p) char *path = xasprintf("/sandboxes/%s", id);
    (void)build_server_call(&place->server, "DELETE", path, NULL, NULL, &ignored); /* on failure the sandbox expires */
    return r;
}

/* --- files --- */

/* Makes the empty folder of a new layer. */
static int layer_begin(struct build_step_place *p, struct layout_tmp *tmp, struct err *err)
{
    int r = layout_tmp_new(p->store, tmp, err);
    if (r < 0)
        return r;
    int fd = mkdirat(tmp->fd, "layer", 0755) < 0 || fchmodat(tmp->fd, "layer", 0755, 0) < 0
                 ? -1
                 : openat(tmp->fd, "layer", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? err_sys(err, -errno, "make a layer folder") : fd;
}

static int layer_finish(struct build_step_place *p, const struct layout_tmp *tmp, const char *key, struct err *err)
{
    CLEANUP(image_free_p) struct image *made = NULL;
    CLEANUP(free_p) char *folder = xasprintf("%s/tmp/%s/layer", p->store->dir, tmp->name);
    if (syncfs(tmp->fd) < 0) /* what is in layers/ is on the disk */
        return err_sys(err, -errno, "write the layer");
    int r = image_add_layer(p->store, p->now, folder, key, &made, err);
    if (r == 0)
        take_layers(p->now, made);
    return r;
}

int build_step_copy(struct build_step_place *place, const struct build_copy *copy, bool *ret_is_cached, struct err *err)
{
    struct digest d;
    CLEANUP(free_p) char *key = NULL;
    CLEANUP(layout_tmp_done) struct layout_tmp tmp = { 0 };
    key_init(place, "COPY", NULL, &d);
    int r = build_copy_digest(copy, &d, err);
    if (r < 0) {
        digest_done(&d);
        return r;
    }
    *ret_is_cached = take_cached(place, &d, &key);
    if (*ret_is_cached)
        return 0;
    r = check_left(place, err);
    CLEANUP(close_fd_p) int fd = r < 0 ? r : layer_begin(place, &tmp, err);
    r = fd < 0 ? fd : build_copy_write(copy, fd, place->store->is_rootless, err);
    return r < 0 ? r : layer_finish(place, &tmp, key, err);
}

int build_step_mkdir(struct build_step_place *place, const char *path, bool *ret_is_cached, struct err *err)
{
    struct digest d;
    CLEANUP(free_p) char *key = NULL;
    CLEANUP(layout_tmp_done) struct layout_tmp tmp = { 0 };
    key_init(place, "WORKDIR", NULL, &d);
    digest_text(&d, path);
    *ret_is_cached = take_cached(place, &d, &key);
    if (*ret_is_cached)
        return 0;
    CLEANUP(close_fd_p) int fd = layer_begin(place, &tmp, err);
    int r = fd < 0 ? fd : build_copy_mkdir(place->now, path, fd, place->store->is_rootless, err);
    return r < 0 ? r : r == 1 ? 0 : layer_finish(place, &tmp, key, err);
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
