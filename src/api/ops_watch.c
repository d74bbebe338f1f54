/* Changes of files, as they occur. A struct file_watch joins a watch of the agent and the stream of a call. Changes are
 * credited to the agent while the client's queue is short, otherwise when it has drained: for a slow reader the agent
 * merges them, and says so when it had to drop some. The stream begins with the first event, which shows that the
 * folder can be watched; a failure before is the response. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/content.h"
#include "api/handlers.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/strlist.h"
#include "guest/proto.h"
#include "sandbox/storage/work_path.h"

#define STREAM_MARK (1024 * 1024) /* queued bytes past which the reader has to catch up first */
#define PING_MS     15000

struct file_watch {
    struct call *c;
    struct sandbox *s; /* holds a reference */
    struct guest_watch *watch;
    struct timer *ping; /* NULL: the stream has not begun */
    size_t owed;        /* bytes to credit once the client has read */
};

static struct call *release_watch(struct file_watch *f)
{
    struct call *c = f->c;
    f->s->watches--;
    sandbox_unref(f->s);
    timer_free(f->ping);
    free(f);
    return c;
}

static json_t *change_json(const struct guest_file_change *change)
{
    static const char *const types[] = {
        [PROTO_CHANGE_CREATED] = "created",
        [PROTO_CHANGE_MODIFIED] = "modified",
        [PROTO_CHANGE_DELETED] = "deleted",
        [PROTO_CHANGE_MOVED] = "moved",
        [PROTO_CHANGE_ATTRIBUTES] = "attributes",
        [PROTO_CHANGE_OVERFLOW] = "overflow",
        [PROTO_CHANGE_LIMIT] = "limit",
        [PROTO_CHANGE_GONE] = "gone",
        [PROTO_CHANGE_BACK] = "back",
        [PROTO_CHANGE_READY] = "ready",
    };
    json_t *event = json_pack("{s:s, s:o, s:b, s:I}", "type", types[change->kind], "path",
                              json_text(change->path, strlen(change->path)), "directory", change->is_folder,
                              "timestamp", (json_int_t)clock_wall_ms());
    if (*change->text)
        (void)json_object_set_new(event, change->kind == PROTO_CHANGE_MOVED ? "oldPath" : "message",
                                  json_text(change->text, strlen(change->text)));
    return event;
}

static void on_drain(void *arg)
{
    struct file_watch *f = arg;
    guest_watch_credit(f->watch, f->owed);
    f->owed = 0;
}

static void on_ping(void *arg)
{
    struct file_watch *f = arg;
    call_stream_comment(f->c, "ping");
}

static void on_changes(void *arg, const struct guest_file_change *changes, size_t n, size_t bytes)
{
    struct file_watch *f = arg;
    size_t queued = 0;
    if (!f->ping) {
        f->ping = timer_new(call_loop(f->c), PING_MS, PING_MS, on_ping, f);
        call_stream_begin(f->c);
        call_stream_on_drain(f->c, on_drain, f);
    }
    for (size_t i = 0; i < n; i++)
        queued = call_stream_event(f->c, change_json(&changes[i]), NULL);
    f->owed += bytes;
    if (queued < STREAM_MARK)
        on_drain(f);
}

static void on_done(void *arg, const struct err *err)
{
    struct file_watch *f = arg;
    call_on_cancel(f->c, NULL, NULL);
    call_stream_on_drain(f->c, NULL, NULL);
    call_fail(release_watch(f), err);
}

static void on_cancel(void *arg)
{
    struct file_watch *f = arg;
    bool has_begun = f->ping != NULL;
    guest_watch_drop(f->watch);
    call_stream_on_drain(f->c, NULL, NULL);
    struct call *c = release_watch(f);
    if (has_begun)
        call_stream_end(c);
    else
        call_error(c, ERR_GONE, "the client left");
}

/* "node_modules,.git" as a list; free with strlist_free(). NULL with err. */
static char **read_patterns(const char *text, struct err *err)
{
    CLEANUP(strlist_free_p) char **list = strlist_copy((char *[]){ NULL });
    CLEANUP(free_p) char *copy = xstrdup(text);
    char *rest = NULL;
    for (char *one = strtok_r(copy, ",", &rest); one; one = strtok_r(NULL, ",", &rest))
        strlist_add(&list, one);
    if (strlist_count(list) <= LIMIT_MAX(WATCH_EXCLUDES))
        return STEAL(list);
    (void)err_set(err, ERR_INVALID, 0, "exclude: %zu patterns, at most %d are allowed", strlist_count(list),
                  (int)LIMIT_MAX(WATCH_EXCLUDES));
    return NULL;
}

static void watch_start(struct call *c)
{
    static const struct guest_watch_events events = { .on_changes = on_changes, .on_done = on_done };
    struct err err = ERR_INIT;
    CLEANUP(free_p) char *path = NULL;
    CLEANUP(strlist_free_p) char **exclude = NULL;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    if (work_path_any(s, call_str(c, "path", s->manager->settings->workspace_dir), &path, &err) < 0 ||
        !(exclude = read_patterns(call_str(c, "exclude", ""), &err))) {
        call_fail(c, &err);
        return;
    }
    for (size_t len = strlen(path); len > 1 && path[len - 1] == '/'; len--)
        path[len - 1] = '\0'; /* or paths below it would have two */
    if (s->watches >= LIMIT_MAX(WATCHES)) {
        call_error(c, ERR_RATE_LIMITED, "limit of %d file watches of %s reached: end one", (int)LIMIT_MAX(WATCHES),
                   s->id);
        return;
    }
    struct file_watch *f = xzalloc(sizeof(*f));
    *f = (struct file_watch){ .c = c, .s = sandbox_ref(s) };
    s->watches++;
    const struct guest_watch_plan plan = { .path = path,
                                           .user = s->user,
                                           .exclude = (const char *const *)exclude,
                                           .is_recursive = call_bool(c, "recursive", true) };
    int r = guest_watch_start(s->link, &plan, &events, f, &f->watch);
    if (r < 0)
        content_failed(release_watch(f), s, r);
    else
        call_on_cancel(c, on_cancel, f);
}

void api_fs_watch(struct call *c)
{
    content_when_ready(c, watch_start);
}
