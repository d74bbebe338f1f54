/* Theory of operation. struct fake_host has what survives the daemon and not a reboot: boxes with their files, mounts
 * and addresses, and volumes. struct box is a driver's handle of one, with the agent's connection; it ends with
 * destroy(), forget() or the driver. Each call first asks the script for its outcome, takes effect at once, and leaves
 * a struct call with the result, which a timer delivers. Calls that are pending when the driver is freed are dropped,
 * as by every driver.
 *
 * Captured files are one file, FILES, in a folder of the host's: all files of the box at that moment. A new box takes
 * the topmost layer that has one, so that a capture can be compared with a sandbox made from it. */
#include "runtime/fake/fake.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/tree.h"
#include "runtime/fake/fake_core.h"
#include "runtime/fake/fakeagent.h"

#define FILES "fake.files"
#define MIB   (1024u * 1024)

/* --- the host --- */

const char *fake_op_name(enum fake_op op)
{
    static const char *const names[] = { "create",        "adopt",      "destroy",    "halt",       "retain",
                                         "discard",       "pause",      "resume",     "set limits", "grow disk",
                                         "measure",       "capture",    "sweep",      "mount",      "unmount",
                                         "remove volume", "net create", "net delete", "net attach", "net detach",
                                         "egress" };
    static_assert(sizeof(names) / sizeof(*names) == FAKE_OPS, "a name for each");
    return names[op];
}

void fake_complain(struct fake_host *h, const char *what, const char *id)
{
    if (!h->complaint)
        h->complaint = xasprintf("%s: %s", id, what);
}

static void mounts_drop(struct fake_box *fb)
{
    for (struct map_iter it = map_iter(fb->volumes); map_next(&it);)
        free(it.value);
    map_free(fb->volumes);
    map_free(fb->networks);
}

/* Only its files are left. */
static void box_halt(struct fake_box *fb)
{
    mounts_drop(fb);
    fb->volumes = map_new();
    fb->networks = map_new();
    fb->is_halted = true;
    fb->is_paused = false;
}

static void box_drop(struct fake_host *h, struct fake_box *fb)
{
    (void)map_remove(h->boxes, fb->id);
    fb->files = fakeagent_files_free(fb->files);
    mounts_drop(fb);
    free(fb->console);
    if (fb->leftover)
        (void)tree_remove(AT_FDCWD, fb->leftover, NULL); /* not adopted; the sweep removes the rest */
    free(fb->leftover);
    free(fb);
}

struct fake_host *fake_host_new(const char *dir)
{
    struct fake_host *h = xzalloc(sizeof(*h));
    *h = (struct fake_host){ .dir = xstrdup(dir), .boxes = map_new(), .volumes = map_new(), .is_sharing = true };
    return h;
}

struct fake_host *fake_host_free(struct fake_host *h)
{
    if (!h)
        return NULL;
    for (struct map_iter it = map_iter(h->boxes); map_next(&it);)
        box_drop(h, it.value);
    for (struct script *s = h->scripts, *next; s; s = next) {
        next = s->next;
        free(s);
    }
    map_free(h->boxes);
    map_free(h->volumes);
    free(h->complaint);
    free(h->dir);
    free(h->spare);
    free(h);
    return NULL;
}

void fake_script(struct fake_host *h, enum fake_op op, unsigned nth, struct fake_fate fate)
{
    struct script *s = xzalloc(sizeof(*s));
    *s = (struct script){ .next = h->scripts, .op = op, .left = nth, .fate = fate };
    h->scripts = s;
}

void fake_on_op(struct fake_host *h, fake_fate_fn *fn, void *arg)
{
    h->fate_fn = fn;
    h->fate_arg = arg;
}

void fake_share(struct fake_host *h, bool is_shared)
{
    h->is_sharing = is_shared;
}

void fake_reuse_addresses(struct fake_host *h)
{
    h->is_reusing = true;
}

static struct fake_fate fate_of(struct fake_host *h, enum fake_op op, const char *id)
{
    bool is_scripted = false;
    struct fake_fate fate = { .outcome = FAKE_DONE };
    h->n_calls[op]++;
    for (struct script **at = &h->scripts; *at;) {
        struct script *s = *at;
        if (s->op != op || --s->left > 0) {
            at = &s->next;
            continue;
        }
        is_scripted = true;
        fate = s->fate;
        *at = s->next;
        free(s);
    }
    return !is_scripted && h->fate_fn ? h->fate_fn(h->fate_arg, op, id) : fate;
}

