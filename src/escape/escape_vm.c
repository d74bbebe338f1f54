#include "escape/escape_vm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "os/program.h"

#define IMAGE     "shell" /* the name that the scenes use */
#define TAR_BLOCK 512
#define COPY_MS   60000

/* Programs that the scenes run, besides the probe. */
static const char *const applets[] = { "sh", "cat",   "chmod", "cksum", "echo",   "grep", "head",
                                       "id", "ln",    "ls",    "mkdir", "mkfifo", "od",   "ps",
                                       "rm", "sleep", "test",  "touch", "true",   "env",  NULL };

/* What a probe may reach in a kernel that belongs to the sandbox alone, and why that is acceptable. */
static const struct {
    const char *name, *why;
} own_kernel[] = {
    { "socket option: netfilter tables", "those of the guest's own kernel" },
    { "network interfaces", "the VM's own, which lead nowhere until it is let into a network" },
    { "oom_score_adj -1000", "whom the guest's own kernel ends when its memory is full" },
};

bool escape_vm_is(const char *backend)
{
    return strcmp(backend, "qemu") == 0 || strcmp(backend, "firecracker") == 0 || strcmp(backend, "krun") == 0;
}

/* --- the image --- */

static int write_all(int fd, const void *data, size_t len)
{
    const char *p = data;
    for (ssize_t n; len; p += n, len -= (size_t)n)
        if ((n = write(fd, p, len)) <= 0)
            return -EIO;
    return 0;
}

static int add_entry(int fd, const char *name, char type, const char *link, size_t size)
{
    char head[TAR_BLOCK] = "";
    unsigned sum = 0;
    (void)snprintf(head, 100, "%s", name);
    (void)snprintf(head + 100, 8, "%07o", 0755);
    (void)snprintf(head + 108, 8, "%07o", 0);
    (void)snprintf(head + 116, 8, "%07o", 0);
    (void)snprintf(head + 124, 12, "%011zo", size);
    (void)snprintf(head + 136, 12, "%011o", 0);
    memset(head + 148, ' ', 8); /* the checksum is computed with spaces in its own field */
    head[156] = type;
    (void)snprintf(head + 157, 100, "%s", link);
    (void)snprintf(head + 257, 6, "ustar");
    memset(head + 263, '0', 2); /* its version */
    for (size_t i = 0; i < sizeof(head); i++)
        sum += (unsigned char)head[i];
    (void)snprintf(head + 148, 8, "%06o", sum);
    return write_all(fd, head, sizeof(head));
}

static int add_program(int out, int in)
{
    static const char zeroes[TAR_BLOCK];
    char piece[65536];
    struct stat st;
    ssize_t n = 0;
    int r = fstat(in, &st) < 0 ? -errno : add_entry(out, "bin/busybox", '0', "", (size_t)st.st_size);
    size_t left = r < 0 ? 0 : (size_t)st.st_size;
    while (r >= 0 && left && (n = read(in, piece, left < sizeof(piece) ? left : sizeof(piece))) > 0) {
        r = write_all(out, piece, (size_t)n);
        left -= (size_t)n;
    }
    if (r < 0 || left)
        return r < 0 ? r : -EIO;
    return write_all(out, zeroes, (TAR_BLOCK - (size_t)st.st_size % TAR_BLOCK) % TAR_BLOCK);
}

static int write_image(const char *path, struct err *err)
{
    static const char end[2 * TAR_BLOCK];
    static const char *const folders[] = { "bin/", "etc/", "tmp/", "usr/", "usr/bin/", "workspace/" };
    static const char passwd[TAR_BLOCK] = "root:x:0:0::/:/bin/sh\n";
    char busybox[PROGRAM_PATH_MAX], name[64];
    if (!program_find("busybox", busybox))
        return err_set(err, ERR_UNSUPPORTED, 0,
                       "VMs run an image, and this suite makes it of busybox: apt-get install busybox-static");
    CLEANUP(close_fd_p) int in = open(busybox, O_RDONLY | O_CLOEXEC);
    CLEANUP(close_fd_p) int out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int r = in < 0 || out < 0 ? -errno : 0;
    for (size_t i = 0; r >= 0 && i < sizeof(folders) / sizeof(*folders); i++)
        r = add_entry(out, folders[i], '5', "", 0);
    if (r >= 0)
        r = add_program(out, in);
    for (size_t i = 0; r >= 0 && applets[i]; i++) {
        (void)snprintf(name, sizeof(name), "bin/%s", applets[i]);
        r = add_entry(out, name, '2', "busybox", 0);
    }
    if (r >= 0)
        r = add_entry(out, "usr/bin/env", '2', "/bin/busybox", 0);
    if (r >= 0 && (r = add_entry(out, "etc/passwd", '0', "", strlen(passwd))) >= 0)
        r = write_all(out, passwd, sizeof(passwd));
    if (r >= 0)
        r = write_all(out, end, sizeof(end));
    return r < 0 ? err_sys(err, r, "write %s", path) : 0;
}

/* --- before the server starts --- */

static int run_self(const char *const *argv, struct err *err)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(STDERR_FILENO, STDOUT_FILENO); /* standard output is for the report */
        (void)execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return err_set(err, ERR_INTERNAL, 0, "iii %s %s failed: its message is above", argv[1], argv[2]);
}

