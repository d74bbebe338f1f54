/* Theory of operation. The context is unpacked into a folder of tmp/ by the rules for untrusted layers while it
 * arrives; then image_build() runs with hooks. A hook sends one message to the server and, where it needs an answer,
 * waits for the next one, which is that answer. A server that leaves closes the socket: the hook fails, and with it the
 * build. The folder in tmp/ goes with the build. */
#include "image/image_tool_build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strlist.h"
#include "image/image_build.h"
#include "image/image_remote.h"
#include "image/layout.h"
#include "image/unpack.h"
#include "os/seqsock.h"

#define CONTEXT "context" /* in the folder of tmp/ */

struct talk {
    const struct image_tool_build *b;
    const char *tenant;
    int64_t left, begun; /* bytes that the tenant had left and had, when the build began; left -1: no limit */
};

static int send_message(const struct talk *t, json_t *message, struct err *err)
{
    size_t len = 0;
    CLEANUP(free_p) char *text = json_write(message, &len);
    struct iovec parts[2] = { { text, len }, { NULL, 0 } };
    json_decref(message);
    int r = text && len < IMAGE_REMOTE_MESSAGE ? seqsock_send(t->b->talk_fd, parts, NULL, 0) : -EMSGSIZE;
    if (r == -EMSGSIZE) /* or longer than the socket's buffer */
        return err_set(err, ERR_TOO_LARGE, 0, "the command and its variables have %zu bytes: use fewer or shorter ones",
                       len);
    return r < 0 ? err_set(err, ERR_GONE, ECANCELED, "the build was stopped") : 0;
}

/* Sends a message and waits for its answer. */
static int ask(const struct talk *t, json_t *message, json_t **ret, struct err *err)
{
    CLEANUP(free_p) char *text = xrealloc(NULL, IMAGE_REMOTE_MESSAGE);
    JSON_OWNED answer = NULL;
    size_t n_fds = 0;
    int r = send_message(t, message, err);
    if (r < 0)
        return r;
    ssize_t n = seqsock_recv(t->b->talk_fd, text, IMAGE_REMOTE_MESSAGE, NULL, 0, &n_fds);
    if (n <= 0)
        return err_set(err, ERR_GONE, ECANCELED, "the build was stopped");
    r = json_read(text, (size_t)n, &answer, err);
    if (r < 0)
        return r;
    const json_t *e = json_get(answer, "error");
    int64_t code = json_get_int(e, "code", ERR_INTERNAL);
    if (e)
        return err_set(err, code > ERR_NONE && code < ERR_COUNT ? (enum err_code)code : ERR_INTERNAL, 0, "%s",
                       json_get_str(e, "msg", "no reason was given"));
    *ret = json_incref(answer);
    return 0;
}

static int find_hook(void *arg, const char *name, struct err *err)
{
    JSON_OWNED answer = NULL;
    return ask(arg, json_pack("{s:s}", "find", name), &answer, err);
}

static int run_hook(void *arg, const struct image *now, const json_t *command, char *const *env, char **ret,
                    struct err *err)
{
    JSON_OWNED answer = NULL;
    json_t *layers = json_array();
    for (size_t i = 0; i < now->n_layers; i++)
        (void)json_array_append_new(layers, json_string(strrchr(now->layers[i], '/') + 1));
    json_t *run = json_pack("{s:o, s:b, s:O, s:o, s:s, s:s}", "layers", layers, "isHost", now->is_host, "command",
                            command, "env", strlist_to_json(env), "user", now->user ? now->user : "", "cwd",
                            now->workdir && *now->workdir ? now->workdir : "/");
    if (!run)
        return err_set(err, ERR_INVALID, 0, "the command, its variables or its folder is not UTF-8");
    int r = ask(arg, json_pack("{s:o}", "run", run), &answer, err);
    const char *owner = json_get_str(answer, "owner", NULL);
    if (r == 0 && !owner)
        r = err_set(err, ERR_INTERNAL, 0, "the server named no layers");
    if (r == 0)
        *ret = xstrdup(owner);
    return r;
}

static void done_hook(void *arg)
{
    struct err ignored = ERR_INIT;
    (void)send_message(arg, json_pack("{s:b}", "taken", 1), &ignored); /* the next message fails, too */
}

static void tell_hook(void *arg, json_t *event)
{
    struct err ignored = ERR_INIT;
    (void)send_message(arg, json_pack("{s:o}", "event", event), &ignored); /* the same */
}

static int64_t left_hook(void *arg)
{
    const struct talk *t = arg;
    return t->left < 0 ? INT64_MAX : t->left - (image_tenant_bytes(t->b->store, t->tenant) - t->begun);
}

/* Unpacks the context into the folder. */
static int take_context(const struct image_tool_build *b, const struct layout_tmp *tmp, struct err *err)
{
    char hex[DIGEST_HEX];
    const struct tar_stream_source source = { .fd = b->context_fd };
    CLEANUP(close_fd_p)
    int fd = mkdirat(tmp->fd, CONTEXT, 0755) < 0 ? -1 : openat(tmp->fd, CONTEXT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, -errno, "make a folder for the context");
    struct unpack_job job = { .root_fd = fd, .limits = &b->store->limits, .is_rootless = b->store->is_rootless };
    int r = unpack_layer(&job, &source, hex, err);
    if (atomic_load(b->stop))
        return err_set(err, ERR_GONE, ECANCELED, "the build was stopped");
    return r < 0 ? err_wrap(err, r, "context") : 0;
}

int image_tool_build(const struct image_tool_build *b, struct err *err)
{
    const json_t *q = b->request;
    CLEANUP(layout_tmp_done) struct layout_tmp tmp = { 0 };
    CLEANUP(image_free_p) struct image *made = NULL;
    CLEANUP(strlist_free_p) char **args = strlist_from_json(json_get(q, "args"));
    struct talk talk = { .b = b, .tenant = json_get_str(q, "tenant", ""), .left = json_get_int(q, "left", -1) };
    talk.begun = talk.left < 0 ? 0 : image_tenant_bytes(b->store, talk.tenant);
    if (talk.left >= 0 && talk.left < b->store->limits.bytes)
        b->store->limits.bytes = talk.left;
    int r = layout_tmp_new(b->store, &tmp, err);
    if (r == 0)
        r = take_context(b, &tmp, err);
    if (r < 0)
        return r;
    CLEANUP(free_p) char *context = xasprintf("%s/tmp/%s/" CONTEXT, b->store->dir, tmp.name);
    const struct image_build_hooks hooks = {
        .find = find_hook, .run = run_hook, .done = done_hook, .tell = tell_hook, .left = left_hook, .arg = &talk
    };
    const struct image_build_options options = { .hooks = &hooks,
                                                 .tenant = talk.tenant,
                                                 .has_shared = json_get_bool(q, "hasShared", false),
                                                 .target = json_get_str(q, "target", NULL),
                                                 .context = context,
                                                 .dockerfile = json_get_str(q, "dockerfile", NULL),
                                                 .name = json_get_str(q, "name", ""),
                                                 .build_args = args,
                                                 .has_cache = json_get_bool(q, "hasCache", true),
                                                 .has_network = json_get_bool(q, "hasNetwork", false),
                                                 .stop = b->stop };
    return image_build(b->store, &options, &made, err);
}
