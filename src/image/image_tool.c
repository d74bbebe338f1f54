/* `iii --image-tool DATA_DIR`: the process that works on the image store for the server. It takes calls, each a socket,
 * on descriptor 3 and has a child for each; only the child reads what the server says, parses what a registry or an
 * archive holds, and ends with its one answer. The child is forked and confined before its call comes (a spare), since
 * a snapshot waits for it. The server is not believed: folders of boxes are named by a fixed pattern and opened beneath
 * the data folder, layers by their digest. */
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

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/strlist.h"
#include "image/dockercred.h"
#include "image/hostview.h"
#include "image/image.h"
#include "image/image_remote.h"
#include "image/layersum.h"
#include "image/layout.h"
#include "os/confine.h"
#include "os/filter.h"
#include "os/mount.h"
#include "os/proc.h"
#include "os/seqsock.h"
#include "os/tree.h"

#define CONTROL_FD  3
#define CALL_FD     3 /* in a child: it takes the place of the former */
#define PROGRESS_MS 200

/* Which configuration of Docker there was: what a child may read depends on it. All zero: none. */
struct stamp {
    dev_t dev;
    ino_t ino;
    struct timespec changed;
};

struct tool {
    const char *data_dir;
    struct image_store *store;
    struct filter filter; /* for the children */
    int spare;            /* to the child that waits; NO_FD: none does */
    struct stamp stamp;   /* what it was confined by */
    /* long work: */
    struct image_pull_state pull;
    atomic_bool is_unwanted;
    int over_fd; /* readable when the work is over */
};

typedef int op_fn(struct tool *t, const json_t *q, json_t *answer, struct err *err);

static void send_json(json_t *j)
{
    size_t len = 0;
    CLEANUP(free_p) char *text = json_write(j, &len);
    struct iovec parts[2] = { { text, len }, { NULL, 0 } };
    if (text)
        (void)seqsock_send(CALL_FD, parts, NULL, 0); /* a server that is gone needs no answer */
    json_decref(j);
}

/* --- a second thread beside long work: tells how far it is, and hears that nobody wants it any more --- */

static void tell_progress(struct tool *t)
{
    if (atomic_load(&t->pull.layers) > 0)
        send_json(json_pack("{s:{s:I, s:I, s:i, s:i}}", "progress", "done",
                            (json_int_t)atomic_load(&t->pull.done_bytes), "total",
                            (json_int_t)atomic_load(&t->pull.total_bytes), "layersDone",
                            atomic_load(&t->pull.layers_done), "layers", atomic_load(&t->pull.layers)));
}

static void *attend(void *arg)
{
    struct tool *t = arg;
    for (;;) {
        char byte;
        struct pollfd p[2] = { { .fd = t->over_fd, .events = POLLIN }, { .fd = CALL_FD, .events = POLLIN } };
        int ready = poll(p, atomic_load(&t->is_unwanted) ? 1 : 2, PROGRESS_MS);
        if (p[0].revents)
            return NULL;
        if (ready > 0) {
            (void)recv(CALL_FD, &byte, 1, MSG_DONTWAIT); /* a word or the end: both mean stop */
            atomic_store(&t->is_unwanted, true);
            image_pull_cancel(&t->pull);
        } else {
            tell_progress(t);
        }
    }
}

static int run_attended(struct tool *t, op_fn *fn, const json_t *q, json_t *answer, struct err *err)
{
    pthread_t thread;
    t->over_fd = eventfd(0, EFD_CLOEXEC);
    if (t->over_fd < 0 || pthread_create(&thread, NULL, attend, t) != 0)
        return err_set(err, ERR_CAPACITY, 0, "start a thread for the image tool");
    int r = fn(t, q, answer, err);
    (void)eventfd_write(t->over_fd, 1);
    (void)pthread_join(thread, NULL);
    tell_progress(t); /* where it ended */
    return r;
}

/* --- operations --- */

static int op_pull(struct tool *t, const json_t *q, json_t *answer, struct err *err)
{
    CLEANUP(image_free_p) struct image *image = NULL;
    const struct image_pull_options options = { .mirrors = json_get_str(q, "mirrors", NULL),
                                                .plain_hosts = json_get_str(q, "plainHosts", NULL),
                                                .disk_bytes = json_get_int(q, "diskBytes", 0) };
    (void)answer;
    return image_pull(t->store, json_get_str(q, "name", ""), &options, &t->pull, &image, err);
}

static int op_remove(struct tool *t, const json_t *q, json_t *answer, struct err *err)
{
    (void)answer;
    return image_remove(t->store, json_get_str(q, "name", ""), err);
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
    return hostview_layer(t->store, &layer, err);
}

