/* Stands where Firecracker's jailer would: does what its documentation says it does, really (copy, bind, pivot, device
 * nodes, owners, another user, start), and refuses what the documentation does not allow. Stricter than the real one in
 * one thing: where its copy could follow a link that somebody put there before (CVE-2026-1386) it ends.
 *
 *     cc -static -o jailer standin_jailer.c */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define EXTRA_MAX 32

struct order {
    const char *id, *exec_file, *base, *name; /* name: the last part of exec_file */
    long uid, gid;
    unsigned long files;
    char **extra; /* for Firecracker */
};

static void refuse(const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    fputs("jailer: ", stderr);
    vfprintf(stderr, fmt, list);
    fputc('\n', stderr);
    va_end(list);
    exit(1);
}

static void must(int r, const char *what)
{
    if (r < 0)
        refuse("%s: %s", what, strerror(errno));
}

/* --- what it is told --- */

static unsigned long number(const char *text, const char *what)
{
    char *end;
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || n > 0xfffffffeul)
        refuse("%s: \"%s\" is no number", what, text);
    return n;
}

static void set_limit(struct order *o, const char *text)
{
    if (strncmp(text, "no-file=", 8) != 0)
        refuse("--resource-limit %s: not one that this stand-in knows", text);
    o->files = number(text + 8, "--resource-limit no-file");
}

static void once(const char **to, const char *value, const char *option)
{
    if (*to)
        refuse("%s is there twice", option);
    *to = value;
}

static void parse(int argc, char **argv, struct order *o)
{
    const char *uid = NULL, *gid = NULL;
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i += 2) {
        const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!value)
            refuse("%s wants a value", option);
        if (strcmp(option, "--id") == 0)
            once(&o->id, value, option);
        else if (strcmp(option, "--exec-file") == 0)
            once(&o->exec_file, value, option);
        else if (strcmp(option, "--uid") == 0)
            once(&uid, value, option);
        else if (strcmp(option, "--gid") == 0)
            once(&gid, value, option);
        else if (strcmp(option, "--chroot-base-dir") == 0)
            once(&o->base, value, option);
        else if (strcmp(option, "--resource-limit") == 0)
            set_limit(o, value);
        else
            refuse("unknown argument %s", option);
    }
    if (!o->id || !o->exec_file || !uid || !gid)
        refuse("--id, --exec-file, --uid and --gid are needed");
    o->uid = (long)number(uid, "--uid");
    o->gid = (long)number(gid, "--gid");
    o->extra = argv + (i < argc ? i + 1 : argc);
}

static void validate(struct order *o)
{
    struct stat st;
    size_t n = strlen(o->id);
    if (n < 1 || n > 64)
        refuse("--id has %zu characters", n);
    for (const char *c = o->id; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-')
            refuse("--id %s: letters, digits and hyphens only", o->id);
    if (stat(o->exec_file, &st) < 0 || !S_ISREG(st.st_mode))
        refuse("--exec-file %s is no file", o->exec_file);
    const char *slash = strrchr(o->exec_file, '/');
    o->name = slash ? slash + 1 : o->exec_file;
    if (!strstr(o->name, "firecracker"))
        refuse("--exec-file %s: its name does not have \"firecracker\" in it", o->exec_file);
    o->base = o->base ? o->base : "/srv/jailer";
    if (stat(o->base, &st) < 0 || !S_ISDIR(st.st_mode))
        refuse("--chroot-base-dir %s is no folder", o->base);
    for (char **extra = o->extra; *extra; extra++)
        if (strncmp(*extra, "--id", 4) == 0)
            refuse("the id is given to Firecracker by the jailer, not after --");
}

/* --- what it does --- */

static void close_inherited(void)
{
    DIR *list = opendir("/proc/self/fd");
    if (!list)
        refuse("/proc/self/fd: %s", strerror(errno));
    for (const struct dirent *e; (e = readdir(list));)
        if (atoi(e->d_name) > 2 && atoi(e->d_name) != dirfd(list))
            close(atoi(e->d_name));
    closedir(list);
}

/* Where the real one makes what is missing and takes what is there. */
static void enter_folder(const char *path)
{
    struct stat st;
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        refuse("make %s: %s", path, strerror(errno));
    must(lstat(path, &st), path);
    if (!S_ISDIR(st.st_mode) || st.st_uid != 0 || (st.st_mode & 0022))
        refuse("%s is a link or may be written by others: what is in it cannot be trusted", path);
}

static void copy_program(const struct order *o, const char *to)
{
    char piece[65536];
    struct stat st;
    if (lstat(to, &st) == 0)
        refuse("%s is there already: a copy would go where it leads", to);
    int in = open(o->exec_file, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0700);
    if (in < 0 || out < 0 || fstat(in, &st) < 0)
        refuse("copy %s: %s", o->exec_file, strerror(errno));
    for (ssize_t n; (n = read(in, piece, sizeof(piece))) != 0;)
        if (n < 0 || write(out, piece, (size_t)n) != n)
            refuse("copy %s: %s", o->exec_file, strerror(errno));
    must(fchmod(out, st.st_mode & 07777), "chmod the program");
    close(in);
    close(out);
}

static void enter_root(const char *root)
{
    must(unshare(CLONE_NEWNS), "unshare");
    must(mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL), "make mounts slaves");
    must(mount(root, root, NULL, MS_BIND | MS_REC, NULL), "bind the root");
    must(chdir(root), "chdir");
    must(mkdir("old_root", 0700), "make old_root");
    must((int)syscall(SYS_pivot_root, ".", "old_root"), "pivot_root");
    must(chdir("/"), "chdir /");
    must(umount2("old_root", MNT_DETACH), "unmount the old root");
    must(rmdir("old_root"), "remove old_root");
    must(chroot("."), "chroot");
}