static void notice_gone(struct box *box)
{
    struct call c = { .kind = CALL_NOTICE, .fn.notice = box->life.gone_fn, .arg = box->life.gone_arg, .box = box };
    if (STEAL(box->life.gone_fn))
        fake_post(box->f, &c, 0);
}

static void kill_box(struct fake_box *fb)
{
    fb->is_dead = true;
    if (!fb->handle)
        return;
    fb->handle->agent = fakeagent_free(fb->handle->agent);
    notice_gone(fb->handle);
}

int fake_kill_box(struct fake_host *h, const char *id, const char *console)
{
    struct fake_box *fb = map_get(h->boxes, id);
    if (!fb)
        return -ENOENT;
    free(fb->console);
    fb->console = xstrdup(console);
    kill_box(fb);
    return 0;
}

int fake_kill_agent(struct fake_host *h, const char *id)
{
    struct fake_box *fb = map_get(h->boxes, id);
    if (!fb || !fb->handle || !fb->handle->agent)
        return -ENOENT;
    fb->handle->agent = fakeagent_free(fb->handle->agent);
    return 0;
}

int fake_lose_box(struct fake_host *h, const char *id)
{
    struct fake_box *fb = map_get(h->boxes, id);
    if (!fb || fb->handle)
        return -ENOENT;
    box_drop(h, fb);
    return 0;
}

void fake_reboot(struct fake_host *h)
{
    assert(!h->driver);
    for (struct map_iter it = map_iter(h->boxes); map_next(&it);) {
        struct fake_box *fb = it.value;
        bool was_halted = fb->is_halted;
        box_halt(fb);
        fb->is_halted = was_halted;
        fb->is_dead = true;
    }
}

static struct fake_view view_of(const struct fake_box *fb)
{
    return (struct fake_view){ .id = fb->id,
                               .hostname = fb->hostname,
                               .is_dead = fb->is_dead,
                               .is_paused = fb->is_paused,
                               .is_halted = fb->is_halted,
                               .is_connected = fb->handle,
                               .memory_mb = fb->memory_mb,
                               .cpu_milli = fb->cpu_milli,
                               .pids_max = fb->pids_max,
                               .disk_mb = fb->disk_mb,
                               .n_volumes = map_count(fb->volumes),
                               .n_networks = map_count(fb->networks),
                               .leftover = fb->leftover,
                               .n_running =
                                   fb->handle && fb->handle->agent ? fakeagent_running(fb->handle->agent) : 0 };
}

void fake_each(struct fake_host *h, fake_view_fn *fn, void *arg)
{
    for (struct map_iter it = map_iter(h->boxes); map_next(&it);) {
        struct fake_view v = view_of(it.value);
        fn(arg, &v);
    }
}

bool fake_find(struct fake_host *h, const char *id, struct fake_view *ret)
{
    const struct fake_box *fb = map_get(h->boxes, id);
    if (fb)
        *ret = view_of(fb);
    return fb;
}

const char *fake_file(struct fake_host *h, const char *id, const char *path, size_t *ret_len)
{
    const struct fake_box *fb = map_get(h->boxes, id);
    const struct buf *b = fb ? map_get(fb->files, path) : NULL;
    if (b && ret_len)
        *ret_len = b->len;
    return b ? buf_text(b) : NULL;
}

const char *fake_mounted(struct fake_host *h, const char *id, const char *target)
{
    const struct fake_box *fb = map_get(h->boxes, id);
    return fb ? map_get(fb->volumes, target) : NULL;
}

uint32_t fake_address(struct fake_host *h, const char *id, const char *net_id)
{
    const struct fake_box *fb = map_get(h->boxes, id);
    return fb ? (uint32_t)(uintptr_t)map_get(fb->networks, net_id) : 0;
}

bool fake_has_volume(struct fake_host *h, const char *volume_id)
{
    return map_get(h->volumes, volume_id);
}

size_t fake_count_volumes(const struct fake_host *h)
{
    return map_count(h->volumes);
}

size_t fake_count_networks(const struct fake_host *h)
{
    return h->driver ? map_count(h->driver->networks) : 0;
}

