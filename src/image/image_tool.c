/* `iii --image-tool DATA_DIR`: the process that works on the image store for the server. It receives calls, each a
 * socket, on descriptor 3 and passes each to a child (image_tool_pool.c). Only the child reads the server's request,
 * parses what a registry or an archive holds, and replies, until the socket closes: further requests on the same socket
 * are about the same layers. The server is not trusted: box folders must match a fixed pattern and are opened beneath
 * the data folder, layers are named by their digest. A child that fails or is killed affects only its call. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive_library.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/strlist.h"
#include "image/host_view.h"
#include "image/image.h"
#include "image/image_remote.h"
#include "image/image_tool_build.h"
#include "image/image_tool_pool.h"
#include "image/layer_digest.h"
#include "image/layout.h"
#include "image/libcurl.h"
#include "image/record.h"
#include "os/confine.h"
#include "os/filter.h"
#include "os/mount.h"
#include "os/proc.h"
#include "os/seqsock.h"
#include "os/tree.h"

#define CONTROL_FD  3
#define PROGRESS_MS 200

struct tool {
    const char *data_dir;
    struct image_store *store;
    /* in a child: */
    int call_fd;
    bool has_read_untrusted; /* bytes of a registry or an archive */
    int out_fd;              /* sent along with the request, or NO_FD */
    int talk_fd;             /* the second one, of a build; or NO_FD */
    /* long work: */
    struct image_pull_state pull;
    atomic_bool is_unwanted;
    int over_fd; /* readable when the work is done */
};

typedef int op_fn(struct tool *t, const json_t *q, json_t *answer, struct err *err);

static void send_json(const struct tool *t, json_t *j)
{
    size_t len = 0;
    CLEANUP(free_p) char *text = json_write(j, &len);
    struct iovec parts[2] = { { text, len }, { NULL, 0 } };
    if (text)
        (void)seqsock_send(t->call_fd, parts, NULL, 0); /* a server that has exited needs no reply */
    json_decref(j);
}

/* --- a second thread beside long work: reports progress, and learns that the call was cancelled --- */

static void send_progress(const struct tool *t)
{
    if (atomic_load(&t->pull.layers) > 0)
        send_json(t, json_pack("{s:{s:I, s:I, s:i, s:i}}", "progress", "done",
                               (json_int_t)atomic_load(&t->pull.done_bytes), "total",
                               (json_int_t)atomic_load(&t->pull.total_bytes), "layersDone",
                               atomic_load(&t->pull.layers_done), "layers", atomic_load(&t->pull.layers)));
}

static void *watch_call(void *arg)
{
    struct tool *t = arg;
    for (;;) {
        char byte;
        struct pollfd p[2] = { { .fd = t->over_fd, .events = POLLIN }, { .fd = t->call_fd, .events = POLLIN } };
        int ready = poll(p, atomic_load(&t->is_unwanted) ? 1 : 2, PROGRESS_MS);
        if (p[0].revents)
            return NULL;
        if (ready > 0) {
            (void)recv(t->call_fd, &byte, 1, MSG_DONTWAIT); /* a byte or end of file: both mean stop */
            atomic_store(&t->is_unwanted, true);
            image_pull_cancel(&t->pull);
        } else {
            send_progress(t);
        }
    }
}

static int run_watched(struct tool *t, op_fn *fn, const json_t *q, json_t *answer, struct err *err)
{
    pthread_t thread;
    atomic_store(&t->is_unwanted, false);
    t->over_fd = eventfd(0, EFD_CLOEXEC);
    if (t->over_fd < 0 || pthread_create(&thread, NULL, watch_call, t) != 0)
        return err_set(err, ERR_CAPACITY, 0, "start a thread for the image tool");
    int r = fn(t, q, answer, err);
    (void)eventfd_write(t->over_fd, 1);
    (void)pthread_join(thread, NULL);
    (void)close(steal_fd(&t->over_fd)); /* nothing is left in it */
    send_progress(t);                   /* final progress */
    return r;
}

/* --- operations --- */

