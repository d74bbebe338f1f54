/* The C library's calls with a counter before them. Symbols of the program win over those of libraries, also for calls
 * that libraries make; the real ones are found behind. Nothing here allocates or calls what it stands for. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault.h"

struct fault_plan *fault_plan;
static int own_role = FAULT_ROLE_TEST;

void fault_set_role(int role)
{
    own_role = role;
}

static void die(void)
{
    (void)syscall(SYS_kill, getpid(), SIGKILL);
}

/* 0: go on; FAULT_SHORT; else errno is set and the call fails. */
static int strike(enum fault_kind kind)
{
    struct fault_plan *p = fault_plan;
    if (!p || !(atomic_load(&p->is_armed) & own_role))
        return 0;
    int n = atomic_fetch_add(&p->n_calls, 1) + 1;
    if (n <= FAULT_CALLS_MAX)
        p->kinds[n - 1] = (unsigned char)kind;
    if (atomic_load(&p->is_alloc) || n != atomic_load(&p->at))
        return 0;
    int error = atomic_load(&p->error);
    atomic_store(&p->has_fired, true);
    if (error == FAULT_KILL)
        die();
    if (error > 0)
        errno = error;
    return error;
}

#define REAL(sym)                         \
    static __typeof__(fault_##sym) *real; \
    if (!real)                            \
    *(void **)&real = dlsym(RTLD_NEXT, #sym)

#define WRAP(ret, sym, kind, params, args) \
    ret fault_##sym params __asm__(#sym);  \
    ret fault_##sym params                 \
    {                                      \
        REAL(sym);                         \
        int error = strike(kind);          \
        if (error && error != FAULT_SHORT) \
            return (ret)-1;                \
        return real args;                  \
    }

struct stat;
struct pollfd;
struct epoll_event;
struct msghdr;
struct iovec;
struct timespec;

WRAP(int, open, FAULT_OPEN, (const char *p, int f, unsigned m), (p, f, m))
WRAP(int, open64, FAULT_OPEN, (const char *p, int f, unsigned m), (p, f, m))
WRAP(int, openat, FAULT_OPEN, (int d, const char *p, int f, unsigned m), (d, p, f, m))
WRAP(int, openat64, FAULT_OPEN, (int d, const char *p, int f, unsigned m), (d, p, f, m))
WRAP(long, read, FAULT_READ, (int fd, void *b, size_t n), (fd, b, n))
WRAP(long, pread64, FAULT_READ, (int fd, void *b, size_t n, long o), (fd, b, n, o))
WRAP(long, readv, FAULT_READ, (int fd, const struct iovec *v, int n), (fd, v, n))
WRAP(long, recvmsg, FAULT_READ, (int fd, struct msghdr *m, int f), (fd, m, f))
WRAP(long, sendmsg, FAULT_WRITE, (int fd, const struct msghdr *m, int f), (fd, m, f))
WRAP(int, fsync, FAULT_SYNC, (int fd), (fd))
WRAP(int, fdatasync, FAULT_SYNC, (int fd), (fd))
WRAP(int, ftruncate64, FAULT_CHANGE, (int fd, long n), (fd, n))
WRAP(int, fallocate64, FAULT_WRITE, (int fd, int m, long o, long n), (fd, m, o, n))
WRAP(long, copy_file_range, FAULT_WRITE, (int a, long *x, int b, long *y, size_t n, unsigned f), (a, x, b, y, n, f))
WRAP(int, rename, FAULT_CHANGE, (const char *a, const char *b), (a, b))
WRAP(int, renameat, FAULT_CHANGE, (int d, const char *a, int e, const char *b), (d, a, e, b))
WRAP(int, renameat2, FAULT_CHANGE, (int d, const char *a, int e, const char *b, unsigned f), (d, a, e, b, f))
WRAP(int, mkdir, FAULT_CHANGE, (const char *p, unsigned m), (p, m))
WRAP(int, mkdirat, FAULT_CHANGE, (int d, const char *p, unsigned m), (d, p, m))
WRAP(int, unlink, FAULT_CHANGE, (const char *p), (p))
WRAP(int, unlinkat, FAULT_CHANGE, (int d, const char *p, int f), (d, p, f))
WRAP(int, rmdir, FAULT_CHANGE, (const char *p), (p))
WRAP(int, linkat, FAULT_CHANGE, (int d, const char *a, int e, const char *b, int f), (d, a, e, b, f))
WRAP(int, symlinkat, FAULT_CHANGE, (const char *a, int d, const char *b), (a, d, b))
WRAP(int, mknodat, FAULT_CHANGE, (int d, const char *p, unsigned m, unsigned long v), (d, p, m, v))
WRAP(int, fchmod, FAULT_CHANGE, (int fd, unsigned m), (fd, m))
WRAP(int, fchmodat, FAULT_CHANGE, (int d, const char *p, unsigned m, int f), (d, p, m, f))
WRAP(int, fchown, FAULT_CHANGE, (int fd, unsigned u, unsigned g), (fd, u, g))
WRAP(int, fchownat, FAULT_CHANGE, (int d, const char *p, unsigned u, unsigned g, int f), (d, p, u, g, f))
WRAP(int, utimensat, FAULT_CHANGE, (int d, const char *p, const struct timespec *t, int f), (d, p, t, f))
WRAP(int, futimens, FAULT_CHANGE, (int fd, const struct timespec *t), (fd, t))
WRAP(int, fsetxattr, FAULT_CHANGE, (int fd, const char *k, const void *v, size_t n, int f), (fd, k, v, n, f))
WRAP(int, lsetxattr, FAULT_CHANGE, (const char *p, const char *k, const void *v, size_t n, int f), (p, k, v, n, f))
WRAP(int, mount, FAULT_CHANGE, (const char *a, const char *b, const char *t, unsigned long f, const void *d),
     (a, b, t, f, d))
WRAP(int, setns, FAULT_CHANGE, (int fd, int t), (fd, t))
WRAP(int, unshare, FAULT_CHANGE, (int f), (f))
WRAP(int, flock, FAULT_CHANGE, (int fd, int op), (fd, op))
WRAP(int, fstat64, FAULT_LOOK, (int fd, struct stat *s), (fd, s))
WRAP(int, fstatat64, FAULT_LOOK, (int d, const char *p, struct stat *s, int f), (d, p, s, f))
WRAP(int, stat64, FAULT_LOOK, (const char *p, struct stat *s), (p, s))
WRAP(int, lstat64, FAULT_LOOK, (const char *p, struct stat *s), (p, s))
WRAP(long, flistxattr, FAULT_LOOK, (int fd, char *b, size_t n), (fd, b, n))
WRAP(long, fgetxattr, FAULT_LOOK, (int fd, const char *k, void *v, size_t n), (fd, k, v, n))
WRAP(long, readlinkat, FAULT_LOOK, (int d, const char *p, char *b, size_t n), (d, p, b, n))
WRAP(int, socket, FAULT_FD, (int d, int t, int p), (d, t, p))
WRAP(int, socketpair, FAULT_FD, (int d, int t, int p, int *sv), (d, t, p, sv))
WRAP(int, pipe2, FAULT_FD, (int *fds, int f), (fds, f))
WRAP(int, memfd_create, FAULT_FD, (const char *n, unsigned f), (n, f))
WRAP(int, epoll_create1, FAULT_FD, (int f), (f))
WRAP(int, bind, FAULT_FD, (int fd, const void *a, unsigned n), (fd, a, n))
WRAP(int, fork, FAULT_PROCESS, (void), ())
WRAP(int, poll, FAULT_WAIT, (struct pollfd * p, unsigned long n, int t), (p, n, t))
WRAP(int, epoll_wait, FAULT_WAIT, (int e, struct epoll_event *v, int n, int t), (e, v, n, t))
WRAP(void *, mmap, FAULT_MAP, (void *a, size_t n, int p, int f, int fd, long o), (a, n, p, f, fd, o))
WRAP(void *, mmap64, FAULT_MAP, (void *a, size_t n, int p, int f, int fd, long o), (a, n, p, f, fd, o))

/* Writes may also be cut short. */
#define WRAP_WRITE(sym, params, half, args) \
    long fault_##sym params __asm__(#sym);  \
    long fault_##sym params                 \
    {                                       \
        REAL(sym);                          \
        int error = strike(FAULT_WRITE);    \
        if (error == FAULT_SHORT && n > 1)  \
            return real half;               \
        if (error && error != FAULT_SHORT)  \
            return -1;                      \
        return real args;                   \
    }
WRAP_WRITE(write, (int fd, const void *b, size_t n), (fd, b, n / 2), (fd, b, n))
WRAP_WRITE(pwrite64, (int fd, const void *b, size_t n, long o), (fd, b, n / 2, o), (fd, b, n, o))

/* A folder that cannot be opened or read. */
void *fault_fdopendir(int fd) __asm__("fdopendir");
void *fault_fdopendir(int fd)
{
    REAL(fdopendir);
    return strike(FAULT_OPEN) ? NULL : real(fd);
}

void *fault_opendir(const char *p) __asm__("opendir");
void *fault_opendir(const char *p)
{
    REAL(opendir);
    return strike(FAULT_OPEN) ? NULL : real(p);
}

static enum fault_kind kind_of(long nr)
{
    switch (nr) {
    case SYS_openat2:
        return FAULT_OPEN;
    case SYS_clone3:
        return FAULT_PROCESS;
    case SYS_open_tree:
    case SYS_fsopen:
    case SYS_fsmount:
    case SYS_pidfd_open:
        return FAULT_FD;
    case SYS_move_mount:
    case SYS_fsconfig:
    case SYS_mount_setattr:
    case SYS_pivot_root:
    case SYS_renameat2:
        return FAULT_CHANGE;
    default:
        return FAULT_NONE;
    }
}

long fault_syscall(long nr, long a, long b, long c, long d, long e, long f) __asm__("syscall");
long fault_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
    REAL(syscall);
    enum fault_kind kind = kind_of(nr);
    if (kind != FAULT_NONE && strike(kind))
        return -1;
    return real(nr, a, b, c, d, e, f);
}

/* A sanitizer has an allocator of its own, and memory from two of them does not mix. */
#if !defined(__SANITIZE_ADDRESS__)
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static bool is_out_of_memory(size_t size)
{
    struct fault_plan *p = fault_plan;
    if (!p || !(atomic_load(&p->is_armed) & own_role))
        return false;
    int n = atomic_fetch_add(&p->n_allocs, 1) + 1;
    if (!atomic_load(&p->is_alloc) || n != atomic_load(&p->at))
        return false;
    atomic_store(&p->has_fired, true);
    atomic_store(&p->alloc_size, size);
    errno = ENOMEM;
    return true;
}

void *malloc(size_t n)
{
    return is_out_of_memory(n) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return is_out_of_memory(n * size) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return is_out_of_memory(n) ? NULL : __libc_realloc(p, n);
}
#endif
