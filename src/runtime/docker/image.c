/* Theory of operation. Images of the engine: look up, pull, commit, list, remove. Each operation is one struct that
 * lives from its first call of the engine to its last answer and calls its caller once.
 *
 * Images that we commit carry the data folder's label and are removed when nobody pins them any more. Pins are kept in
 * memory only: their holders are in the store and pin again at the next start, before the sweep. A removal that fails
 * because a container still uses the image is tried COLLECT_TRIES times, then left to the next collection.
 *
 * Copies of images of our own store (and of the host's view) are named KEPT:NAME-KEY, both parts digests: NAME of the
 * image's name and the data folder, KEY of its content. The newest content of a name that this server has used is the
 * current one; copies of other contents are removed with the unpinned images.
 *
 * Nothing is collected while a commit is under way, whose image has no pin yet. When the engine cannot be reached,
 * the caller gets the error; a collection counts it as a failed try. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/strlist.h"
#include "runtime/docker/docker_core.h"

#define QUERY_MAX     4096
#define COLLECT_TRIES 5 /* while containers that used it are still being removed */
#define PREFIX        "docker:"
#define KEPT          "localhost/iii-sbx-image" /* with a host: Podman would look for it in docker.io */
#define KEPT_NAME     16                        /* hex digits of NAME */
#define KEPT_KEY      40

/* --- look up --- */

struct lookup {
    struct docker *d;
    box_image_fn *fn;
    void *arg;
};

static void on_image(void *arg, json_t *body, const struct err *err)
{
    CLEANUP(free_p) struct lookup *l = arg;
    struct docker_messages_image image;
    struct err why = ERR_INIT;
    if (err || docker_messages_image(body, &image, &why) < 0) {
        if (!docker_call_is_over(err))
            l->fn(l->arg, NULL, err ? err : &why);
        return;
    }
    image.image.id = image.id;
    l->fn(l->arg, &image.image, NULL);
    docker_messages_image_done(&image);
}

/* Appends an image name to a path: its slashes are part of it. */
static void add_name(struct buf *out, const char *name)
{
    if (strncmp(name, "oci:", 4) == 0)
        name += 4;
    else if (strncmp(name, PREFIX, strlen(PREFIX)) == 0)
        name += strlen(PREFIX);
    for (const char *p = name; *p; p++) {
        char one[2] = { *p, '\0' };
        if (strchr("/:@", *p))
            (void)buf_add_char(out, *p);
        else
            docker_call_escape(out, one);
    }
}

static void image_look_up(struct docker *d, const char *name, box_image_fn *fn, void *arg)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT(QUERY_MAX);
    CLEANUP(free_p) char *what = xasprintf("image %.120s", name);
    struct lookup *l = xzalloc(sizeof(*l));
    *l = (struct lookup){ .d = d, .fn = fn, .arg = arg };
    (void)buf_add_str(&path, "/images/");
    add_name(&path, name);
    (void)buf_add_str(&path, "/json");
    struct docker_call_request req = { .method = "GET", .path = buf_text(&path), .what = what };
    (void)docker_call_start(&d->calls, &req, on_image, l);
}

/* The NAME of a copy, NULL: it is none. */
static const char *kept_of(const char *name)
{
    size_t n = strlen(KEPT ":");
    return strncmp(name, KEPT ":", n) == 0 && strlen(name) == n + KEPT_NAME + 1 + KEPT_KEY ? name + n : NULL;
}

static char *docker_kept_name(struct runtime *rt, const char *name, const char *key)
{
    CLEANUP(free_p) char *text = xasprintf("%s %s", docker_agent_socket_tag(docker_of(rt)->agent_socket), name);
    char hex[DIGEST_HEX];
    digest_of(text, strlen(text), hex);
    return xasprintf(KEPT ":%.*s-%.*s", KEPT_NAME, hex, KEPT_KEY, key);
}

static void docker_resolve(struct runtime *rt, const char *name, box_image_fn *fn, void *arg)
{
    struct docker *d = docker_of(rt);
    CLEANUP(free_p) char *of = kept_of(name) ? xstrndup(kept_of(name), KEPT_NAME) : NULL;
    if (of && strcmp(json_get_str(d->copies, of, ""), name) != 0) { /* whoever asks for it knows the content */
        (void)json_object_set_new(d->copies, of, json_string(name));
        docker_image_collect_soon(d);
    }
    image_look_up(d, name, fn, arg);
}

/* --- pull --- */

struct box_pull {
    struct docker *d;
    char *name;
    struct docker_call *call;
    struct timer *cancel;
    struct docker_messages_pull at;
    box_pull_fn *progress;
    box_image_fn *fn;
    void *arg;
};

