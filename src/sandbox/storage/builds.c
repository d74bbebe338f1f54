/* Theory of operation. A struct build has three descriptors to its process: a pipe for the context, a socket over which
 * the process asks (talk), and the call's own, whose end is the build's end (call). It asks for one thing at a time:
 *
 * - find: an image is resolved for the tenant, by the rules of a create (allow-list, policy), or pulled first.
 * - run: a sandbox is made from layers (step.box), the command runs in it, its files are captured for an owner whose
 * pin holds them until the process has stored them ("taken"), and the sandbox is killed.
 *
 * A build counts against the limits until its process has ended: also after build_drop(), which closes pipe and talk,
 * tells the process to stop, and ends the command and its sandbox. What is under way then (a create, a capture, a pull)
 * holds a reference, and cleans up when it is over. */
#include "sandbox/storage/builds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ident.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/log.h"
#include "base/strlist.h"
#include "base/utf8.h"
#include "image/image_policy.h"
#include "image/preset.h"
#include "os/seqsock.h"
#include "sandbox/exec/command.h"
#include "sandbox/lifecycle/limits.h"
#include "sandbox/storage/capture.h"
#include "sandbox/storage/image_allowlist.h"
#include "sandbox/storage/image_source.h"
#include "sandbox/storage/pins.h"
#include "sandbox/storage/pulls.h"

#define MESSAGES_A_TURN 8
#define MESSAGES_LEFT   1000          /* more than a socket holds */
#define PURPOSE         "image build" /* metadata of the sandboxes of steps */

struct step {
    struct sandbox *box; /* referenced */
    struct command *command;
    json_t *run; /* what was asked */
    char owner[IDENT_MAX];
    bool is_captured; /* owner has a pin */
    char tail[2][4];  /* the first bytes of an incomplete UTF-8 character, for each stream */
    size_t tail_len[2];
    size_t owed; /* bytes to credit once the reader has read */
};

struct build {
    struct build *next;
    struct builds *all;
    unsigned refs; /* the process's own, and one for each thing under way */
    struct build_events ev;
    void *arg;
    char *name, *tenant, *view;
    struct tenant_by by;
    bool has_by, has_network, is_dropped;
    int64_t memory_mb;
    int pipe_fd, talk_fd, call_fd;
    struct watch *pipe_watch, *talk_watch, *call_watch;
    struct pulls_wait *pull;
    struct step step;
};

struct builds {
    struct manager *manager;
    struct build *list;
    unsigned n;
};

struct builds *builds_new(struct manager *m)
{
    struct builds *all = xzalloc(sizeof(*all));
    all->manager = m;
    return all;
}

/* --- ends --- */

static void close_watched(struct watch **w, int *fd)
{
    *w = watch_free(*w);
    close_fd_p(fd);
    *fd = NO_FD;
}

static void step_end(struct build *b)
{
    struct step *s = &b->step;
    struct manager *m = b->all->manager;
    if (s->command)
        command_cancel(s->command);
    if (s->is_captured)
        pins_drop(m, s->owner);
    if (s->box && !s->box->is_gone && manager_find(m, s->box->id, NULL) == s->box)
        (void)manager_kill(m, s->box, "sandbox.killed", NULL); /* one that cannot be removed now expires */
    if (s->box)
        sandbox_unref(s->box);
    json_decref(s->run);
    *s = (struct step){ 0 };
}

static void build_unref(struct build *b)
{
    if (--b->refs)
        return;
    step_end(b);
    LIST_TAKE(b->all->list, b);
    b->all->n--;
    free(b->name);
    free(b->tenant);
    free(b->view);
    free(b);
}

/* The process has ended, or is not waited for. */
static void build_close(struct build *b)
{
    close_watched(&b->pipe_watch, &b->pipe_fd);
    close_watched(&b->talk_watch, &b->talk_fd);
    close_watched(&b->call_watch, &b->call_fd);
    build_unref(b);
}

struct builds *builds_free(struct builds *all)
{
    if (!all)
        return NULL;
    while (all->list) {
        struct step *s = &all->list->step;
        all->list->refs = 1; /* what was under way does not come back: the manager goes, and its sandboxes before it */
        if (s->box)
            sandbox_unref(s->box);
        *s = (struct step){ .run = s->run };
        build_close(all->list);
    }
    free(all);
    return NULL;
}