size_t fake_count_open(const struct fake_host *h)
{
    size_t n = 0;
    for (const struct call *c = h->driver ? h->driver->calls : NULL; c; c = c->next)
        n++;
    return n;
}

unsigned fake_count_calls(const struct fake_host *h, enum fake_op op)
{
    return h->n_calls[op];
}

const char *fake_complaint(const struct fake_host *h)
{
    return h->complaint;
}

/* --- answers --- */

static void call_free(struct call *c)
{
    LIST_TAKE(c->f->calls, c);
    timer_free(c->timer);
    free(c->folder);
    free(c);
}

static void handle_free(struct box *box)
{
    for (struct call *c = box->f->calls, *next; c; c = next) {
        next = c->next;
        if (c->kind == CALL_NOTICE && c->box == box)
            call_free(c);
    }
    (void)fakeagent_free(box->agent);
    box->fb->handle = NULL;
    box->magic = 0;
    struct fake_host *h = box->f->host;
    struct box *old = h->is_reusing ? h->spare : box;
    if (h->is_reusing)
        h->spare = box;
    free(old);
}

static void close_fds(struct call *c)
{
    for (int i = 0; i < 2; i++)
        if (c->fds[i] >= 0)
            (void)close(c->fds[i]); /* nobody has them */
}

static void on_answer(void *arg)
{
    struct call *c = arg, now = *c;
    const struct err *err = c->err.code ? &c->err : NULL;
    LIST_TAKE(c->f->calls, c); /* before the callback: it may start another call, or free the driver */
    switch (c->kind) {
    case CALL_READY:
        c->fn.ready(c->arg, now.box, now.fds[0], err);
        break;
    case CALL_DONE:
        if (c->fn.done)
            c->fn.done(c->arg, err);
        break;
    case CALL_CAPTURE:
        c->fn.capture(c->arg, c->folder, c->size_bytes, err);
        break;
    case CALL_PROMOTE:
        c->fn.promote(c->arg, c->folder, c->size_bytes, c->is_shared, err);
        break;
    case CALL_EGRESS:
        c->fn.egress(c->arg, now.fds[0], now.fds[1], err);
        break;
    case CALL_NOTICE:
        c->fn.notice(c->arg);
        break;
    }
    timer_free(c->timer);
    free(c->folder);
    free(c);
}

void fake_post(struct fake *f, const struct call *what, int64_t delay_ms)
{
    struct call *c = xzalloc(sizeof(*c));
    *c = *what;
    c->f = f;
    if (c->kind != CALL_READY && c->kind != CALL_EGRESS)
        c->fds[0] = c->fds[1] = NO_FD;
    LIST_APPEND(f->calls, c);
    c->timer = timer_new(f->base.loop, delay_ms, 0, on_answer, c);
}

void fake_post_done(struct fake *f, const struct fake_fate *fate, const struct err *err, box_done_fn *fn, void *arg)
{
    struct call c = { .kind = CALL_DONE, .fn.done = fn, .arg = arg };
    if (err)
        c.err = *err;
    fake_post(f, &c, fate->delay_ms);
}

/* The helper process of a real driver, as the native one's launcher. */
static void lose_helper(struct fake *f)
{
    for (struct call *c = f->calls; c; c = c->next) {
        if (c->kind == CALL_NOTICE)
            continue;
        close_fds(c); /* takes back what it would have handed over */
        c->fds[0] = c->fds[1] = NO_FD;
        if (c->kind == CALL_READY && c->box) {
            struct fake_box *fb = c->box->fb;
            handle_free(c->box);
            if (c->is_kept)
                box_halt(fb); /* its processes are ended then */
            else if (!c->is_adopted)
                box_drop(c->f->host, fb); /* incomplete: a real driver removes it when its helper is restarted */
            c->box = NULL;
        }
        if (c->folder && !c->is_shared)
            (void)tree_remove(AT_FDCWD, c->folder, NULL); /* else a sweep removes it */
        (void)err_set(&c->err, ERR_INTERNAL, EPIPE, "the fake helper process ended");
        timer_set(c->timer, 0, 0);
    }
    for (struct map_iter it = map_iter(f->networks); map_next(&it);) {
        free(it.value);
        (void)map_remove(f->networks, it.key);
    }
    for (struct map_iter it = map_iter(f->host->boxes); map_next(&it);) {
        struct fake_box *fb = it.value;
        map_free(fb->networks);
        fb->networks = map_new();
    }
    struct call c = { .kind = CALL_NOTICE, .fn.notice = f->restart_fn, .arg = f->restart_arg };
    if (f->restart_fn)
        fake_post(f, &c, 0);
}