static void end_pull(struct box_pull *p, const struct err *err)
{
    struct err why = ERR_INIT;
    if (err)
        why = *err;
    timer_free(p->cancel);
    docker_messages_pull_done(&p->at);
    if (docker_call_is_over(&why))
        ; /* nobody waits for it */
    else if (err)
        p->fn(p->arg, NULL, &why);
    else
        image_look_up(p->d, p->name, p->fn, p->arg);
    free(p->name);
    free(p);
}

static void on_pulled(void *arg, json_t *body, const struct err *err)
{
    struct box_pull *p = arg;
    (void)body;
    p->call = NULL;
    end_pull(p, err ? err : p->at.err.code ? &p->at.err : NULL);
}

static void on_pull_line(void *arg, const char *line, size_t len)
{
    struct box_pull *p = arg;
    docker_messages_pull_line(&p->at, line, len);
    if (p->progress)
        p->progress(p->arg, p->at.done_bytes, p->at.total_bytes, p->at.n_done, p->at.n);
}

static struct box_pull *docker_pull(struct runtime *rt, const char *name, box_pull_fn *progress, box_image_fn *fn,
                                    void *arg)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT(QUERY_MAX);
    CLEANUP(free_p) char *what = xasprintf("pull %.120s", name);
    CLEANUP(free_p) char *image = NULL;
    CLEANUP(free_p) char *tag = NULL;
    struct box_pull *p = xzalloc(sizeof(*p));
    *p = (struct box_pull){ .d = docker_of(rt), .name = xstrdup(name), .progress = progress, .fn = fn, .arg = arg };
    docker_messages_pull_init(&p->at);
    docker_messages_split(name, &image, &tag);
    (void)buf_add_str(&path, "/images/create?fromImage=");
    docker_call_escape(&path, image);
    (void)buf_add_str(&path, "&tag=");
    docker_call_escape(&path, tag);
    struct docker_call_request req = {
        .method = "POST", .path = buf_text(&path), .what = what, .timeout_ms = -1, .on_line = on_pull_line
    };
    p->call = docker_call_start(&p->d->calls, &req, on_pulled, p);
    return p;
}

/* "changes" of the engine's import: one line of a Dockerfile each. */
static void add_change(struct buf *path, const char *line)
{
    (void)buf_add_str(path, "&changes=");
    docker_call_escape(path, line);
}

static struct box_pull *docker_load(struct runtime *rt, const struct box_archive *a, box_image_fn *fn, void *arg)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT(QUERY_MAX);
    CLEANUP(free_p) char *what = xasprintf("copy image %.120s into the engine", a->name);
    struct box_pull *p = xzalloc(sizeof(*p));
    *p = (struct box_pull){ .d = docker_of(rt), .name = xstrdup(a->name), .fn = fn, .arg = arg };
    docker_messages_pull_init(&p->at);
    if (a->is_root) {
        (void)buf_addf(&path, "/images/create?fromSrc=-&repo=%s", a->name); /* Podman ignores a "tag" of its own */
        for (char **env = a->env; env && *env; env++) {
            CLEANUP(free_p) char *line = xasprintf("ENV %s", *env);
            add_change(&path, line);
        }
        JSON_OWNED argv = strlist_to_json(a->cmd);
        CLEANUP(free_p) char *words = json_write(argv, NULL);
        CLEANUP(free_p) char *line = xasprintf("CMD %s", words);
        add_change(&path, line);
    } else {
        (void)buf_add_str(&path, "/images/load?quiet=1");
    }
    struct docker_call_request req = { .method = "POST",
                                       .path = buf_text(&path),
                                       .what = what,
                                       .tar_fd = &a->fd,
                                       .timeout_ms = -1,
                                       .on_line = on_pull_line };
    p->call = docker_call_start(&p->d->calls, &req, on_pulled, p);
    return p;
}

static void on_cancelled(void *arg)
{
    struct box_pull *p = arg;
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_CAPACITY, 0, "the pull of %.120s was cancelled", p->name);
    end_pull(p, &err);
}

static void docker_cancel(struct box_pull *p)
{
    if (!p->call)
        return;
    docker_call_cancel(p->call);
    p->call = NULL;
    p->cancel = timer_new(p->d->base.loop, 0, 0, on_cancelled, p);
}

/* --- pins --- */

static bool is_pinned(const struct docker *d, const char *id)
{
    const char *owner;
    json_t *held;
    json_object_foreach(d->pins, owner, held)
    {
        if (strcmp(json_string_value(held), id) == 0)
            return true;
    }
    return false;
}

