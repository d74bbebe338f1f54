#include "agent/process_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/file.h"
#include "base/limits.h"
#include "os/proc.h"

#define MAX_PASSES 16

struct entry {
    pid_t pid, parent, session;
    bool is_ours;
};

struct table {
    struct entry *entries;
    size_t n, cap;
};

static int read_table(struct table *t)
{
    char path[32], text[512];
    DIR *dir = opendir("/proc");

    if (!dir)
        return -errno;
    t->n = 0;
    for (struct dirent *d; (d = readdir(dir)) && t->n < LIMIT_MAX(PIDS);) {
        if (d->d_name[0] < '1' || d->d_name[0] > '9')
            continue;
        (void)snprintf(path, sizeof(path), "%.10s/stat", d->d_name);
        if (agent_file_proc(dirfd(dir), path, text, sizeof(text)) <= 0)
            continue;
        const char *state = proc_stat_field(text, 3), *parent = proc_stat_field(text, 4),
                   *session = proc_stat_field(text, 6);
        if (!session || *state == 'Z')
            continue;
        if (t->n == t->cap) {
            size_t cap = t->cap ? t->cap * 2 : 64;
            struct entry *more = realloc(t->entries, cap * sizeof(*more));
            if (!more)
                break; /* kill those we know */
            t->entries = more;
            t->cap = cap;
        }
        t->entries[t->n++] = (struct entry){ .pid = (pid_t)strtol(d->d_name, NULL, 10),
                                             .parent = (pid_t)strtol(parent, NULL, 10),
                                             .session = (pid_t)strtol(session, NULL, 10) };
    }
    (void)closedir(dir);
    return 0;
}

/* /proc lists pids in ascending order, so the table allows a binary search: a fork bomb makes it long. */
static bool is_marked(const struct table *t, pid_t pid)
{
    size_t low = 0, high = t->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (t->entries[mid].pid == pid)
            return t->entries[mid].is_ours;
        if (t->entries[mid].pid < pid)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}

/* Marks members of root's session and, until nothing changes, children of marked processes. */
static void table_mark(struct table *t, pid_t root, bool is_reaped)
{
    pid_t self = getpid();
    bool is_reused = false;

    for (size_t i = 0; i < t->n && is_reaped; i++)
        is_reused |= t->entries[i].pid == root; /* the pid and its session were reused */
    for (bool has_new = true; has_new;) {
        has_new = false;
        for (size_t i = 0; i < t->n; i++) {
            struct entry *e = &t->entries[i];
            if (e->is_ours || e->pid == self || is_reused)
                continue;
            e->is_ours = e->session == root || e->pid == root || is_marked(t, e->parent);
            has_new |= e->is_ours;
        }
    }
}

static size_t signal_all(const struct table *t, int signo)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        if (t->entries[i].is_ours && kill(t->entries[i].pid, signo) == 0)
            n++;
    return n;
}

void agent_process_tree_kill(pid_t root, int is_reaped)
{
    struct table t = { 0 };
    size_t before = 0;

    /* Stop first: a stopped process forks no children and keeps its place in the tree, so the passes converge. */
    for (int pass = 0; pass < MAX_PASSES && read_table(&t) == 0; pass++) {
        table_mark(&t, root, is_reaped);
        size_t now = signal_all(&t, SIGSTOP);
        if (now == 0 || now == before)
            break;
        before = now;
    }
    (void)signal_all(&t, SIGKILL);
    if (!is_reaped) {
        (void)kill(-root, SIGKILL); /* even when /proc could not be read */
        (void)kill(root, SIGKILL);
    }
    free(t.entries);
}
