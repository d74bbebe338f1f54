/* Uid and gid ranges of boxes and the maps of their user namespaces. */
#include "os/idrange.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define GRANTS_MAX_BYTES (1u << 20) /* of /etc/subuid; a site with more ids uses a directory service */

int idrange_slot(uint32_t slot, struct idrange *ret)
{
    if (slot >= IDRANGE_POOL_SLOTS)
        return -ERANGE;
    uint32_t base = IDRANGE_POOL_BASE + slot * IDRANGE_SIZE;
    *ret = (struct idrange){
        .how = IDRANGE_ROOT, .uid_base = base, .gid_base = base, .uid_count = IDRANGE_SIZE, .gid_count = IDRANGE_SIZE
    };
    return 0;
}

/* ---- what the host grants an unprivileged user ---- */

/* Decimal digits only, the whole field, below 2^32 - 1 (which means "no id" everywhere). */
static bool field_number(const char *s, size_t len, uint32_t *ret)
{
    uint64_t value = 0;
    if (len == 0 || len > 10)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(s[i] - '0');
    }
    if (value >= UINT32_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

/* "name:start:count". Ids that include 0 or overflow are rejected, whatever the file contains. */
static bool line_grant(const char *line, size_t len, const char *name, uid_t uid, struct idrange_grant *ret)
{
    const char *first = memchr(line, ':', len);
    if (!first)
        return false;
    const char *second = memchr(first + 1, ':', len - (size_t)(first + 1 - line));
    if (!second)
        return false;
    size_t who = (size_t)(first - line);
    uint32_t number;
    bool is_me = (name && strlen(name) == who && memcmp(name, line, who) == 0) ||
                 (field_number(line, who, &number) && number == uid);
    struct idrange_grant g;
    if (!is_me || !field_number(first + 1, (size_t)(second - first - 1), &g.base) ||
        !field_number(second + 1, len - (size_t)(second + 1 - line), &g.count))
        return false;
    if (g.base == 0 || g.count == 0 || g.count > UINT32_MAX - g.base)
        return false;
    *ret = g;
    return true;
}

struct idrange_grant idrange_parse(const char *text, size_t len, const char *name, uid_t uid)
{
    struct idrange_grant best = { 0 };
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t line = end ? (size_t)(end - text) : len;
        struct idrange_grant g;
        if (line_grant(text, line, name, uid, &g) && g.count > best.count)
            best = g;
        size_t used = line + (end ? 1 : 0);
        text += used;
        len -= used;
    }
    return best;
}

static struct idrange_grant grant_in(const char *path, const char *name, uid_t uid)
{
    struct idrange_grant none = { 0 };
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    CLEANUP(free_p) char *text = fd < 0 ? NULL : malloc(GRANTS_MAX_BYTES);
    if (!text)
        return none;
    size_t len = 0;
    ssize_t n;
    while (len < GRANTS_MAX_BYTES && (n = read(fd, text + len, GRANTS_MAX_BYTES - len)) > 0)
        len += (size_t)n;
    return idrange_parse(text, len, name, uid);
}

const char *idrange_tool(const char *name)
{
    static const char *const places[][2] = {
        { "newuidmap", "/usr/bin/newuidmap" },
        { "newuidmap", "/usr/sbin/newuidmap" },
        { "newgidmap", "/usr/bin/newgidmap" },
        { "newgidmap", "/usr/sbin/newgidmap" },
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strcmp(places[i][0], name) == 0 && access(places[i][1], X_OK) == 0)
            return places[i][1];
    return NULL;
}

