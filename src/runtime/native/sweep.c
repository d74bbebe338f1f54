/* A box is found by its folder boxes/NAME, which has two links: "id" (of its sandbox; prepared boxes have none) and
 * "pid" (pid and start time of its first process). Sockets and control groups have the same name, so that a box
 * without its folder is found as well. */
#include "runtime/native/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "runtime/native/kept.h"

struct sweep {
    struct native_box_site *site;
    const struct native_box *known;
    bool keeps_marked;
    struct native_box *found;
};

static bool is_known(const struct native_box *list, const char *name)
{
    while (list && strcmp(list->name, name) != 0)
        list = list->next;
    return list != NULL;
}

bool sweep_is_kept(const struct buf *kept, const char *id)
{
    for (size_t at = 0; at < kept->len; at += strlen(kept->data + at) + 1)
        if (strcmp(kept->data + at, id) == 0)
            return true;
    return false;
}

static void box_doom(struct sweep *s, const char *name, bool is_kept)
{
    struct native_box *c = native_box_orphan(s->site, name);
    c->is_kept = is_kept;
    native_box_kill(c);
    c->next = s->found;
    s->found = c;
}

static DIR *list_folder(int fd)
{
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return again < 0 ? NULL : fdopendir(again);
}

static void sweep_boxes(struct sweep *s, const struct buf *kept, struct native_task_list *tasks)
{
    char own[32];
    struct err err = ERR_INIT;
    DIR *d = list_folder(s->site->boxes_fd);
    snprintf(own, sizeof(own), "tmp-%d-", (int)getpid());
    for (struct dirent *e; d && (e = readdir(d));) {
        if (wire_is_name(e->d_name)) {
            char path[WIRE_NAME_MAX + 8], id[IDENT_MAX] = "";
            snprintf(path, sizeof(path), "%.16s/id", e->d_name);
            ssize_t n = readlinkat(s->site->boxes_fd, path, id, sizeof(id) - 1);
            id[n > 0 ? n : 0] = '\0';
            bool is_kept =
                n > 0 && (sweep_is_kept(kept, id) || (s->keeps_marked && kept_is_marked(s->site, e->d_name)));
            bool is_halted = is_kept && !is_known(s->known, e->d_name); /* or its start was interrupted */
            if (is_halted && kept_mark(s->site, e->d_name, &err) < 0)
                log_event(LOG_WARN, "launcher.mark", "error", err.msg, NULL); /* the daemon names it again */
            if (!is_known(s->known, e->d_name) && (!is_kept || kept_has_process(s->site, e->d_name)))
                box_doom(s, e->d_name, is_kept);
        } else if (strncmp(e->d_name, "tmp-", 4) == 0 && strncmp(e->d_name, own, strlen(own)) != 0) {
            native_task_remove(tasks, e->d_name);
        }
    }
    if (d)
        (void)closedir(d); /* read only */
}

/* Removes sockets whose folder is gone. Those of the boxes found above are unlinked when they are killed. */
static void sweep_sockets(struct sweep *s)
{
    DIR *d = list_folder(s->site->run_fd);
    for (struct dirent *e; d && (e = readdir(d));) {
        char name[WIRE_NAME_MAX];
        size_t len = strlen(e->d_name);
        if (len != sizeof(name) - 4 + 5 || strcmp(e->d_name + len - 5, ".sock") != 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(len - 5), e->d_name);
        if (wire_is_name(name) && faccessat(s->site->boxes_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
            (void)unlinkat(s->site->run_fd, e->d_name, 0); /* gone already is fine */
    }
    if (d)
        (void)closedir(d); /* read only */
}

static int sweep_group(const struct cgroup *cg, void *userdata)
{
    struct sweep *s = userdata;
    const char *name = strchr(cg->name, '-');
    if (!name || !wire_is_name(++name) || is_known(s->known, name) || is_known(s->found, name))
        return 0;
    if (faccessat(s->site->boxes_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
        box_doom(s, name, false);
    return 0;
}

struct native_box *sweep_run(struct native_box_site *site, const struct native_box *known, const struct buf *kept,
                             bool keeps_marked, struct native_task_list *tasks)
{
    char prefix[CGROUP_NAME_MAX];
    struct sweep s = { .site = site, .known = known, .keeps_marked = keeps_marked };
    sweep_boxes(&s, kept, tasks);
    sweep_sockets(&s);
    snprintf(prefix, sizeof(prefix), "%s-", site->tag);
    (void)cgroup_list(&site->cgroups, prefix, sweep_group, &s); /* what cannot be listed cannot be ours */
    return s.found;
}

void sweep_reserve(struct native_box_site *site)
{
    DIR *d = list_folder(site->boxes_fd);
    for (struct dirent *e; d && (e = readdir(d));)
        if (wire_is_name(e->d_name))
            native_box_reserve(site, e->d_name);
    if (d)
        (void)closedir(d); /* read only */
}