/* Whether the call is to be carried out; else *err is its answer. */
bool fake_begin(struct fake *f, enum fake_op op, const char *id, struct fake_fate *fate, struct err *err)
{
    *fate = fate_of(f->host, op, id);
    if (fate->outcome == FAKE_FAIL)
        (void)err_set(err, fate->code ? fate->code : ERR_INTERNAL, 0, "fake %s of %s failed as it was told to",
                      fake_op_name(op), id);
    return fate->outcome != FAKE_FAIL;
}

/* After the answer was posted. */
void fake_end(struct fake *f, struct fake_box *fb, const struct fake_fate *fate)
{
    if (fate->outcome == FAKE_LOSE)
        lose_helper(f);
    else if (fate->outcome == FAKE_DIE && fb)
        kill_box(fb);
}

/* --- captured files --- */

static int write_files(const char *folder, struct map *files, int64_t *ret_bytes)
{
    CLEANUP(free_p) char *path = xasprintf("%s/" FILES, folder);
    FILE *out = mkdir(folder, 0700) == 0 ? fopen(path, "we") : NULL;
    if (!out)
        return -errno;
    *ret_bytes = 0;
    for (struct map_iter it = map_iter(files); map_next(&it);) {
        const struct buf *b = it.value;
        fprintf(out, "%zu %zu\n%s", strlen(it.key), b->len, it.key);
        fwrite(buf_text(b), 1, b->len, out);
        *ret_bytes += (int64_t)b->len;
    }
    return fclose(out) == 0 ? 0 : -errno;
}

static bool read_files(const char *layer, struct map *files)
{
    CLEANUP(free_p) char *path = xasprintf("%s/" FILES, layer);
    FILE *in = fopen(path, "re");
    char name[4096], line[64], *rest;
    if (!in)
        return false;
    while (fgets(line, sizeof(line), in)) { /* lengths of name and data */
        size_t name_len = strtoul(line, &rest, 10), len = strtoul(rest, &rest, 10);
        if (*rest != '\n' || name_len >= sizeof(name) || len > FAKEAGENT_FILE_MAX)
            break;
        CLEANUP(free_p) char *data = xzalloc(len + 1);
        if (fread(name, 1, name_len, in) != name_len || fread(data, 1, len, in) != len)
            break;
        name[name_len] = '\0';
        fakeagent_put(files, name, data, len);
    }
    (void)fclose(in); /* only read */
    return true;
}

/* --- boxes --- */

static struct runtime_caps fake_caps(struct runtime *rt)
{
    struct runtime_caps caps = { .has_uid_range = true };
#define HAS(field, name) caps.field = true;
    RUNTIME_CAPS(HAS)
#undef HAS
    caps.can_hibernate = false;
    caps.can_capture = fake_of(rt)->host->dir;
    return caps;
}

static int connect_box(struct fake *f, struct fake_box *fb, struct call *c)
{
    struct box *box = f->host->spare ? STEAL(f->host->spare) : xzalloc(sizeof(*box));
    *box = (struct box){ .magic = FAKE_BOX_MAGIC, .f = f, .fb = fb };
    if (fakeagent_new(f->base.loop, fb->files, fb->hostname, sizeof(fb->hostname), &box->agent, &c->fds[0], &c->err) <
        0) {
        free(box);
        return -1;
    }
    if (fb->is_paused)
        fakeagent_freeze(box->agent, true);
    fb->handle = c->box = box;
    return 0;
}

static struct fake_box *box_new(struct fake_host *h, const char *id)
{
    struct fake_box *fb = xzalloc(sizeof(*fb));
    (void)snprintf(fb->id, sizeof(fb->id), "%s", id);
    fb->files = map_new();
    fb->volumes = map_new();
    fb->networks = map_new();
    map_set(h->boxes, fb->id, fb);
    return fb;
}

