/* The agent's end of a link, fed with the bytes of a hostile host: whole frames, requests in pieces, streams and their
 * windows, and the file, job and tunnel calls behind them. The agent does what it is told, so its thread lives in an
 * empty folder of its own (chroot of this thread alone: the fuzzer needs the real tree) and may make no process, send
 * no signal, set no clock and open no connection. Bit 0 of the first byte: a good hello goes before the rest. */
#include "../feed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/conn.h"
#include "agent/exec.h"
#include "agent/job.h"
#include "agent/service.h"
#include "agent/spawn.h"
#include "os/tree.h"

#define INPUT_MAX (96u * 1024) /* fits the socket's buffer, so that one write is enough */

static struct {
    sem_t begin, done;
    const uint8_t *data;
    size_t size;
    int root_fd;
    char folder[40];
    pthread_t thread;
} turn;

/* Refused with EAGAIN, which the agent takes for "no process can be made": then it does the work itself. */
static void refuse_calls(void)
{
#define REFUSE(nr) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN)
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE(SYS_clone),
        REFUSE(SYS_clone3),
        REFUSE(SYS_fork),
        REFUSE(SYS_vfork),
        REFUSE(SYS_execve),
        REFUSE(SYS_execveat),
        REFUSE(SYS_kill),
        REFUSE(SYS_tkill),
        REFUSE(SYS_rt_sigqueueinfo),
        REFUSE(SYS_pidfd_send_signal),
        REFUSE(SYS_pidfd_open),
        REFUSE(SYS_sethostname),
        REFUSE(SYS_clock_settime),
        REFUSE(SYS_settimeofday),
        REFUSE(SYS_connect),
        REFUSE(SYS_sendto),
        REFUSE(SYS_mknod),
        REFUSE(SYS_mknodat),
        REFUSE(SYS_mount),
        REFUSE(SYS_waitid),
        REFUSE(SYS_reboot),
        REFUSE(SYS_wait4),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
#undef REFUSE
    struct sock_fprog prog = { .len = sizeof(code) / sizeof(*code), .filter = code };
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
}

static void send_input(int fd, const uint8_t *data, size_t size)
{
    uint8_t mem[32];
    struct proto_writer w;
    proto_frame_begin(&w, mem, sizeof(mem));
    proto_put_handshake(&w, 0);
    int n = proto_frame_end(&w, 0, PROTO_HANDSHAKE, 0);
    if (data[0] & 1)
        MUST(write(fd, mem, (size_t)n) == n);
    if (size > 1)
        MUST(write(fd, data + 1, size - 1) >= 0);
    (void)shutdown(fd, SHUT_WR); /* the agent sees the end behind the last byte and takes the link down */
}

/* What the agent answers is read, so that it never waits for us. */
static void before_sleep(void *arg)
{
    struct agent *a = arg;
    char out[65536];
    agent_conn_settle(a);
    while (recv(a->signals.fd, out, sizeof(out), MSG_DONTWAIT) > 0)
        continue;
}

static void serve(const uint8_t *data, size_t size)
{
    int fds[2];
    struct agent a = { .listener.fd = -EBADF };
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    a.signals.fd = fds[1]; /* the place of the signal descriptor, which this agent has none of */
    MUST(agent_loop_init(&a.loop) == 0 && agent_conn_new(&a, fds[0]) == 0);
    send_input(fds[1], data, size);
    agent_loop_run(&a.loop, before_sleep, &a); /* until its only link is gone */
    MUST(!a.conns && !a.execs);
    agent_conn_end_all(&a);
    agent_service_end_all(&a);
    agent_exec_end_all(&a);
    agent_job_end_all(&a);
    agent_loop_done(&a.loop);
    (void)close(fds[1]);
}

static void empty_root(void)
{
    int fd = openat(turn.root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    MUST(d);
    for (const struct dirent *e; (e = readdir(d));) {
        bool is_dots = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
        if (!is_dots && unlinkat(turn.root_fd, e->d_name, 0) < 0)
            MUST(tree_remove(turn.root_fd, e->d_name, NULL) == 0);
    }
    (void)closedir(d);
    MUST(fchmod(turn.root_fd, 0755) == 0 && mkdirat(turn.root_fd, "tmp", 0777) == 0);
}

static void *live(void *arg)
{
    (void)arg;
    MUST(unshare(CLONE_FS) == 0 && chroot(turn.folder) == 0 && chdir("/") == 0);
    (void)umask(022);
    refuse_calls();
    for (;;) {
        while (sem_wait(&turn.begin) < 0)
            continue;
        if (!turn.data)
            return NULL;
        empty_root();
        serve(turn.data, turn.size);
        (void)sem_post(&turn.done);
    }
}

static void leave(void)
{
    turn.data = NULL;
    (void)sem_post(&turn.begin);
    (void)pthread_join(turn.thread, NULL);
    (void)close(turn.root_fd);
    (void)tree_remove(AT_FDCWD, turn.folder, NULL);
}

static void begin(void)
{
    (void)snprintf(turn.folder, sizeof(turn.folder), "/dev/shm/fuzz_agent.XXXXXX");
    MUST(mkdtemp(turn.folder));
    turn.root_fd = open(turn.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    MUST(turn.root_fd >= 0);
    agent_spawn_init();
    (void)agent_spawn_null(); /* while /dev is there */
    MUST(sem_init(&turn.begin, 0, 0) == 0 && sem_init(&turn.done, 0, 0) == 0);
    MUST(pthread_create(&turn.thread, NULL, live, NULL) == 0);
    MUST(atexit(leave) == 0);
}

/* An ordinary user may chroot in a user namespace, which must be made before there is a second thread. */
__attribute__((constructor)) static void before_threads(void)
{
    if (geteuid() != 0)
        (void)unshare(CLONE_NEWUSER);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > INPUT_MAX)
        return 0;
    if (!turn.folder[0])
        begin();
    turn.data = data;
    turn.size = size;
    (void)sem_post(&turn.begin);
    while (sem_wait(&turn.done) < 0)
        continue;
    return 0;
}
