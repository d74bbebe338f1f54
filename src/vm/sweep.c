/* Removes what a crash left: VMs that no record names, found by anything they have (a socket, a folder, a control
 * group), and files that had not got their final name. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strlist.h"
#include "vm/vm_core.h"

struct sweeping {
    struct vm *vm;
    unsigned pending;
    box_done_fn *fn;
    void *arg;
};

struct ending {
    struct sweeping *s;
    char *folder;
};

static void sweep_step(struct sweeping *s)
{
    if (--s->pending)
        return;
    if (s->fn && !s->vm->is_ending)
        s->fn(s->arg, NULL);
    free(s);
}

static void on_swept(void *arg, const struct err *err)
{
    struct ending *o = arg;
    if (!err)
        vm_image_file_remove_later(o->s->vm, o->folder);
    sweep_step(o->s);
    free(o->folder);
    free(o);
}

static int add_group(const struct cgroup *cg, void *arg)
{
    char ***names = arg;
    const char *dash = strchr(cg->name, '-');
    if (dash)
        strlist_add(names, dash + 1);
    return 0;
}

/* Removes files that had not got their final name. vm_snapshot_collect() removes snapshots. */
static void remove_half_made(struct vm *vm, const char *folder)
{
    static const char ending[] = ".new";
    CLEANUP(free_p) char *dir = xasprintf("%s/%s", vm->site.dir, folder);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t len = strlen(e->d_name), tail = sizeof(ending) - 1;
        if (len <= tail || strcmp(e->d_name + len - tail, ending) != 0)
            continue;
        CLEANUP(free_p) char *path = xasprintf("%s/%s", dir, e->d_name);
        if (unlink(path) < 0)
            vm_image_file_remove_later(vm, path);
    }
    if (d)
        (void)closedir(d);
}

void vm_sweep_run(struct runtime *rt, const char *const *kept_ids, size_t n, box_done_fn *fn, void *arg)
{
    struct vm *vm = vm_of(rt);
    char prefix[CGROUP_NAME_MAX];
    CLEANUP(strlist_free_p) char **names = NULL;
    struct sweeping *s = xzalloc(sizeof(*s));
    *s = (struct sweeping){ .vm = vm, .pending = 1, .fn = fn, .arg = arg };
    (void)kept_ids; /* the adopted boxes are in vm->boxes, the others in vm->halted */
    (void)n;
    static const char *const folders[] = { "run", "boxes" };
    for (size_t i = 0; i < 2; i++) {
        CLEANUP(free_p) char *dir = xasprintf("%s/%s", vm->site.dir, folders[i]);
        DIR *d = opendir(dir);
        for (struct dirent *e; d && (e = readdir(d));) {
            CLEANUP(free_p) char *name = xstrndup(e->d_name, strcspn(e->d_name, "."));
            if (strlen(name) == VM_TOOL_WIRE_NAME_MAX - 4)
                strlist_add(&names, name);
        }
        if (d)
            (void)closedir(d);
    }
    if (vm_tool_wire_group_prefix(vm->site.data_fd, prefix) == 0)
        (void)cgroup_list(vm->cgroups, prefix, add_group, &names);
    for (size_t i = 0; names && names[i]; i++) {
        const struct box *ours = vm->boxes;
        while (ours && strcmp(ours->name, names[i]) != 0)
            ours = ours->next;
        size_t first = 0; /* a name may be there as a file, a folder and a group */
        while (strcmp(names[first], names[i]) != 0)
            first++;
        if (ours || first < i || json_object_get(vm->halted, names[i]))
            continue;
        struct ending *o = xzalloc(sizeof(*o));
        *o = (struct ending){ .s = s, .folder = vm_image_file_box_folder(vm, names[i]) };
        s->pending++;
        vm_instance_kill_name(&vm->site, names[i], on_swept, o);
    }
    remove_half_made(vm, "templates");
    remove_half_made(vm, "bases");
    vm->is_collect_due = true;
    sweep_step(s);
}