static void fake_create(struct runtime *rt, const struct box_plan *plan, box_ready_fn *fn, void *arg)
{
    struct fake *f = fake_of(rt);
    struct fake_fate fate;
    struct fake_box *fb = NULL;
    struct call c = { .kind = CALL_READY, .fn.ready = fn, .arg = arg, .fds = { NO_FD, NO_FD } };
    bool is_begun = fake_begin(f, FAKE_CREATE, plan->id, &fate, &c.err);
    if (is_begun && plan->kept) {
        fb = map_get(f->host->boxes, plan->id);
        c.is_kept = true;
        if (!fb)
            (void)err_set(&c.err, ERR_NOT_FOUND, 0, "the files of fake box %s are gone", plan->id);
        else if (fb->handle)
            fake_complain(f->host, "started while it runs", plan->id);
        is_begun = fb && !fb->handle;
        fb = is_begun ? fb : NULL;
    }
    if (is_begun) {
        if (!fb && map_get(f->host->boxes, plan->id))
            fake_complain(f->host, "created twice", plan->id);
        if (fb)
            box_halt(fb); /* ends what may still run of it */
        else
            fb = box_new(f->host, plan->id);
        fb->is_halted = fb->is_dead = false;
        (void)snprintf(fb->hostname, sizeof(fb->hostname), "%s", *plan->hostname ? plan->hostname : plan->id);
        fb->memory_mb = plan->memory_mb;
        fb->cpu_milli = plan->cpu_milli;
        fb->pids_max = plan->pids_max;
        fb->disk_mb = plan->disk_mb;
        for (size_t i = plan->n_layers; !plan->kept && i > 0 && !read_files(plan->layers[i - 1], fb->files); i--)
            ;
        if (connect_box(f, fb, &c) < 0 && plan->kept) {
            box_halt(fb);
            fb = NULL;
        } else if (!fb->handle) {
            box_drop(f->host, fb);
            fb = NULL;
        }
    }
    fake_post(f, &c, fate.delay_ms);
    fake_end(f, fb, &fate);
}

static void fake_adopt(struct runtime *rt, const json_t *record, bool is_paused, box_ready_fn *fn, void *arg)
{
    struct fake *f = fake_of(rt);
    const char *id = json_get_str(record, "name", "");
    struct fake_box *fb = map_get(f->host->boxes, id);
    struct fake_fate fate;
    struct call c = { .kind = CALL_READY, .fn.ready = fn, .arg = arg, .fds = { NO_FD, NO_FD }, .is_adopted = true };
    bool is_begun = fake_begin(f, FAKE_ADOPT, id, &fate, &c.err);
    if (is_begun && (!fb || fb->is_dead || fb->is_halted))
        (void)err_set(&c.err, ERR_GONE, 0, "fake box %s is not there any more", id);
    else if (is_begun && fb->handle)
        fake_complain(f->host, "adopted twice", id);
    else if (is_begun) {
        fb->is_paused = is_paused;
        (void)connect_box(f, fb, &c); /* c.err tells */
    }
    fake_post(f, &c, fate.delay_ms);
    fake_end(f, c.box ? fb : NULL, &fate);
}

static json_t *fake_save(struct box *box)
{
    assert(box->magic == FAKE_BOX_MAGIC);
    return json_pack("{s:s}", "name", box->fb->id);
}

static void fake_on_gone(struct box *box, loop_fn *fn, void *arg)
{
    assert(box->magic == FAKE_BOX_MAGIC);
    box_life_on_gone(box, fn, arg);
    if (box->fb->is_dead)
        notice_gone(box);
}

static char *fake_last_words(struct box *box)
{
    assert(box->magic == FAKE_BOX_MAGIC);
    return xstrdup(box->fb->console);
}

static void fake_destroy(struct box *box, box_done_fn *fn, void *arg)
{
    assert(box->magic == FAKE_BOX_MAGIC);
    struct fake *f = box->f;
    struct fake_box *fb = box->fb;
    struct fake_fate fate;
    struct err err = ERR_INIT;
    bool is_begun = fake_begin(f, FAKE_DESTROY, fb->id, &fate, &err);
    handle_free(box);
    if (is_begun)
        box_drop(f->host, fb); /* else it stays until a sweep */
    else
        fb->is_dead = true;
    fake_post_done(f, &fate, err.code ? &err : NULL, fn, arg);
    fake_end(f, NULL, &fate);
}