static int op_pull(struct tool *t, const json_t *q, json_t *answer, struct err *err)
{
    CLEANUP(image_free_p) struct image *image = NULL;
    const struct image_pull_options options = { .mirrors = json_get_str(q, "mirrors", NULL),
                                                .plain_hosts = json_get_str(q, "plainHosts", NULL),
                                                .private_hosts = json_get_str(q, "privateHosts", NULL),
                                                .closed_ports = json_get_str(q, "closedPorts", NULL),
                                                .is_terse = json_get_bool(q, "isTerse", true),
                                                .disk_bytes = json_get_int(q, "diskBytes", 0),
                                                .tenant = json_get_str(q, "tenant", ""),
                                                .has_shared = json_get_bool(q, "hasShared", false),
                                                .rule = json_get(q, "rule") };
    (void)answer;
    return image_pull(t->store, json_get_str(q, "name", ""), &options, &t->pull, &image, err);
}

static int op_remove(struct tool *t, const json_t *q, json_t *answer, struct err *err)
{
    (void)answer;
    const struct image_scope scope = { .tenant = json_get_str(q, "tenant", ""),
                                       .has_shared = json_get_bool(q, "hasShared", false) };
    return image_remove(t->store, &scope, json_get_str(q, "name", ""), err);
}

static int op_collect(struct tool *t, const json_t *q, json_t *answer, struct err *err)
{
    (void)q;
    (void)answer;
    return image_collect(t->store, err);
}

static int op_host(struct tool *t, const json_t *q, json_t *answer, struct err *err)
{
    struct layout_layer layer;
    (void)q;
    (void)answer;
    return host_view_layer(t->store, &layer, err);
}

/* Absolute paths of the layers that are named by digest. */
static int read_layers(struct tool *t, const json_t *q, char ***ret, struct err *err)
{
    CLEANUP(strlist_free_p) char **list = NULL;
    const json_t *layers = json_get(q, "layers");
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const char *hex = json_string_value(json_array_get(layers, i));
        if (!hex || !digest_is_hex(hex))
            return err_set(err, ERR_INVALID, 0, "a layer has no digest");
        CLEANUP(free_p) char *path = layout_layer_path(t->store, hex);
        strlist_add(&list, path);
    }
    if (!list)
        return err_set(err, ERR_INVALID, 0, "no layers are named");
    *ret = STEAL(list);
    return 0;
}

static int op_sum(struct tool *t, const json_t *q, json_t *answer, struct err *err)
{
    char hex[DIGEST_HEX];
    CLEANUP(strlist_free_p) char **layers = NULL;
    int r = read_layers(t, q, &layers, err);
    if (r == 0)
        r = layer_digest_of(layers, &t->is_unwanted, hex, err);
    if (r == 0)
        (void)json_object_set_new(answer, "sum", json_string(hex));
    return r;
}

static int op_bytes(struct tool *t, const json_t *q, json_t *answer, struct err *err)
{
    CLEANUP(strlist_free_p) char **layers = NULL;
    int r = read_layers(t, q, &layers, err);
    if (r == 0)
        (void)json_object_set_new(answer, "bytes", json_integer(layer_digest_bytes(layers, strlist_count(layers))));
    return r;
}

static int op_send(struct tool *t, const json_t *q, json_t *answer, struct err *err)
{
    (void)answer;
    if (t->out_fd < 0)
        return err_set(err, ERR_INVALID, 0, "no descriptor came along");
    const struct image of = { .name = (char *)(uintptr_t)json_get_str(q, "name", ""),
                              .tenant = (char *)(uintptr_t)json_get_str(q, "tenant", "") };
    return image_send(t->store, &of, json_get_str(q, "tag", ""), t->out_fd, &t->pull, err);
}

static int op_build(struct tool *t, const json_t *q, json_t *answer, struct err *err)
{
    (void)answer;
    if (t->out_fd < 0 || t->talk_fd < 0)
        return err_set(err, ERR_INVALID, 0, "no descriptors came along");
    const struct image_tool_build build = { t->store, q, t->out_fd, t->talk_fd, &t->is_unwanted };
    return image_tool_build(&build, err);
}