void build_drop(struct build *b)
{
    b->is_dropped = true;
    (void)send(b->call_fd, "s", 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* one that has exited need not be told */
    close_watched(&b->pipe_watch, &b->pipe_fd);
    close_watched(&b->talk_watch, &b->talk_fd);
    if (b->pull) {
        pulls_leave(STEAL(b->pull));
        build_unref(b);
    }
    if (b->step.command)
        step_end(b); /* a create or a capture under way does it itself */
}

/* --- answers --- */

static void answer(struct build *b, json_t *message)
{
    size_t len = 0;
    CLEANUP(free_p) char *text = json_write(message, &len);
    struct iovec parts[2] = { { text, len }, { NULL, 0 } };
    json_decref(message);
    if (b->talk_fd >= 0 && text)
        (void)seqsock_send(b->talk_fd, parts, NULL, 0); /* one that has exited: call tells */
}

static void answer_error(struct build *b, const struct err *err)
{
    answer(b,
           json_pack("{s:{s:i, s:o}}", "error", "code", (int)err->code, "msg", json_text(err->msg, strlen(err->msg))));
}

static bool tell(struct build *b, json_t *event)
{
    if (!b->is_dropped)
        return b->ev.on_event(b->arg, event);
    json_decref(event);
    return true;
}

/* --- find --- */

static void on_progress(void *arg, const struct pulls_progress *at)
{
    (void)tell(arg,
               json_pack("{s:s, s:I, s:I, s:i, s:i}", "type", "progress", "done", (json_int_t)at->done_bytes, "total",
                         (json_int_t)at->total_bytes, "layersDone", at->layers_done, "layers", at->layers));
}

static void on_pulled(void *arg, const struct image *image, const struct err *err)
{
    struct build *b = arg;
    b->pull = NULL;
    if (image)
        answer(b, json_pack("{s:b}", "found", 1));
    else
        answer_error(b, err);
    build_unref(b);
}

static const struct tenant_by *by_of(const struct build *b)
{
    return b->has_by ? &b->by : NULL;
}

static void find_image(struct build *b, const char *name)
{
    struct manager *m = b->all->manager;
    struct err err = ERR_INIT;
    CLEANUP(image_free_p) struct image *image = NULL;
    const struct image_scope scope = image_source_scope(m, by_of(b));
    const struct image_scope own = { scope.tenant, scope.has_shared, false };
    int r = image_name_check(name, &err);
    if (r == 0)
        r = image_allowlist_check(m->settings->allowed_images, name, &err);
    if (r == 0)
        r = image_resolve_for(m->images, &own, name, &image, &err);
    const char *wanted = preset_pull_name(name);
    if (r == -ENOENT && wanted && pulls_is_allowed(m->pulls)) {
        const struct pulls_how how = { .progress = on_progress,
                                       .by = by_of(b),
                                       .runtime = manager_runtime(m, "native", NULL) };
        struct err why = ERR_INIT;
        b->refs++;
        r = pulls_start(m->pulls, wanted, &how, on_pulled, b, &b->pull, &why);
        if (r == 0)
            return;
        build_unref(b);
        err = why;
    }
    if (r < 0)
        answer_error(b, &err);
    else
        answer(b, json_pack("{s:b}", "found", 1));
}

/* --- run --- */

static void run_fail(struct build *b, const struct err *err)
{
    step_end(b);
    answer_error(b, err);
}

static void on_captured(void *arg, const struct image *image, const struct err *err)
{
    struct build *b = arg;
    b->step.is_captured = image;
    if (b->is_dropped) {
        step_end(b);
    } else if (!image) {
        run_fail(b, err);
    } else {
        answer(b, json_pack("{s:s}", "owner", b->step.owner));
    }
    build_unref(b);
}

static void send_output(struct build *b, int i, const char *data, size_t len)
{
    bool has_room = tell(b, json_pack("{s:s, s:o, s:I}", "type", i ? "stderr" : "stdout", "data", json_text(data, len),
                                      "timestamp", (json_int_t)clock_wall_ms()));
    if (has_room)
        build_drained(b);
}

void build_drained(struct build *b)
{
    if (b->step.command && b->step.owed)
        command_credit(b->step.command, b->step.owed);
    b->step.owed = 0;
}

static void on_output(void *arg, int fd, const char *data, size_t len)
{
    struct build *b = arg;
    struct step *s = &b->step;
    int i = fd == 2;
    CLEANUP(buf_done) struct buf piece = BUF_INIT(len + sizeof(s->tail[0]));
    s->owed += len;
    if (buf_add(&piece, s->tail[i], s->tail_len[i]) < 0 || buf_add(&piece, data, len) < 0)
        return;
    size_t whole = utf8_whole(piece.data, piece.len);
    s->tail_len[i] = piece.len - whole;
    memcpy(s->tail[i], piece.data + whole, s->tail_len[i]);
    if (whole)
        send_output(b, i, piece.data, whole);
    else
        build_drained(b);
}

static void on_command_done(void *arg, const struct command_result *res, const struct err *err)
{
    struct build *b = arg;
    struct step *s = &b->step;
    struct err why = ERR_INIT;
    s->command = NULL;
    for (int i = 0; i < 2; i++)
        if (s->tail_len[i])
            send_output(b, i, s->tail[i], s->tail_len[i]);
    if (!res)
        why = *err;
    else if (res->exit.is_timeout)
        (void)command_timeout_err(res, &why);
    else if (command_was_oom(s->box, &res->exit))
        (void)err_set(&why, ERR_INVALID, 0, "the command was out of memory: raise \"memory\" of the build");
    else if (res->exit.code != 0)
        (void)err_set(&why, ERR_INVALID, 0, "the command exited with code %d", res->exit.code);
    if (why.code) {
        run_fail(b, &why);
        return;
    }
    ident_new("build", s->owner);
    b->refs++;
    capture_run(s->box, s->owner, on_captured, b);
}

static void on_created(void *arg, struct sandbox *box, const struct err *err)
{
    static const struct command_events events = { .on_output = on_output, .on_done = on_command_done };
    struct build *b = arg;
    struct step *s = &b->step;
    struct err why = err ? *err : (struct err)ERR_INIT;
    s->box = box ? sandbox_ref(box) : NULL;
    if (b->is_dropped) {
        step_end(b);
        build_unref(b);
        return;
    }
    CLEANUP(strlist_free_p) char **env = strlist_from_json(json_get(s->run, "env"));
    const char *user = json_get_str(s->run, "user", "");
    const struct command_plan plan = { .command = json_get(s->run, "command"),
                                       .cwd = json_get_str(s->run, "cwd", "/"),
                                       .user = *user ? user : NULL,
                                       .env = (const char *const *)env };
    int r = box ? command_start(box, &plan, &events, b, &s->command, &why) : -EIO;
    if (r < 0)
        run_fail(b, &why);
    build_unref(b);
}

static void run_step(struct build *b, json_t *run)
{
    struct manager *m = b->all->manager;
    struct err err = ERR_INIT;
    CLEANUP(image_free_p) struct image *image = NULL;
    struct runtime *rt = manager_runtime(m, "native", &err);
    if (b->step.run || !rt ||
        image_of_layers(m->images, json_get(run, "layers"), json_get_bool(run, "isHost", false), &image, &err) < 0) {
        answer_error(b, &err);
        return;
    }
    image->name = xstrdup(b->name);
    image->resolved = xstrdup(b->name);
    image->id = xstrdup("");
    image->user = xstrdup(json_get_str(run, "user", ""));
    image->workdir = xstrdup("/");
    b->step.run = json_incref(run);
    SANDBOX_CONFIG_OWNED config = { .has_network = b->has_network,
                                    .memory_mb = b->memory_mb,
                                    .timeout_s = m->settings->max_cmd_timeout_s + LIMIT_MIN(TIMEOUT_S),
                                    .given = SANDBOX_CONFIG_NETWORK | SANDBOX_CONFIG_TIMEOUT |
                                             (b->memory_mb ? SANDBOX_CONFIG_MEMORY : 0) };
    sandbox_config_set_text(&config, SANDBOX_CONFIG_IMAGE, b->name);
    sandbox_config_set_text(&config, SANDBOX_CONFIG_WORKDIR, "/");
    sandbox_config_set_map(&config, SANDBOX_CONFIG_METADATA, json_pack("{s:s}", "purpose", PURPOSE));
    const struct create_plan plan = {
        .config = &config, .image = image, .runtime = rt, .by = by_of(b), .is_unlisted = true
    };
    b->refs++;
    manager_create(m, &plan, on_created, b);
}

/* --- what the process says --- */

static void take_message(struct build *b, const char *text, size_t len)
{
    JSON_OWNED message = NULL;
    json_t *run;
    const char *find;
    if (json_read(text, len, &message, NULL) < 0)
        return;
    if (json_get(message, "event"))
        (void)tell(b, json_incref(json_get(message, "event")));
    else if ((run = json_get(message, "run")) != NULL)
        run_step(b, run);
    else if ((find = json_get_str(message, "find", NULL)) != NULL && !b->pull)
        find_image(b, find);
    else if (json_get(message, "taken"))
        step_end(b);
}

/* Takes up to n messages that are there. */
static void take_messages(struct build *b, int max)
{
    CLEANUP(free_p) char *text = xrealloc(NULL, IMAGE_BUILD_MESSAGE);
    b->refs++; /* a message may end it */
    for (int i = 0; i < max && b->talk_fd >= 0; i++) {
        ssize_t n = recv(b->talk_fd, text, IMAGE_BUILD_MESSAGE, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0)
            close_watched(&b->talk_watch, &b->talk_fd); /* it has ended: call says how */
        else
            take_message(b, text, (size_t)n);
    }
    build_unref(b);
}

static void on_talk(void *arg, int events)
{
    (void)events;
    take_messages(arg, MESSAGES_A_TURN);
}

static void on_call(void *arg, int events)
{
    struct build *b = arg;
    struct manager *m = b->all->manager;
    struct err err = ERR_INIT;
    CLEANUP(image_free_p) struct image *image = NULL;
    (void)events;
    int r = image_build_end(b->call_fd, &err);
    if (r == 1)
        return;
    take_messages(b, MESSAGES_LEFT); /* what it said before */
    if (r == 0) {
        const struct image_scope scope = image_source_scope(m, by_of(b));
        const struct image_scope own = { scope.tenant, scope.has_shared, false };
        r = image_resolve_for(m->images, &own, b->name, &image, &err);
    }
    log_event(r < 0 ? LOG_WARN : LOG_INFO, "image.build", "image", b->name, "error", r < 0 ? err.msg : "none", NULL);
    bool is_told = b->is_dropped;
    b->is_dropped = true; /* no more callbacks but the next */
    if (b->step.command)
        step_end(b);
    if (!is_told)
        b->ev.on_done(b->arg, image, image ? NULL : &err);
    if (b->pull) {
        pulls_leave(STEAL(b->pull));
        build_unref(b);
    }
    build_close(b);
}

/* --- the context --- */

size_t build_send(struct build *b, const char *data, size_t len)
{
    size_t done = 0;
    while (b->pipe_fd >= 0 && done < len) {
        ssize_t n = write(b->pipe_fd, data + done, len - done);
        if (n >= 0) {
            done += (size_t)n;
        } else if (errno == EAGAIN) {
            watch_set(b->pipe_watch, LOOP_WRITE);
            return done;
        } else if (errno != EINTR) {
            close_watched(&b->pipe_watch, &b->pipe_fd); /* it does not read on: its answer says why */
        }
    }
    return len;
}

void build_send_end(struct build *b)
{
    close_watched(&b->pipe_watch, &b->pipe_fd);
}

static void on_pipe(void *arg, int events)
{
    struct build *b = arg;
    (void)events;
    watch_set(b->pipe_watch, 0);
    b->ev.on_room(b->arg);
}

/* --- start --- */

static int check_room(const struct builds *all, const struct build_plan *plan, struct err *err)
{
    struct manager *m = all->manager;
    const char *tenant = image_source_owner(plan->by);
    unsigned max = (unsigned)m->settings->max_builds, own = 0, share = (max + 1) / 2;
    for (const struct build *b = all->list; b; b = b->next)
        own += strcmp(b->tenant, tenant) == 0;
    if (max == 0)
        return err_set(err, ERR_FORBIDDEN, 0, "building is off (III_MAX_BUILDS=0)");
    if (all->n >= max)
        return err_set(err, ERR_CAPACITY, 0, "limit of %u concurrent builds reached (III_MAX_BUILDS): try again later",
                       max);
    if (*tenant && own >= share)
        return err_set(err, ERR_CAPACITY, 0,
                       "limit of %u concurrent builds of one tenant reached (half of III_MAX_BUILDS): try again later",
                       share);
    if (!manager_runtime(m, "native", NULL))
        return err_set(err, ERR_UNSUPPORTED, 0,
                       "images are built on the native backend, which this server does not have: run `docker build` or "
                       "`iii image build` elsewhere, and pull or import the image");
    if (image_policy_rule(m->image_policy, plan->name))
        return err_set(err, ERR_FORBIDDEN, 0,
                       "the policy wants a signature for %.100s, and what is built has none: choose another name",
                       plan->name);
    int r = tenant_check_disk(m, plan->by, err);
    return r < 0 ? r : limits_check_reserve(image_store_free_mb(m->images), m->settings, err);
}

static json_t *request_of(struct manager *m, const struct build_plan *plan)
{
    const struct image_scope scope = image_source_scope(m, plan->by);
    const struct quota *quota = plan->by ? &plan->by->quota : NULL;
    int64_t left = -1;
    if (quota && quota->set & 1u << QUOTA_DISK_MB) {
        double mb = quota->max[QUOTA_DISK_MB] - tenant_usage(m, plan->by->tenant, QUOTA_DISK_MB);
        left = mb > 0 ? (int64_t)mb << 20 : 0;
    }
    json_t *args = json_array();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)plan->args, key, value)(void)
        json_array_append_new(args, json_sprintf("%s=%s", key, json_string_value(value)));
    return json_pack("{s:s, s:s, s:s, s:b, s:s*, s:s*, s:o, s:b, s:b, s:I}", "op", "build", "name", plan->name,
                     "tenant", scope.tenant, "hasShared", scope.has_shared, "dockerfile", plan->dockerfile, "target",
                     plan->target, "args", args, "hasCache", plan->has_cache, "hasNetwork", plan->has_network, "left",
                     (json_int_t)left);
}