static void fake_halt(struct box *box, box_done_fn *fn, void *arg)
{
    assert(box->magic == FAKE_BOX_MAGIC);
    struct fake *f = box->f;
    struct fake_box *fb = box->fb;
    struct fake_fate fate;
    struct err err = ERR_INIT;
    bool is_begun = fake_begin(f, FAKE_HALT, fb->id, &fate, &err);
    handle_free(box);
    if (is_begun)
        box_halt(fb);
    fake_post_done(f, &fate, err.code ? &err : NULL, fn, arg);
    fake_end(f, NULL, &fate);
}

static void fake_retain(struct runtime *rt, const json_t *record, box_done_fn *fn, void *arg)
{
    struct fake *f = fake_of(rt);
    const char *id = json_get_str(record, "name", "");
    struct fake_box *fb = map_get(f->host->boxes, id);
    struct fake_fate fate;
    struct err err = ERR_INIT;
    bool is_begun = fake_begin(f, FAKE_RETAIN, id, &fate, &err);
    if (is_begun && !fb)
        (void)err_set(&err, ERR_NOT_FOUND, 0, "the files of fake box %s are gone", id);
    else if (is_begun && fb->handle)
        fake_complain(f->host, "retained while it runs", id);
    else if (is_begun)
        box_halt(fb);
    fake_post_done(f, &fate, err.code ? &err : NULL, fn, arg);
    fake_end(f, NULL, &fate);
}

static void fake_discard(struct runtime *rt, const json_t *record, box_done_fn *fn, void *arg)
{
    struct fake *f = fake_of(rt);
    const char *id = json_get_str(record, "name", "");
    struct fake_box *fb = map_get(f->host->boxes, id);
    struct fake_fate fate;
    struct err err = ERR_INIT;
    bool is_begun = fake_begin(f, FAKE_DISCARD, id, &fate, &err);
    if (is_begun && fb && fb->handle)
        fake_complain(f->host, "discarded while it runs", id);
    else if (is_begun && fb)
        box_drop(f->host, fb); /* else it stays until a sweep */
    fake_post_done(f, &fate, err.code ? &err : NULL, fn, arg);
    fake_end(f, NULL, &fate);
}

static void fake_forget(struct box *box)
{
    assert(box->magic == FAKE_BOX_MAGIC);
    handle_free(box);
}

/* Starts only when the box is alive. */
bool fake_begin_alive(struct box *box, enum fake_op op, struct fake_fate *fate, struct err *err)
{
    assert(box->magic == FAKE_BOX_MAGIC);
    bool is_begun = fake_begin(box->f, op, box->fb->id, fate, err);
    if (is_begun && box->fb->is_dead)
        (void)err_set(err, ERR_GONE, 0, "fake box %s is dead", box->fb->id);
    return is_begun && !box->fb->is_dead;
}

static void set_paused(struct box *box, bool is_paused, box_done_fn *fn, void *arg)
{
    struct fake_fate fate;
    struct err err = ERR_INIT;
    if (fake_begin_alive(box, is_paused ? FAKE_PAUSE : FAKE_RESUME, &fate, &err)) {
        struct call late = {
            .kind = CALL_NOTICE, .fn.notice = box->life.late_fn, .arg = box->life.late_arg, .box = box
        };
        if (box->fb->is_paused && !is_paused && box->life.late_fn)
            fake_post(box->f, &late, fate.delay_ms);
        box->fb->is_paused = is_paused;
        if (box->agent)
            fakeagent_freeze(box->agent, is_paused);
    }
    fake_post_done(box->f, &fate, err.code ? &err : NULL, fn, arg);
    fake_end(box->f, box->fb, &fate);
}

static void fake_pause(struct box *box, box_done_fn *fn, void *arg)
{
    set_paused(box, true, fn, arg);
}

static void fake_resume(struct box *box, box_done_fn *fn, void *arg)
{
    set_paused(box, false, fn, arg);
}

static int fake_stats(struct box *box, struct box_stats *ret, struct err *err)
{
    assert(box->magic == FAKE_BOX_MAGIC);
    if (box->fb->is_dead)
        return err_set(err, ERR_GONE, 0, "fake box %s is dead", box->fb->id);
    *ret = (struct box_stats){ .memory_bytes = 16 * MIB,
                               .memory_limit_bytes = (uint64_t)box->fb->memory_mb * MIB,
                               .pids = 1,
                               .disk_bytes = box->fb->disk_bytes };
    if (box->agent)
        ret->pids += (uint32_t)fakeagent_running(box->agent);
    return 0;
}