int escape_vm_prepare(struct suite *s, const char *data_dir, struct err *err)
{
    CLEANUP(free_p) char *data = xasprintf("%s/data", s->dir);
    CLEANUP(free_p) char *vm = xasprintf("%s/data/vm", s->dir);
    CLEANUP(free_p) char *kit = xasprintf("%s/vm/kit", data_dir);
    CLEANUP(free_p) char *tar = xasprintf("%s/image.tar", s->dir);
    const char *const setup[] = { "iii", "vm", "setup", "--data-dir", data, NULL };
    const char *const import[] = { "iii", "image", "import", tar, IMAGE, "--data-dir", data, NULL };
    const char *const copy[] = { "cp", "-r", "--", kit, vm, NULL };
    const struct program_call call = { .argv = copy, .cwd = NO_FD, .fd = NO_FD, .limit_ms = COPY_MS };
    if (chmod(s->dir, 0711) < 0 || mkdir(data, 0700) < 0)
        return err_sys(err, -errno, "make %s", data);
    if (access(kit, R_OK) == 0 && mkdir(vm, 0700) == 0)
        (void)program_run(&call, NULL); /* on failure it is built again */
    int r = run_self(setup, err);
    if (r >= 0)
        r = write_image(tar, err);
    return r < 0 ? r : run_self(import, err);
}

/* --- differences on a VM backend --- */

void escape_vm_judge(struct suite *s)
{
    size_t i;
    json_t *row;
    json_array_foreach(s->rows, i, row)
    {
        for (size_t k = 0; k < sizeof(own_kernel) / sizeof(*own_kernel); k++)
            if (strcmp(json_get_str(row, "result", ""), "reached") == 0 &&
                strcmp(json_get_str(row, "name", ""), own_kernel[k].name) == 0) {
                (void)json_object_set_new(row, "result", json_string("skipped"));
                (void)json_object_set_new(row, "detail", json_string(own_kernel[k].why));
            }
    }
}

static bool has_disk(const char *pid, const char *boxes)
{
    char folder[64], link[300], target[4096];
    (void)snprintf(folder, sizeof(folder), "/proc/%.20s/fd", pid);
    DIR *d = opendir(folder);
    bool is_found = false;
    for (struct dirent *e = d ? readdir(d) : NULL; e && !is_found; e = readdir(d)) {
        (void)snprintf(link, sizeof(link), "%s/%.20s", folder, e->d_name);
        ssize_t n = readlink(link, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        is_found = strncmp(target, boxes, strlen(boxes)) == 0;
    }
    if (d)
        (void)closedir(d);
    return is_found;
}

/* --- the VMMs --- */

/* The value of a line of /proc/PID/status without leading white space. */
static void status_of(const char *pid, const char *key, char ret[256])
{
    char path[64], line[512];
    (void)snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
    FILE *f = fopen(path, "re");
    ret[0] = '\0';
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':') {
            const char *at = line + strlen(key) + 1;
            at += strspn(at, " \t");
            (void)snprintf(ret, 256, "%.*s", (int)strcspn(at, "\n"), at);
        }
    if (f)
        (void)fclose(f);
}

static void expect(struct suite *s, const char *pid, const char *name, const char *key, const char *wanted)
{
    char value[256];
    status_of(pid, key, value);
    suite_row(s, 18, name, strcmp(value, wanted) == 0 ? SUITE_DENIED : SUITE_REACHED, "%s: %s", key, value);
}

static void look_at_vmm(struct suite *s, const char *pid, char uid[256])
{
    static const char *const kinds[] = { "mnt", "pid", "net", "ipc", "uts" };
    static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };
    char name[64];
    status_of(pid, "Uid", uid);
    if (geteuid() == 0)
        suite_row(s, 18, "a VMM with the user of the host's root",
                  strtoul(uid, NULL, 10) > 0x10000 ? SUITE_DENIED : SUITE_REACHED, "Uid: %s", uid);
    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
        (void)snprintf(name, sizeof(name), "capabilities of a VMM: %s", sets[i]);
        expect(s, pid, name, sets[i], "0000000000000000");
    }
    expect(s, pid, "a VMM that may gain privileges", "NoNewPrivs", "1");
    expect(s, pid, "a VMM without a filter of system calls", "Seccomp", "2");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        char path[64], theirs[64] = "", ours[64] = "";
        (void)snprintf(name, sizeof(name), "a VMM in the host's %s namespace", kinds[i]);
        (void)snprintf(path, sizeof(path), "/proc/%.20s/ns/%s", pid, kinds[i]);
        bool is_known = readlink(path, theirs, sizeof(theirs) - 1) > 0;
        (void)snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[i]);
        is_known &= readlink(path, ours, sizeof(ours) - 1) > 0;
        suite_row(s, 18, name, is_known && strcmp(theirs, ours) != 0 ? SUITE_DENIED : SUITE_REACHED, "%s",
                  is_known ? theirs : "it cannot be seen");
    }
}

void escape_vm_vmms(struct suite *s)
{
    CLEANUP(free_p) char *boxes = xasprintf("%s/data/vm/boxes/", s->dir);
    char uids[2][256] = { "", "" };
    unsigned n = 0;
    DIR *d = opendir("/proc");
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        if (e->d_name[0] > '0' && e->d_name[0] <= '9' && has_disk(e->d_name, boxes))
            look_at_vmm(s, e->d_name, uids[n++ % 2]);
    if (d)
        (void)closedir(d);
    if (!n)
        suite_row(s, 18, "the VMMs", SUITE_SKIPPED, "this backend's keep no drive open by which they could be found");
    else if (geteuid() == 0)
        suite_row(s, 18, "two VMMs with the same user", strcmp(uids[0], uids[1]) != 0 ? SUITE_DENIED : SUITE_REACHED,
                  "%s and %s", uids[0], uids[1]);
}

unsigned escape_vm_count(const struct suite *s)
{
    CLEANUP(free_p) char *boxes = xasprintf("%s/data/vm/boxes/", s->dir);
    DIR *d = opendir("/proc");
    unsigned n = 0;
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        n += e->d_name[0] > '0' && e->d_name[0] <= '9' && has_disk(e->d_name, boxes);
    if (d)
        (void)closedir(d);
    return n;
}