/* Absolute folders of the layers that are named by digest. */
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
        r = layersum_of(layers, &t->is_unwanted, hex, err);
    if (r == 0)
        (void)json_object_set_new(answer, "sum", json_string(hex));
    return r;
}

static int op_bytes(struct tool *t, const json_t *q, json_t *answer, struct err *err)
{
    CLEANUP(strlist_free_p) char **layers = NULL;
    int r = read_layers(t, q, &layers, err);
    if (r == 0)
        (void)json_object_set_new(answer, "bytes", json_integer(layersum_bytes(layers, strlist_count(layers))));
    return r;
}

/* "boxes/<16 hex digits>/upper[-N]" or "boxes/tmp-N-N": what a driver captures. */
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

/* The folder that the captured one lies in, and its name there. */
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
    if (r == 0 && !layout_has_layer(t->store, hex)) /* one that is there already is only pinned */
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
    bool is_long;
} ops[] = { { "pull", op_pull, true },        { "sum", op_sum, true },         { "remove", op_remove, false },
            { "collect", op_collect, false }, { "host", op_host, false },      { "bytes", op_bytes, false },
            { "stack", op_stack, false },     { "discard", op_discard, false } };

static int carry_out(struct tool *t, const json_t *q, json_t *answer, struct err *err)
{
    const char *name = json_get_str(q, "op", "");
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
        if (strcmp(ops[i].name, name) == 0)
            return ops[i].is_long ? run_attended(t, ops[i].fn, q, answer, err) : ops[i].fn(t, q, answer, err);
    return err_set(err, ERR_INVALID, 0, "the image tool knows no \"%.40s\"", name);
}

/* --- what the tool itself may do --- */

/* Owners, modes and attributes of foreign files; the last one only because overlayfs keeps its marks in trusted.*. */
static const uint64_t kept_caps = UINT64_C(1) << CAP_CHOWN | UINT64_C(1) << CAP_DAC_OVERRIDE |
                                  UINT64_C(1) << CAP_FOWNER | UINT64_C(1) << CAP_FSETID | UINT64_C(1) << CAP_SETFCAP |
                                  UINT64_C(1) << CAP_SYS_ADMIN;

static int confine_to_store(const char *data_dir, struct err *err)
{
    CLEANUP(free_p) char *images = xasprintf("%s/images", data_dir);
    CLEANUP(free_p) char *boxes = xasprintf("%s/boxes", data_dir);
    CLEANUP(free_p) char *docker = dockercred_path();
    const struct confine_place places[] = {
        { images, CONFINE_UNPACK },
        { boxes, CONFINE_UNPACK }, /* alike: landlock moves nothing to where more is allowed */
        { "/dev/null", CONFINE_WRITE },
        { docker ? docker : "/dev/null", CONFINE_READ },
        { "/etc", CONFINE_READ },
        { "/usr", CONFINE_READ },
        { "/lib", CONFINE_READ },
        { "/lib64", CONFINE_READ },
        { "/run/systemd/resolve", CONFINE_READ },
        { "/run/NetworkManager", CONFINE_READ },
        { "/run/resolvconf", CONFINE_READ },
        { "/proc", CONFINE_READ },
        { "/dev/urandom", CONFINE_READ }
    };
    if (dockercred_has_helper())
        return 0; /* a program of the site's own, which may need any file */
    int r = confine_files(places, sizeof(places) / sizeof(*places), err);
    return r == -EOPNOTSUPP ? 0 : r; /* the server has said that there is none */
}

/* In a child, since Docker's configuration may come and go: landlock, then the filter, which other calls need not pass.
 */
static int confine_child(const struct tool *t, struct err *err)
{
    int r = confine_to_store(t->data_dir, err);
    if (r >= 0 && (r = filter_install(&t->filter)) < 0)
        (void)err_sys(err, r, "install the system call filter");
    return r;
}

/* What a child does for its call; r and err say whether it is confined. */
static void serve_call(struct tool *t, int r, struct err *err)
{
    JSON_OWNED q = NULL;
    JSON_OWNED answer = json_object();
    size_t n_fds = 0;
    CLEANUP(free_p) char *text = xzalloc(IMAGE_REMOTE_MESSAGE);
    ssize_t n = seqsock_recv(CALL_FD, text, IMAGE_REMOTE_MESSAGE, NULL, 0, &n_fds);
    if (r >= 0)
        r = n <= 0 ? err_set(err, ERR_INVALID, 0, "no request") : json_read(text, (size_t)n, &q, err);
    if (r == 0)
        r = carry_out(t, q, answer, err);
    if (r < 0)
        send_json(json_pack("{s:{s:i, s:i, s:i, s:o}}", "error", "result", r, "code", (int)err->code, "sys", err->sys,
                            "msg", json_text(err->msg, strlen(err->msg))));
    else
        send_json(json_incref(answer));
}