static void fake_set_limits(struct box *box, uint32_t memory_mb, uint32_t cpu_milli, uint32_t pids_max, box_done_fn *fn,
                            void *arg)
{
    struct fake_fate fate;
    struct err err = ERR_INIT;
    if (fake_begin_alive(box, FAKE_SET_LIMITS, &fate, &err)) {
        box->fb->memory_mb = memory_mb ? memory_mb : box->fb->memory_mb;
        box->fb->cpu_milli = cpu_milli ? cpu_milli : box->fb->cpu_milli;
        box->fb->pids_max = pids_max ? pids_max : box->fb->pids_max;
    }
    fake_post_done(box->f, &fate, err.code ? &err : NULL, fn, arg);
    fake_end(box->f, box->fb, &fate);
}

static void fake_grow_disk(struct box *box, uint32_t disk_mb, uint32_t inodes, box_done_fn *fn, void *arg)
{
    struct fake_fate fate;
    struct err err = ERR_INIT;
    (void)inodes;
    if (fake_begin_alive(box, FAKE_GROW_DISK, &fate, &err))
        box->fb->disk_mb = disk_mb;
    fake_post_done(box->f, &fate, err.code ? &err : NULL, fn, arg);
    fake_end(box->f, box->fb, &fate);
}

static void fake_measure(struct box *box, box_done_fn *fn, void *arg)
{
    struct fake_fate fate;
    struct err err = ERR_INIT;
    if (fake_begin_alive(box, FAKE_MEASURE, &fate, &err)) {
        box->fb->disk_bytes = 0;
        for (struct map_iter it = map_iter(box->fb->files); map_next(&it);)
            box->fb->disk_bytes += ((struct buf *)it.value)->len;
    }
    fake_post_done(box->f, &fate, err.code ? &err : NULL, fn, arg);
    fake_end(box->f, box->fb, &fate);
}

static void capture(struct box *box, struct call *c)
{
    struct fake *f = box->f;
    struct fake_fate fate;
    if (fake_begin_alive(box, FAKE_CAPTURE, &fate, &c->err)) {
        if (box->fb->leftover && access(box->fb->leftover, F_OK) == 0)
            fake_complain(f->host, "captured before the last capture was taken", box->fb->id);
        c->folder = xasprintf("%s/capture-%u", f->host->dir, ++f->host->n_captured);
        int r = write_files(c->folder, box->fb->files, &c->size_bytes);
        if (r < 0)
            (void)err_sys(&c->err, r, "write %s", c->folder);
        c->is_shared = c->kind == CALL_PROMOTE && r == 0 && f->host->is_sharing;
        if (c->is_shared) {
            free(box->fb->leftover);
            box->fb->leftover = xstrdup(c->folder);
        }
    }
    fake_post(f, c, fate.delay_ms);
    fake_end(f, box->fb, &fate);
}

static void fake_capture(struct box *box, box_capture_fn *fn, void *arg)
{
    struct call c = { .kind = CALL_CAPTURE, .fn.capture = fn, .arg = arg };
    capture(box, &c);
}

static void fake_promote(struct box *box, const char *const *layers, size_t n_layers, box_promote_fn *fn, void *arg)
{
    struct call c = { .kind = CALL_PROMOTE, .fn.promote = fn, .arg = arg };
    (void)layers;
    (void)n_layers;
    capture(box, &c);
}

static const char *fake_leftover(struct box *box)
{
    assert(box->magic == FAKE_BOX_MAGIC);
    return box->fb->leftover && access(box->fb->leftover, F_OK) == 0 ? box->fb->leftover : NULL;
}

static void fake_taken(struct box *box)
{
    assert(box->magic == FAKE_BOX_MAGIC);
    free(STEAL(box->fb->leftover));
}

