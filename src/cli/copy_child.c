#include "cli/copy_child.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/write_all.h"

#define PIECE_BYTES 65536u
#define NESTED_MAX  64 /* descriptors that the walk for the total keeps open */

struct copy_child *copy_child_new(void)
{
    void *p = mmap(NULL, sizeof(struct copy_child), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

struct copy_child *copy_child_free(struct copy_child *k)
{
    if (k)
        (void)munmap(k, sizeof(*k));
    return NULL;
}

struct feeding {
    struct copy_child *k;
    int fd;
    int64_t done;
};

static int feed_piece(void *arg, const void *data, size_t len)
{
    struct feeding *f = arg;
    int r = write_all_write(f->fd, data, len);
    f->done += (int64_t)len;
    display_bar_move(&f->k->bar, f->done);
    return r;
}

static int64_t tree_bytes;

static int add_size(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)path, (void)at;
    tree_bytes += kind == FTW_F && S_ISREG(st->st_mode) ? st->st_size : 0;
    return 0;
}

static int feed(struct feeding *f, int from, const char *tree)
{
    static char piece[PIECE_BYTES];
    const struct tar_pack_plan plan = { .fd = from, .name = "", .sink = feed_piece, .arg = f };
    struct stat st;
    if (tree && f->k->bar.is_shown && nftw(tree, add_size, NESTED_MAX, FTW_PHYS) == 0)
        f->k->bar.total = tree_bytes;
    else if (fstat(from, &st) == 0 && S_ISREG(st.st_mode))
        f->k->bar.total = st.st_size;
    if (tree)
        return tar_pack(&plan, &f->k->packed);
    for (ssize_t n; (n = read(from, piece, sizeof(piece))) != 0;) {
        int r = n < 0 ? (errno == EINTR ? 0 : -errno) : feed_piece(f, piece, (size_t)n);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Our end holds one byte, which the child takes only when all is sent. A child that fails or is terminated leaves it
 * unread: then reading from the other end fails with ECONNRESET instead of ending. */
pid_t copy_child_feed(struct copy_child *k, int from, const char *tree, int *ret_fd)
{
    int ends[2];
    char mark = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    pid_t pid = write(ends[0], &mark, 1) == 1 ? fork() : -1;
    if (pid == 0) {
        struct feeding f = { .k = k, .fd = ends[1] };
        (void)close(ends[0]);
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGINT, SIG_IGN); /* the parent ends us */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        int r = feed(&f, from, tree);
        k->error = r == -EPIPE ? 0 : -r; /* nobody reads on: the reply says why */
        _exit(r < 0 || read(ends[1], &mark, 1) != 1);
    }
    (void)close(ends[1]);
    if (pid < 0)
        (void)close(ends[0]);
    *ret_fd = ends[0];
    return pid;
}

static ssize_t read_pipe(void *arg, void *data, size_t len)
{
    ssize_t n;
    do
        n = read(*(int *)arg, data, len);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

pid_t copy_child_unpack(struct copy_child *k, int folder, bool is_old, int *ret_fd)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    k->error = EIO; /* unless it says otherwise */
    pid_t pid = fork();
    if (pid == 0) {
        const struct tar_unpack_plan plan = {
            .folder = folder, .is_folder_old = is_old, .source = read_pipe, .arg = &ends[0]
        };
        (void)close(ends[1]);
        (void)signal(SIGINT, SIG_IGN); /* the end of the pipe ends us, and no half file is left */
        (void)signal(SIGTERM, SIG_IGN);
        k->error = -tar_unpack(&plan, &k->unpacked);
        _exit(0);
    }
    (void)close(ends[0]);
    if (pid < 0)
        (void)close(ends[1]);
    *ret_fd = ends[1];
    return pid;
}

void copy_child_join(struct copy_child *k, pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    display_bar_end(&k->bar);
}