/* A socket that is sent over sock; NO_FD at its end. */
static int receive_socket(int sock)
{
    char byte;
    int fd = NO_FD;
    size_t n_fds = 0;
    ssize_t n = seqsock_recv(sock, &byte, 1, &fd, 1, &n_fds);
    return n > 0 && n_fds == 1 ? fd : NO_FD;
}

static bool take_place(int fd, int place)
{
    return fd >= 0 && dup2(fd, place) >= 0 && fcntl(place, F_SETFD, FD_CLOEXEC) == 0 && close(fd) == 0;
}

/* A child's whole life: sock brings its call. An end of it means that there will be none. */
static void live_as_child(struct tool *t, int sock)
{
    struct err err = ERR_INIT;
    (void)signal(SIGCHLD, SIG_DFL);    /* it may have children itself: credential helpers */
    if (!take_place(sock, CONTROL_FD)) /* what the server sends to the tool is none of its business */
        return;
    int r = confine_child(t, &err);
    if (take_place(receive_socket(CONTROL_FD), CALL_FD))
        serve_call(t, r, &err);
}

static struct stamp stamp_now(void)
{
    struct stat st;
    CLEANUP(free_p) char *path = dockercred_path();
    if (!path || stat(path, &st) < 0)
        return (struct stamp){ 0 };
    return (struct stamp){ .dev = st.st_dev, .ino = st.st_ino, .changed = st.st_ctim };
}

static bool is_stamp(const struct stamp *a, const struct stamp *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

static void drop_spare(struct tool *t)
{
    close_fd_p(&t->spare); /* its end ends the child */
    t->spare = NO_FD;
}

/* Leaves no spare when the system has no process or descriptor left: the next call tries again. */
static void make_spare(struct tool *t)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return;
    t->stamp = stamp_now();
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(pair[0]);
        live_as_child(t, pair[1]);
        (void)layout_close(t->store);
        _exit(0);
    }
    (void)close(pair[1]);
    t->spare = pair[0];
    if (pid < 0)
        drop_spare(t);
}

/* Gives the call to the spare; a spare that was killed, or confined by another configuration, is replaced. */
static void hand_over(struct tool *t, int call)
{
    char byte = 'c';
    struct stamp now = stamp_now();
    struct iovec parts[2] = { { &byte, 1 }, { NULL, 0 } };
    if (t->spare >= 0 && !is_stamp(&now, &t->stamp))
        drop_spare(t);
    for (int tries = 0; tries < 2; tries++) {
        if (t->spare < 0)
            make_spare(t);
        if (t->spare < 0 || seqsock_send(t->spare, parts, &call, 1) >= 0)
            break;
        drop_spare(t);
    }
    if (t->spare >= 0)
        drop_spare(t); /* it has got what it waited for, or never will; without it the server sees an end */
}

static int take_call(struct tool *t)
{
    int fd = receive_socket(CONTROL_FD);
    if (fd < 0)
        return -EPIPE;
    hand_over(t, fd);
    (void)close(fd); /* the child's */
    return 0;
}

int image_tool_main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    if (argc != 3 || fcntl(CONTROL_FD, F_SETFD, FD_CLOEXEC) < 0) {
        (void)fprintf(stderr, "the image tool is started by the server only: iii serve\n");
        return 2;
    }
    struct tool t = { .data_dir = argv[2], .spare = NO_FD, .over_fd = NO_FD };
    CLEANUP(free_p) char *dir = xasprintf("%s/images", argv[2]);
    (void)prctl(PR_SET_NAME, "iii-images"); /* for ps only */
    (void)signal(SIGPIPE, SIG_IGN);         /* none of these can fail */
    (void)signal(SIGINT, SIG_IGN);          /* the server decides when we end */
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGCHLD, SIG_IGN); /* children answer by themselves, and are reaped by the kernel */
    if (layout_open(dir, &t.store, &err) < 0 ||
        confine_identity(&(struct confine_who){ .uid = geteuid(), .gid = getegid() }, geteuid() == 0 ? kept_caps : 0,
                         &err) < 0 ||
        filter_build(&t.filter, &err) < 0) {
        (void)fprintf(stderr, "image tool: %s\n", err.msg);
        return 1;
    }
    do
        make_spare(&t);
    while (take_call(&t) == 0);
    drop_spare(&t);
    (void)layout_close(t.store);
    filter_done(&t.filter);
    return 0;
}