int idrange_user(struct idrange *ret, char *ret_why, size_t why_size)
{
    uid_t uid = geteuid();
    struct idrange single = {
        .how = IDRANGE_SINGLE, .uid_base = uid, .gid_base = getegid(), .uid_count = 1, .gid_count = 1
    };
    struct passwd pw, *found = NULL;
    char room[4096];
    (void)getpwuid_r(uid, &pw, room, sizeof room, &found); /* no name: the uid in decimal still counts */
    const char *name = found ? pw.pw_name : NULL;
    struct idrange_grant uids = grant_in("/etc/subuid", name, uid), gids = grant_in("/etc/subgid", name, uid);
    const char *why = "";
    if (!uids.count || !gids.count)
        why = "no range for this user in /etc/subuid and /etc/subgid (usermod --add-subuids --add-subgids)";
    else if (!idrange_tool("newuidmap") || !idrange_tool("newgidmap"))
        why = "newuidmap and newgidmap are not in /usr/bin (package uidmap)";
    if (ret_why && why_size)
        (void)snprintf(ret_why, why_size, "%s", why);
    if (*why) {
        *ret = single;
        return 0;
    }
    *ret = (struct idrange){ .how = IDRANGE_SUBID,
                             .uid_base = uids.base,
                             .gid_base = gids.base,
                             .uid_count = uids.count < IDRANGE_SIZE - 1 ? uids.count : IDRANGE_SIZE - 1,
                             .gid_count = gids.count < IDRANGE_SIZE - 1 ? gids.count : IDRANGE_SIZE - 1 };
    return 0;
}

/* ---- writing the maps ---- */

static int write_proc(pid_t pid, const char *file, const char *text, struct err *err)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    CLEANUP(close_fd_p) int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return err_sys(err, -errno, "write \"%s\" to %s", text, path);
    return 0;
}

/* TOOL pid 0 own 1 1 base count: inside 0 is the caller, the rest is the grant. */
static int run_tool(const char *name, pid_t pid, uint32_t own, uint32_t base, uint32_t count, struct err *err)
{
    const char *path = idrange_tool(name);
    if (!path)
        return err_set(err, ERR_UNSUPPORTED, 0, "%s is not in /usr/bin: install the package uidmap", name);
    char pid_arg[16], own_arg[16], base_arg[16], count_arg[16];
    (void)snprintf(pid_arg, sizeof pid_arg, "%d", (int)pid);
    (void)snprintf(own_arg, sizeof own_arg, "%u", own);
    (void)snprintf(base_arg, sizeof base_arg, "%u", base);
    (void)snprintf(count_arg, sizeof count_arg, "%u", count);
    const char *argv[] = { name, pid_arg, "0", own_arg, "1", "1", base_arg, count_arg, NULL };
    char *const envp[] = { NULL };
    pid_t child = fork();
    if (child < 0)
        return err_sys(err, -errno, "run %s", path);
    if (child == 0) {
        (void)execve(path, (char *const *)(uintptr_t)argv, envp);
        _exit(127);
    }
    int status = -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return err_sys(err, -errno, "wait for %s", path);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return err_set(
        err, ERR_FORBIDDEN, 0,
        "%s refused to map %s ids from %s for process %s: check that it is setuid root and that the range is "
        "granted",
        path, count_arg, base_arg, pid_arg);
}

int idrange_map(const struct idrange *r, pid_t pid, struct err *err)
{
    char uids[64], gids[64];
    int result = 0;
    if (r->uid_base == 0 || r->gid_base == 0 || !r->uid_count || !r->gid_count)
        return err_set(err, ERR_INVALID, 0, "a box must not be mapped to uid or gid 0 of the host");
    if (r->how == IDRANGE_SUBID) {
        result = run_tool("newuidmap", pid, geteuid(), r->uid_base, r->uid_count, err);
        return result < 0 ? result : run_tool("newgidmap", pid, getegid(), r->gid_base, r->gid_count, err);
    }
    /* One line "inside outside count" per file, in a single write as the kernel requires. */
    (void)snprintf(uids, sizeof uids, "0 %u %u", (unsigned)r->uid_base, r->uid_count);
    (void)snprintf(gids, sizeof gids, "0 %u %u", (unsigned)r->gid_base, r->gid_count);
    /* Without rights over gids the kernel requires setgroups to be denied first: dropping a group must not gain
     * access. */
    if (r->how == IDRANGE_SINGLE)
        result = write_proc(pid, "setgroups", "deny", err);
    if (result == 0)
        result = write_proc(pid, "uid_map", uids, err);
    if (result == 0)
        result = write_proc(pid, "gid_map", gids, err);
    return result;
}