static void make_device(const struct order *o, const char *path, unsigned major_number, unsigned minor_number)
{
    must(mknod(path, S_IFCHR | S_IRUSR | S_IWUSR, makedev(major_number, minor_number)), path);
    must(chown(path, (uid_t)o->uid, (gid_t)o->gid), path);
}

static void make_devices(const struct order *o)
{
    static const char *const folders[] = { "/", "/dev", "/dev/net", "/run" };
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        if (mkdir(folders[i], 0700) < 0 && errno != EEXIST)
            refuse("make %s: %s", folders[i], strerror(errno));
        must(chmod(folders[i], 0700), folders[i]);
        must(chown(folders[i], (uid_t)o->uid, (gid_t)o->gid), folders[i]);
    }
    make_device(o, "/dev/net/tun", 10, 200);
    make_device(o, "/dev/kvm", 10, 232);
}

static void start(const struct order *o)
{
    static char *none[] = { NULL };
    char program[300], id[80];
    char *argv[EXTRA_MAX + 6];
    size_t n = 0;
    snprintf(program, sizeof(program), "./%s", o->name);
    snprintf(id, sizeof(id), "--id=%s", o->id);
    argv[n++] = program;
    argv[n++] = id;
    argv[n++] = "--start-time-us=1";
    argv[n++] = "--start-time-cpu-us=1";
    for (char **extra = o->extra; *extra && n < EXTRA_MAX; extra++)
        argv[n++] = *extra;
    argv[n] = NULL;
    must(setresgid((gid_t)o->gid, (gid_t)o->gid, (gid_t)o->gid), "set the group");
    must(setresuid((uid_t)o->uid, (uid_t)o->uid, (uid_t)o->uid), "set the user");
    execve(program, argv, none);
    refuse("start %s: %s", program, strerror(errno));
}

int main(int argc, char **argv)
{
    struct order o = { .files = 2048 };
    char path[3][4096], target[4400];
    parse(argc, argv, &o);
    validate(&o);
    close_inherited();
    if (clearenv() != 0)
        refuse("clear the environment");
    snprintf(path[0], sizeof(path[0]), "%s/%s", o.base, o.name);
    snprintf(path[1], sizeof(path[1]), "%.4000s/%s", path[0], o.id);
    snprintf(path[2], sizeof(path[2]), "%.4080s/root", path[1]);
    for (int i = 0; i < 3; i++)
        enter_folder(path[i]);
    snprintf(target, sizeof(target), "%s/%s", path[2], o.name);
    copy_program(&o, target);
    struct rlimit files = { o.files, o.files };
    must(setrlimit(RLIMIT_NOFILE, &files), "limit open files");
    enter_root(path[2]);
    make_devices(&o);
    start(&o);
}