static void docker_unpin(struct runtime *rt, const char *owner)
{
    struct docker *d = docker_of(rt);
    JSON_OWNED held = json_incref(json_object_get(d->pins, owner));
    (void)json_object_del(d->pins, owner);
    bool is_ours = held && (d->has_old_copies || json_object_get(d->captured, json_string_value(held)));
    if (is_ours && !is_pinned(d, json_string_value(held)))
        docker_image_collect_soon(d);
}

/* --- commit --- */

struct committing {
    struct docker *d;
    char owner[IDENT_MAX];
    char id[sizeof(PREFIX "sha256:") + DOCKER_MESSAGES_ID_MAX];
    box_image_fn *fn;
    void *arg;
};

static void docker_pin(struct runtime *rt, const char *id, const char *owner)
{
    (void)json_object_set_new(docker_of(rt)->pins, owner, json_string(id));
}

static void on_measured(void *arg, const struct box_image *image, const struct err *err)
{
    CLEANUP(free_p) struct committing *c = arg;
    if (err)
        docker_unpin(&c->d->base, c->owner);
    c->fn(c->arg, image, err);
}

static void on_committed(void *arg, json_t *body, const struct err *err)
{
    struct committing *c = arg;
    char hex[DOCKER_MESSAGES_ID_MAX];
    struct err why = ERR_INIT;
    c->d->n_committing--;
    if (err || docker_messages_id(body, "Id", hex, &why) < 0) {
        if (!docker_call_is_over(err))
            c->fn(c->arg, NULL, err ? err : &why);
        free(c);
        return;
    }
    (void)snprintf(c->id, sizeof(c->id), PREFIX "sha256:%s", hex);
    (void)json_object_set_new(c->d->captured, c->id, json_true());
    docker_pin(&c->d->base, c->id, c->owner);
    image_look_up(c->d, c->id, on_measured, c);
}

static void docker_commit(struct box *box, const char *owner, box_image_fn *fn, void *arg)
{
    struct docker *d = box->d;
    bool is_snapshot = strncmp(owner, "snap_", 5) == 0;
    CLEANUP(free_p)
    char *path =
        xasprintf("/commit?container=%s&repo=%s&tag=%s&pause=1&changes=LABEL%%20" DOCKER_MESSAGES_LABEL_DATA "=%s",
                  box->container, is_snapshot ? "iii-sbx-snap" : "iii-sbx-clone", owner,
                  docker_agent_socket_tag(d->agent_socket));
    CLEANUP(free_p) char *what = xasprintf("capture sandbox %s", box->id);
    JSON_OWNED nothing = json_object(); /* Podman rejects this call without a body */
    struct committing *c = xzalloc(sizeof(*c));
    *c = (struct committing){ .d = d, .fn = fn, .arg = arg };
    (void)snprintf(c->owner, sizeof(c->owner), "%s", owner);
    struct docker_call_request req = {
        .method = "POST", .path = path, .body = nothing, .what = what, .timeout_ms = 600000
    };
    d->n_committing++;
    (void)docker_call_start(&d->calls, &req, on_committed, c);
}

/* --- collecting unpinned images --- */

void docker_image_collect_soon(struct docker *d)
{
    d->collect_tries = 0;
    d->is_collect_due = true;
}

struct collecting {
    struct docker *d;
    unsigned pending;
    bool has_more;
};

static void collect_done(struct collecting *c)
{
    struct docker *d = c->d;
    if (--c->pending)
        return;
    d->is_collecting = false;
    if (c->has_more && ++d->collect_tries < COLLECT_TRIES)
        d->is_collect_due = true;
    free(c);
}

static void on_collected_one(void *arg, json_t *body, const struct err *err)
{
    struct collecting *c = arg;
    (void)body;
    if (err && err->code != ERR_NOT_FOUND)
        c->has_more = true;
    collect_done(c);
}

static void on_images(void *arg, json_t *body, const struct err *err)
{
    struct collecting *c = arg;
    size_t i;
    json_t *row;
    if (err)
        c->has_more = true;
    if (c->d->n_committing) { /* one of them may be about to be pinned */
        docker_image_collect_soon(c->d);
        body = NULL;
    }
    json_array_foreach(body, i, row)
    {
        char hex[DOCKER_MESSAGES_ID_MAX];
        if (docker_messages_id(row, "Id", hex, NULL) < 0)
            continue;
        CLEANUP(free_p) char *id = xasprintf(PREFIX "sha256:%s", hex);
        (void)json_object_set_new(c->d->captured, id, json_true());
        if (is_pinned(c->d, id))
            continue;
        CLEANUP(free_p) char *path = xasprintf("/images/sha256:%s", hex);
        struct docker_call_request req = { .method = "DELETE", .path = path, .what = "remove an unused image" };
        c->pending++;
        (void)docker_call_start(&c->d->calls, &req, on_collected_one, c);
    }
    collect_done(c);
}