static int open_all(struct build *b, const struct build_plan *plan, struct err *err)
{
    struct manager *m = b->all->manager;
    int ends[2], pair[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(err, -errno, "make a pipe for the context");
    b->pipe_fd = ends[1];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        (void)close(ends[0]);
        return err_sys(err, -errno, "socket pair for a build");
    }
    b->talk_fd = pair[0];
    const int theirs[2] = { ends[0], pair[1] };
    int r = fcntl(b->pipe_fd, F_SETFL, O_NONBLOCK) < 0
                ? err_sys(err, -errno, "make a pipe for the context")
                : image_build_begin(m->images, request_of(m, plan), theirs, &b->call_fd, err);
    (void)close(ends[0]);
    (void)close(pair[1]);
    if (r == 0 && (watch_new(m->loop, b->pipe_fd, 0, on_pipe, b, &b->pipe_watch) < 0 ||
                   watch_new(m->loop, b->talk_fd, LOOP_READ, on_talk, b, &b->talk_watch) < 0 ||
                   watch_new(m->loop, b->call_fd, LOOP_READ, on_call, b, &b->call_watch) < 0))
        r = err_sys(err, -ENOMEM, "watch a build");
    return r;
}

int build_start(struct builds *all, const struct build_plan *plan, const struct build_events *ev, void *arg,
                struct build **ret, struct err *err)
{
    int r = image_name_check(plan->name, err);
    if (r == 0)
        r = check_room(all, plan, err);
    if (r < 0)
        return r;
    struct build *b = xzalloc(sizeof(*b));
    *b = (struct build){ .all = all,
                         .refs = 1,
                         .ev = *ev,
                         .arg = arg,
                         .name = xstrdup(plan->name),
                         .tenant = xstrdup(image_source_owner(plan->by)),
                         .has_network = plan->has_network,
                         .memory_mb = plan->memory_mb,
                         .pipe_fd = NO_FD,
                         .talk_fd = NO_FD,
                         .call_fd = NO_FD };
    if (plan->by) { /* the caller may be gone while the build ends */
        b->has_by = true;
        b->by = *plan->by;
        b->by.tenant = b->view = xstrdup(plan->by->tenant);
        b->by.view = plan->by->view ? b->tenant : NULL;
        b->by.sandbox = NULL; /* a token for one sandbox builds nothing */
    }
    LIST_APPEND(all->list, b);
    all->n++;
    r = open_all(b, plan, err);
    if (r < 0)
        build_close(b);
    else
        *ret = b;
    return r;
}
