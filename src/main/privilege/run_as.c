#include "main/privilege/run_as.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define OWN_NAME "iii-sandbox"
/* Close to the end of 16 bits: systemd's dynamic users end below it, and adduser does not reach it. */
#define FREE_FIRST 65520u
#define FREE_LAST  65533u
#define ID_MAX     0x7ffffffful

/* Whether all of text is a number that can be an id. */
static bool read_id(const char *text, unsigned long *ret)
{
    char *end = NULL;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *ret = strtoul(text, &end, 10);
    return *end == '\0' && errno == 0 && *ret <= ID_MAX;
}

static int find_user(const char *text, struct run_as *ret, struct err *err)
{
    unsigned long id;
    const struct passwd *pw = getpwnam(text);
    if (!pw && !read_id(text, &id))
        return err_set(err, ERR_INVALID, 0, "III_RUN_AS: there is no user \"%.60s\"", text);
    *ret = pw ? (struct run_as){ pw->pw_uid, pw->pw_gid } : (struct run_as){ (uid_t)id, (gid_t)id };
    return 0;
}

static int pick_unused(struct run_as *ret, struct err *err)
{
    for (unsigned id = FREE_FIRST; id <= FREE_LAST; id++)
        if (!getpwuid(id) && !getgrgid(id)) {
            *ret = (struct run_as){ id, id };
            return 0;
        }
    return err_set(err, ERR_CONFLICT, 0,
                   "all user ids from %u to %u are taken: make a user " OWN_NAME ", or name one with --run-as",
                   FREE_FIRST, FREE_LAST);
}

int run_as_pick(const char *text, struct run_as *ret, struct err *err)
{
    CLEANUP(free_p) char *user = xstrdup(text);
    char *group = strchr(user, ':');
    struct run_as who = { geteuid(), getegid() };
    int r = 0;
    if (group)
        *group++ = '\0';
    if (*text)
        r = find_user(user, &who, err);
    else if (geteuid() == 0 && !getpwnam(OWN_NAME))
        r = pick_unused(&who, err);
    else if (geteuid() == 0)
        r = find_user(OWN_NAME, &who, err);
    if (r < 0)
        return r;
    if (group) {
        unsigned long id;
        const struct group *gr = getgrnam(group);
        if (!gr && !read_id(group, &id))
            return err_set(err, ERR_INVALID, 0, "III_RUN_AS: there is no group \"%.60s\"", group);
        who.gid = gr ? gr->gr_gid : (gid_t)id;
    }
    if (geteuid() != 0 && who.uid != geteuid())
        return err_set(err, ERR_FORBIDDEN, 0, "III_RUN_AS: only root can become user \"%.60s\"", user);
    if (geteuid() != 0)
        who.gid = getegid();
    *ret = who;
    return 0;
}

bool run_as_can_enter(const char *dir, const struct run_as *who)
{
    CLEANUP(free_p) char *path = xstrdup(dir);
    for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
        struct stat st;
        slash[slash == path] = '\0';
        if (stat(path, &st) < 0)
            return false;
        mode_t search = st.st_uid == who->uid ? S_IXUSR : st.st_gid == who->gid ? S_IXGRP : S_IXOTH;
        if (!(st.st_mode & search))
            return false;
        if (path[1] == '\0')
            return true;
    }
    return true;
}