/* The engine refuses to remove a copy that a container uses. */
static void on_removed_copy(void *arg, json_t *body, const struct err *err)
{
    struct collecting *c = arg;
    c->d->has_old_copies |= err && err->code != ERR_NOT_FOUND;
    on_collected_one(arg, body, err);
}

static void remove_old_copy(struct collecting *c, const char *name)
{
    CLEANUP(free_p) char *of = kept_of(name) ? xstrndup(kept_of(name), KEPT_NAME) : NULL;
    const char *current = of ? json_get_str(c->d->copies, of, name) : name;
    if (strcmp(current, name) == 0)
        return;
    CLEANUP(free_p) char *path = xasprintf("/images/%s", name);
    struct docker_call_request req = { .method = "DELETE", .path = path, .what = "remove an old copy of an image" };
    c->pending++;
    (void)docker_call_start(&c->d->calls, &req, on_removed_copy, c);
}

static void on_copies(void *arg, json_t *body, const struct err *err)
{
    struct collecting *c = arg;
    size_t i, k;
    json_t *row, *name;
    if (err)
        c->has_more = true;
    json_array_foreach(body, i, row)
    {
        json_array_foreach(json_get(row, "RepoTags"), k, name)
        {
            if (json_string_value(name))
                remove_old_copy(c, json_string_value(name));
        }
    }
    collect_done(c);
}

static void collect_list(struct collecting *c, const json_t *filter, docker_call_fn *fn)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT(QUERY_MAX);
    CLEANUP(free_p) char *text = json_write(filter, NULL);
    (void)buf_add_str(&path, "/images/json?filters=");
    docker_call_escape(&path, text);
    struct docker_call_request req = { .method = "GET", .path = buf_text(&path), .what = "list images" };
    c->pending++;
    (void)docker_call_start(&c->d->calls, &req, fn, c);
}

void docker_image_collect(struct docker *d)
{
    JSON_OWNED ours = docker_messages_filter(docker_agent_socket_tag(d->agent_socket), NULL, NULL);
    JSON_OWNED copies = json_pack("{s:[s]}", "reference", KEPT);
    if (d->is_collecting)
        return;
    struct collecting *c = xzalloc(sizeof(*c));
    *c = (struct collecting){ .d = d };
    d->is_collecting = true;
    d->is_collect_due = d->has_old_copies = false;
    collect_list(c, ours, on_images);
    if (json_object_size(d->copies))
        collect_list(c, copies, on_copies);
}

/* --- list, remove --- */

struct listing {
    box_json_fn *fn;
    void *arg;
};

static void image_on_list(void *arg, json_t *body, const struct err *err)
{
    CLEANUP(free_p) struct listing *l = arg;
    if (!docker_call_is_over(err))
        l->fn(l->arg, err ? NULL : docker_messages_image_list(body), err);
}

static void docker_list(struct runtime *rt, box_json_fn *fn, void *arg)
{
    struct listing *l = xzalloc(sizeof(*l));
    *l = (struct listing){ .fn = fn, .arg = arg };
    struct docker_call_request req = { .method = "GET", .path = "/images/json", .what = "list images" };
    (void)docker_call_start(&docker_of(rt)->calls, &req, image_on_list, l);
}

struct removal {
    box_done_fn *fn;
    void *arg;
};

static void on_image_removed(void *arg, json_t *body, const struct err *err)
{
    CLEANUP(free_p) struct removal *r = arg;
    (void)body;
    if (!docker_call_is_over(err))
        r->fn(r->arg, err);
}

static void docker_remove(struct runtime *rt, const char *name, box_done_fn *fn, void *arg)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT(QUERY_MAX);
    CLEANUP(free_p) char *what = xasprintf("remove image %.120s", name);
    struct removal *r = xzalloc(sizeof(*r));
    *r = (struct removal){ .fn = fn, .arg = arg };
    (void)buf_add_str(&path, "/images/");
    add_name(&path, name);
    (void)buf_add_str(&path, "?force=1"); /* containers that use it continue; only the name is removed */
    struct docker_call_request req = { .method = "DELETE", .path = buf_text(&path), .what = what };
    (void)docker_call_start(&docker_of(rt)->calls, &req, on_image_removed, r);
}

const struct runtime_images docker_image_ops = { .resolve = docker_resolve,
                                                 .pull = docker_pull,
                                                 .cancel = docker_cancel,
                                                 .kept_name = docker_kept_name,
                                                 .load = docker_load,
                                                 .list = docker_list,
                                                 .remove = docker_remove };

const struct runtime_saves docker_image_saves = { .commit = docker_commit, .pin = docker_pin, .unpin = docker_unpin };
