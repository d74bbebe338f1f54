#include "runtime/native/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "runtime/native/disk.h"
#include "runtime/native/promote.h"

#define MARK       "kept"
#define PATH_BYTES 40 /* of an entry of a box's folder */

static void path_in(const char *name, const char *entry, char ret[PATH_BYTES])
{
    snprintf(ret, PATH_BYTES, "%.16s/%s", name, entry);
}

static bool is_folder_of(const struct native_box_site *site, const char *name, const char *id)
{
    char path[PATH_BYTES], found[IDENT_MAX];
    path_in(name, "id", path);
    ssize_t n = readlinkat(site->boxes_fd, path, found, sizeof(found) - 1);
    found[n > 0 ? n : 0] = '\0';
    return n > 0 && strcmp(found, id) == 0;
}

static DIR *list_folder(int at)
{
    int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? NULL : fdopendir(fd);
}

bool kept_find(const struct native_box_site *site, const char *id, const char *hint, char ret[WIRE_NAME_MAX])
{
    snprintf(ret, WIRE_NAME_MAX, "%s", hint);
    if (wire_is_name(hint) && is_folder_of(site, hint, id))
        return true;
    bool is_found = false;
    DIR *d = list_folder(site->boxes_fd);
    for (struct dirent *e; d && !is_found && (e = readdir(d));)
        if (wire_is_name(e->d_name) && is_folder_of(site, e->d_name, id)) {
            snprintf(ret, WIRE_NAME_MAX, "%.16s", e->d_name);
            is_found = true;
        }
    if (d)
        (void)closedir(d); /* read only */
    return is_found;
}

int kept_mark(const struct native_box_site *site, const char *name, struct err *err)
{
    char path[PATH_BYTES];
    path_in(name, MARK, path);
    if (symlinkat("-", site->boxes_fd, path) < 0 && errno != EEXIST)
        return err_sys(err, -errno, "mark the files of box %s to be kept", name);
    return 0;
}

static bool has_entry(const struct native_box_site *site, const char *name, const char *entry)
{
    char path[PATH_BYTES];
    path_in(name, entry, path);
    return faccessat(site->boxes_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool kept_is_marked(const struct native_box_site *site, const char *name)
{
    return has_entry(site, name, MARK);
}

bool kept_has_process(const struct native_box_site *site, const char *name)
{
    return has_entry(site, name, "pid");
}

static void remove_entry(const struct native_box_site *site, const char *name, const char *entry)
{
    char path[PATH_BYTES];
    path_in(name, entry, path);
    (void)unlinkat(site->boxes_fd, path, 0); /* absent is fine */
}

void kept_settle(const struct native_box_site *site, const char *name)
{
    remove_entry(site, name, "pid");
}

void kept_unmark(const struct native_box_site *site, const char *name)
{
    remove_entry(site, name, MARK);
}

/* Moves an entry of a folder to where only the remover looks. */
static int move_away(const struct native_box_site *site, int folder, const char *entry, struct native_task_list *tasks)
{
    char name[32];
    snprintf(name, sizeof(name), "tmp-%d-%u", (int)getpid(), tasks->counter++);
    if (renameat(folder, entry, site->boxes_fd, name) < 0)
        return -errno;
    native_task_remove(tasks, name);
    return 0;
}

/* An overlay that was mounted "volatile" refuses its work folder the next time. */
static int renew_work(const struct native_box_site *site, int folder, struct native_task_list *tasks, struct err *err)
{
    int r = 0;
    DIR *d = list_folder(folder);
    if (!d)
        return err_sys(err, -errno, "read the folder of a kept box");
    for (struct dirent *e; r >= 0 && (e = readdir(d));)
        if (strncmp(e->d_name, "work", 4) == 0)
            r = move_away(site, folder, e->d_name, tasks);
    (void)closedir(d); /* read only */
    if (r >= 0 && mkdirat(folder, "work", 0700) < 0)
        r = -errno;
    return r < 0 ? err_sys(err, r, "make a new work folder for a kept box") : 0;
}

int kept_take(struct native_box_site *site, struct native_box *c, const char *name, struct native_task_list *tasks,
              struct err *err)
{
    CLEANUP(close_fd_p) int kept = openat(site->boxes_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (kept < 0)
        return err_sys(err, -errno, "open the kept folder %s", name);
    int r = native_box_root_note(c, kept, err);
    if (r < 0)
        return r;
    c->is_kept = true; /* from here on it names our process */
    c->has_disk = has_entry(site, name, NATIVE_DISK_IMAGE);
    if (!c->has_disk && (r = renew_work(site, kept, tasks, err)) < 0)
        return r;
    if ((r = move_away(site, site->boxes_fd, c->name, tasks)) < 0)
        return err_sys(err, r, "remove the folder of prepared box %s", c->name);
    if (renameat(site->boxes_fd, name, site->boxes_fd, c->name) < 0)
        return err_sys(err, -errno, "move the kept folder %s", name);
    close_fd_p(&c->box);
    close_fd_p(&c->upper);
    c->box = c->upper = NO_FD;
    return native_box_root_reopen(site, c, err);
}

/* --- the writable folder --- */

static bool is_empty(int at, const char *name)
{
    bool has_entry = false;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e; d && !has_entry && (e = readdir(d));)
        has_entry = strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d)
        (void)closedir(d); /* read only */
    return !has_entry;
}

/* A promote that failed may have left an empty folder that was never mounted: as the topmost it changes nothing. */
int kept_uppers(int box, char top[KEPT_UPPER], char former[KEPT_UPPER], struct err *err)
{
    *top = *former = '\0';
    DIR *d = list_folder(box);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, "upper", 5) == 0 && (!*top || promote_generation(e->d_name) > promote_generation(top)))
            snprintf(top, KEPT_UPPER, "%.20s", e->d_name);
    if (d)
        rewinddir(d);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, "upper", 5) == 0 && strcmp(e->d_name, top) != 0 && !is_empty(box, e->d_name) &&
            (!*former || promote_generation(e->d_name) > promote_generation(former)))
            snprintf(former, KEPT_UPPER, "%.20s", e->d_name);
    if (d)
        (void)closedir(d); /* read only */
    return *top ? 0 : err_set(err, ERR_NOT_FOUND, ENOENT, "the kept box has no writable folder");
}