/* Captures that were not collected. */
static void sweep_folders(const struct fake_host *h)
{
    DIR *dir = h->dir ? opendir(h->dir) : NULL;
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        CLEANUP(free_p) char *path = xasprintf("%s/%s", h->dir, e->d_name);
        bool is_leftover = false;
        for (struct map_iter it = map_iter(h->boxes); map_next(&it);) {
            const struct fake_box *fb = it.value;
            is_leftover |= fb->leftover && strcmp(fb->leftover, path) == 0;
        }
        if (strncmp(e->d_name, "capture-", 8) == 0 && !is_leftover)
            (void)tree_remove(AT_FDCWD, path, NULL); /* what stays is swept at the next start */
    }
    if (dir)
        (void)closedir(dir); /* only read */
}

static void fake_sweep(struct runtime *rt, const char *const *kept_ids, size_t n, box_done_fn *fn, void *arg)
{
    struct fake *f = fake_of(rt);
    struct fake_fate fate;
    struct err err = ERR_INIT;
    if (fake_begin(f, FAKE_SWEEP, "the host", &fate, &err)) {
        for (struct map_iter it = map_iter(f->host->boxes); map_next(&it);) {
            struct fake_box *fb = it.value;
            bool is_kept = fb->handle; /* this driver made or adopted it */
            for (size_t i = 0; i < n && !is_kept; i++)
                is_kept = strcmp(kept_ids[i], fb->id) == 0;
            if (!is_kept)
                box_drop(f->host, fb);
            else if (!fb->handle)
                box_halt(fb);
        }
        sweep_folders(f->host);
    }
    fake_post_done(f, &fate, err.code ? &err : NULL, fn, arg);
    fake_end(f, NULL, &fate);
}

static void fake_on_restart(struct runtime *rt, loop_fn *fn, void *arg)
{
    struct fake *f = fake_of(rt);
    f->restart_fn = fn;
    f->restart_arg = arg;
}

/* --- begin and end --- */

static struct runtime *fake_free(struct runtime *rt)
{
    struct fake *f = fake_of(rt);
    while (f->calls) {
        struct call *c = f->calls;
        close_fds(c);
        call_free(c);
    }
    for (struct map_iter it = map_iter(f->host->boxes); map_next(&it);) {
        struct fake_box *fb = it.value;
        if (fb->handle)
            handle_free(fb->handle);
        map_free(fb->networks);
        fb->networks = map_new();
    }
    for (struct map_iter it = map_iter(f->networks); map_next(&it);)
        free(it.value);
    map_free(f->networks);
    f->host->driver = NULL;
    if (f->owns_host)
        (void)fake_host_free(f->host);
    free(f);
    return NULL;
}

static const struct runtime_lack fake_lacks[] = { { "snapshot", "its sandboxes have no files on disk" },
                                                  { "hibernate", "its sandboxes have no memory" },
                                                  { 0 } };

/* images, saves, without_agent: it runs the layers of our store and always has an agent, which is also told its name.
 */
static const struct runtime_ops fake_ops = {
    .name = "fake",
    .lacks = fake_lacks,
    .caps = fake_caps,
    .create = fake_create,
    .adopt = fake_adopt,
    .save = fake_save,
    .on_gone = fake_on_gone,
    .on_late = box_life_on_late,
    .console_text = fake_last_words,
    .destroy = fake_destroy,
    .halt = fake_halt,
    .retain = fake_retain,
    .discard = fake_discard,
    .forget = fake_forget,
    .pause = fake_pause,
    .resume = fake_resume,
    .stats = fake_stats,
    .set_limits = fake_set_limits,
    .grow_disk = fake_grow_disk,
    .measure = fake_measure,
    .capture = fake_capture,
    .promote = fake_promote,
    .leftover = fake_leftover,
    .taken = fake_taken,
    .sweep = fake_sweep,
    .on_restart = fake_on_restart,
    .mount_volume = fakenet_mount,
    .unmount_volume = fakenet_unmount,
    .remove_volume = fakenet_remove_volume,
    .net_create = fakenet_create,
    .net_delete = fakenet_delete,
    .net_attach = fakenet_attach,
    .net_detach = fakenet_detach,
    .open_egress = fakenet_open_egress,
    .free = fake_free,
};

struct runtime *fake_new(struct loop *l, struct fake_host *h, bool owns_host)
{
    assert(!h->driver);
    struct fake *f = xzalloc(sizeof(*f));
    *f = (struct fake){ .base = { .ops = &fake_ops, .loop = l }, .host = h, .owns_host = owns_host };
    f->networks = map_new();
    h->driver = f;
    return &f->base;
}