/* "boxes/<16 hex digits>/upper[-N]" or "boxes/tmp-N-N": folders a driver captures. */
static bool is_captured(const char *path)
{
    static const char digits[] = "0123456789", hex[] = "0123456789abcdef";
    if (strncmp(path, "boxes/", 6) != 0)
        return false;
    const char *p = path + 6;
    if (strncmp(p, "tmp-", 4) == 0) {
        size_t pid = strspn(p + 4, digits), number = pid && p[4 + pid] == '-' ? strspn(p + 5 + pid, digits) : 0;
        return number > 0 && p[5 + pid + number] == '\0';
    }
    if (strspn(p, hex) != 16 || strncmp(p + 16, "/upper", 6) != 0)
        return false;
    p += 22;
    return *p == '\0' || (*p == '-' && strspn(p + 1, digits) > 0 && p[1 + strspn(p + 1, digits)] == '\0');
}

/* Opens the folder that contains the captured one, and returns the last component. */
static int open_captured(const struct tool *t, const char *path, int *ret_parent, const char **ret_name,
                         struct err *err)
{
    if (!is_captured(path))
        return err_set(err, ERR_INVALID, 0, "%.60s is not a captured folder", path);
    const char *name = strrchr(path, '/') + 1;
    CLEANUP(free_p) char *parent = xstrndup(path, (size_t)(name - 1 - path));
    CLEANUP(close_fd_p) int data = open(t->data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = data < 0 ? -errno : mount_open_beneath(data, parent, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return err_set(err, err_from_errno(-fd), -fd, "open %s", parent);
    *ret_parent = fd;
    *ret_name = name;
    return 0;
}

static int op_stack(struct tool *t, const json_t *q, json_t *answer, struct err *err)
{
    CLEANUP(strlist_free_p) char **layers = NULL;
    CLEANUP(close_fd_p) int parent = NO_FD;
    const char *name = NULL, *hex = json_get_str(q, "layer", "");
    (void)answer;
    if (!digest_is_hex(hex))
        return err_set(err, ERR_INVALID, 0, "the new layer has no digest");
    int r = read_layers(t, q, &layers, err);
    if (r == 0 && !layout_has_layer(t->store, hex)) /* a layer that exists already is only pinned */
        r = open_captured(t, json_get_str(q, "folder", ""), &parent, &name, err);
    if (r < 0)
        return r;
    struct image base = { .name = (char *)(uintptr_t)json_get_str(q, "name", ""),
                          .layers = layers,
                          .n_layers = strlist_count(layers) };
    return image_stack_at(t->store, &base, parent, name, hex, json_get_str(q, "owner", ""), err);
}

static int op_discard(struct tool *t, const json_t *q, json_t *answer, struct err *err)
{
    CLEANUP(close_fd_p) int parent = NO_FD;
    const char *name = NULL;
    (void)answer;
    int r = open_captured(t, json_get_str(q, "folder", ""), &parent, &name, err);
    return r < 0 ? r : tree_remove(parent, name, err);
}

static const struct {
    const char *name;
    op_fn *fn;
    bool is_long, reads_untrusted;
} ops[] = { { "pull", op_pull, true, true },       { "sum", op_sum, true, false },
            { "remove", op_remove, false, false }, { "collect", op_collect, false, false },
            { "host", op_host, false, false },     { "bytes", op_bytes, false, false },
            { "stack", op_stack, false, false },   { "discard", op_discard, false, false },
            { "send", op_send, true, false },      { "build", op_build, true, true } };

/* --- privileges of the tool itself --- */

/* Owners, modes and attributes of untrusted files; the last one only because overlayfs keeps its markers in
 * trusted.*. */
static const uint64_t kept_caps = UINT64_C(1) << CAP_CHOWN | UINT64_C(1) << CAP_DAC_OVERRIDE |
                                  UINT64_C(1) << CAP_FOWNER | UINT64_C(1) << CAP_FSETID | UINT64_C(1) << CAP_SETFCAP |
                                  UINT64_C(1) << CAP_SYS_ADMIN;

/* Handles one request in a child; confined and why say whether the child is confined. False: no more requests. */
static bool serve_call(struct tool *t, int confined, const struct err *why)
{
    JSON_OWNED q = NULL;
    JSON_OWNED answer = json_object();
    struct err err = *why;
    size_t n_fds = 0;
    CLEANUP(free_p) char *text = xrealloc(NULL, IMAGE_REMOTE_MESSAGE);
    int fds[2] = { NO_FD, NO_FD };
    ssize_t n = seqsock_recv(t->call_fd, text, IMAGE_REMOTE_MESSAGE, fds, 2, &n_fds);
    if (n <= 0)
        return false;
    CLEANUP(close_fd_p) int out_fd = fds[0]; /* both closed when the call is over */
    CLEANUP(close_fd_p) int talk_fd = fds[1];
    t->out_fd = out_fd;
    t->talk_fd = talk_fd;
    int r = confined < 0 ? confined : json_read(text, (size_t)n, &q, &err);
    if (r == 0) {
        const char *name = json_get_str(q, "op", "");
        size_t i = 0;
        while (i < sizeof(ops) / sizeof(*ops) && strcmp(ops[i].name, name) != 0)
            i++;
        if (i == sizeof(ops) / sizeof(*ops)) {
            r = err_set(&err, ERR_INVALID, 0, "the image tool knows no \"%.40s\"", name);
        } else {
            t->has_read_untrusted |= ops[i].reads_untrusted;
            r = ops[i].is_long ? run_watched(t, ops[i].fn, q, answer, &err) : ops[i].fn(t, q, answer, &err);
        }
    }
    if (r < 0)
        send_json(t, json_pack("{s:{s:i, s:i, s:i, s:o}}", "error", "result", r, "code", (int)err.code, "sys", err.sys,
                               "msg", json_text(err.msg, strlen(err.msg))));
    else
        send_json(t, json_incref(answer));
    return true;
}

static bool serve_socket(void *arg, int call, int confined, const struct err *why)
{
    struct tool *t = arg;
    t->call_fd = call;
    bool is_wanted = true;
    while (is_wanted)
        is_wanted = serve_call(t, confined, why);
    return !t->has_read_untrusted;
}

int image_tool_main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    if (argc != 3 || fcntl(CONTROL_FD, F_SETFD, FD_CLOEXEC) < 0) {
        (void)fprintf(stderr, "the image tool is started by the server only: iii serve\n");
        return 2;
    }
    struct tool t = { .data_dir = argv[2], .call_fd = NO_FD, .out_fd = NO_FD, .talk_fd = NO_FD, .over_fd = NO_FD };
    CLEANUP(free_p) char *dir = xasprintf("%s/images", argv[2]);
    (void)prctl(PR_SET_NAME, "iii-images"); /* for ps only */
    (void)signal(SIGPIPE, SIG_IGN);         /* none of these can fail */
    (void)signal(SIGINT, SIG_IGN);          /* the server decides when we exit */
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGCHLD, SIG_IGN); /* children reply on their own sockets; the kernel reaps them */
    /* Now, while the files can be read, and once for all children. A call that lacks one reports it. */
    (void)archive_library_load(NULL);
    (void)libcurl_load(NULL);
    if (layout_open(dir, &t.store, &err) < 0) {
        (void)fprintf(stderr, "image tool: %s\n", err.msg);
        return 1;
    }
    (void)record_rekey(t.store, false);
    if (fork() == 0) { /* beside the first calls, which do not wait for it */
        (void)close(CONTROL_FD);
        (void)signal(SIGCHLD, SIG_DFL);
        if (confine_identity(&(struct confine_who){ .uid = geteuid(), .gid = getegid() },
                             geteuid() == 0 ? UINT64_C(1) << CAP_CHOWN : 0, &err) == 0) /* its file is the server's */
            host_view_probe(t.store);
        _exit(0);
    }
    if (confine_identity(&(struct confine_who){ .uid = geteuid(), .gid = getegid() }, geteuid() == 0 ? kept_caps : 0,
                         &err) < 0 ||
        filter_self(&err) < 0) { /* children inherit the filter: installing it in each costs more than most calls */
        (void)fprintf(stderr, "image tool: %s\n", err.msg);
        return 1;
    }
    image_tool_pool_run(argv[2], CONTROL_FD, serve_socket, &t);
    (void)layout_close(t.store);
    return 0;
}
