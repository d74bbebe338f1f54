#include "agent/as_user.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The agent's own, to return to. */
static struct {
    uint32_t groups[AGENT_SPAWN_MAX_GROUPS];
    int n_groups, dumpable;
} own;

int agent_as_user_read(const char *text, struct agent_spawn_user *ret)
{
    if (text[0])
        return agent_spawn_user(text, ret);
    *ret = (struct agent_spawn_user){ .uid = geteuid(), .gid = getegid() };
    return 0;
}

static bool is_us(const struct agent_spawn_user *u)
{
    return u->uid == geteuid() && u->gid == getegid();
}

/* A user namespace that forbids setgroups has no groups to give either. */
static int set_groups(size_t n, const uint32_t *groups)
{
    return syscall(SYS_setgroups, n, groups) < 0 && !(errno == EPERM && n == 0) ? -errno : 0;
}

int agent_as_user_enter(const struct agent_spawn_user *u)
{
    if (is_us(u))
        return 0;
    own.dumpable = prctl(PR_GET_DUMPABLE);
    own.n_groups = (int)syscall(SYS_getgroups, AGENT_SPAWN_MAX_GROUPS, own.groups);
    int r = own.n_groups < 0 ? -errno : set_groups(u->n_groups, u->groups);
    if (r < 0)
        return r;
    /* Neither call reports a failure: only asking again does. */
    (void)setfsgid(u->gid);
    (void)setfsuid(u->uid);
    if ((uint32_t)setfsuid((uid_t)-1) == u->uid && (uint32_t)setfsgid((gid_t)-1) == u->gid)
        return 0;
    agent_as_user_leave(u);
    return -EPERM;
}

void agent_as_user_leave(const struct agent_spawn_user *u)
{
    int before = errno;

    if (is_us(u))
        return;
    (void)setfsuid(geteuid());
    (void)setfsgid(getegid());
    if ((uid_t)setfsuid((uid_t)-1) != geteuid() || set_groups((size_t)own.n_groups, own.groups) < 0)
        abort();                                         /* anything later would run with the rights of another */
    (void)prctl(PR_SET_DUMPABLE, own.dumpable, 0, 0, 0); /* the kernel resets it with each change of the user */
    errno = before;
}

int agent_as_user_become(const struct agent_spawn_user *u)
{
    if (is_us(u))
        return 0;
    int r = set_groups(u->n_groups, u->groups);
    if (r == 0 &&
        (syscall(SYS_setresgid, u->gid, u->gid, u->gid) < 0 || syscall(SYS_setresuid, u->uid, u->uid, u->uid) < 0))
        r = -errno;
    return r;
}
