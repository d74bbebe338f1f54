/* Theory of operation. A new VM is not booted but restored from a template: a VM of the same image and sizes that was
 * booted once, until its agent waited for an identity. To build one: merge the image's layers into one read-only drive
 * (base) → make and copy an empty writable drive of that size → boot → the agent answers a probe → settle for REST_MS →
 * pause → save → kill → rename the folder.
 *
 * The base of a preset also has a copy of the host's /usr (host_usr.h). It is made again when what is installed there
 * has changed; prune.c removes the former one.
 *
 * A `struct vm_source` is a build under way; struct vm owns it. Requests for the same key wait for the same build,
 * and each is called once. Builds that differ in size use the same drives: the first makes them, the others wait. A
 * failure kills the VM, removes the folder and fails all waiters. A folder that a crash leaves has a name that no
 * template has, and is swept. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/strlist.h"
#include "os/host_usr.h"
#include "vm/boot/base_image.h"
#include "vm/vm_core.h"

#define CONSOLE_TAIL 200 /* bytes of the console text in an error */
/* A kernel defers work while it boots (links that come up, modules that settle). It is done once before the save,
 * and not in every VM that is restored: emulated VMs took a third longer to be ready. */
#define REST_MS 500
#define TELL_MS 10000 /* between two lines in the log about a drive of the host's /usr, which takes minutes */

struct waiter {
    struct waiter *next;
    vm_source_fn *fn;
    void *arg;
};

struct vm_source {
    struct vm_source *next;
    struct vm *vm;
    char key[VM_KEY_MAX];
    struct vm_image image; /* its folder: where the template is being built */
    char *extra;           /* names of the layers */
    uint32_t n_layers, extra_len;
    char *pending, *drive; /* the file that the tool fills; its name once it is complete */
    int64_t drive_since_ms, told_ms;
    bool is_host;      /* the base has the host's /usr */
    bool is_usr_drive; /* what the tool fills has the host's /usr */
    bool is_waiting;   /* for a drive that another source makes */
    bool is_woken;     /* the other is done */
    struct vm_instance *instance;
    struct vm_channel *channel;
    struct timer *rest; /* between boot and save */
    int ram, disk, probe;
    bool is_busy; /* a call under way has us as its argument: do not free */
    struct waiter *waiters;
    int64_t since_ms;
};

static void source_build(struct vm_source *s);

char *vm_source_base_path(const struct vm *vm, const char *key)
{
    return xasprintf("%s/bases/%s.erofs", vm->site.dir, key);
}

char *vm_source_empty_disk_path(const struct vm *vm, uint32_t disk_mb)
{
    return xasprintf("%s/bases/blank-%u.ext4", vm->site.dir, disk_mb);
}

static char *template_path(const struct vm *vm, const char *key)
{
    return xasprintf("%s/templates/%s", vm->site.dir, key);
}

static void source_free(struct vm_source *s)
{
    struct vm_source **at = &s->vm->sources;
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
    int fds[] = { s->ram, s->disk, s->probe };
    for (size_t i = 0; i < 3; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]); /* the VM has its own copies */
    vm_channel_cancel(s->channel);
    timer_free(s->rest);
    vm_image_file_done(&s->image);
    free(s->extra);
    free(s->pending);
    free(s->drive);
    free(s);
}

/* took_ms: -1 at the start of the build. */
static void tell_of(const struct vm_source *s, int64_t took_ms)
{
    const struct vm *vm = s->vm;
    struct vm_template t = { .backend = vm->base.ops->name,
                             .base = s->image.base,
                             .memory_mb = s->image.memory_mb - VM_KERNEL_MB,
                             .cpus = s->image.cpus,
                             .took_ms = took_ms };
    if (vm->on_template && vm->has_templates && !vm->is_ending)
        vm->on_template(&t);
}

static void source_finish(struct vm_source *s, const struct err *err)
{
    struct waiter *w = s->waiters;
    struct vm *vm = s->vm;
    if (!err)
        tell_of(s, loop_now_ms(vm->base.loop) - s->since_ms);
    struct vm_image made = s->image;
    struct err why = err ? *err : (struct err)ERR_INIT;
    CLEANUP(free_p) char *path = template_path(vm, s->key);
    made.folder = NULL;
    if (s->instance)
        vm_instance_kill(s->instance, NULL, NULL);
    if (err && s->image.folder)
        vm_image_file_remove_later(vm, s->image.folder);
    if (err && s->pending)
        (void)unlink(s->pending); /* may not exist */
    source_free(s);
    bool is_good = !err && (!vm->has_templates || vm_image_file_load(path, &made, &why) == 0);
    while (w) {
        struct waiter *next = w->next;
        if (!vm->is_ending)
            w->fn(w->arg, is_good ? &made : NULL, is_good ? NULL : &why);
        free(w);
        w = next;
    }
    vm_image_file_done(&made);
    if (is_good && !vm->is_ending)
        vm_prune_run(vm); /* now what was made is in use: it may be stale already, when the host has changed since */
}

/* --- the VM --- */

static void on_template_gone(void *arg, const struct err *err)
{
    struct vm_source *s = arg;
    struct err why = ERR_INIT;
    CLEANUP(free_p) char *path = template_path(s->vm, s->key);
    s->is_busy = false;
    if (!err && vm_image_file_seal(s->image.folder, path, &s->image, &why) < 0)
        err = &why;
    source_finish(s, err);
}

static void source_on_saved(void *arg, const struct err *err)
{
    struct vm_source *s = arg;
    if (err) {
        source_finish(s, err);
        return;
    }
    struct vm_instance *m = s->instance;
    s->instance = NULL;
    s->is_busy = true;
    vm_instance_kill(m, on_template_gone, s);
}

static void source_on_paused(void *arg, const struct err *err)
{
    struct vm_source *s = arg;
    struct err why = ERR_INIT;
    CLEANUP(free_p) char *path = xasprintf("%s/state", s->image.folder);
    CLEANUP(close_fd_p) int state = err ? NO_FD : vm_image_file_make(path, 0, &why);
    if (err || state < 0)
        source_finish(s, err ? err : &why);
    else
        s->vm->site.vmm->save(vm_instance_control(s->instance), state, false, source_on_saved, s);
}

static void boot_failed(struct vm_source *s, const struct err *err)
{
    struct err why = *err;
    CLEANUP(free_p) char *text = vm_instance_console_text(s->instance);
    size_t len = strlen(text);
    (void)err_wrap(&why, 0, "boot a VM (its console: %s)",
                   len ? text + (len > CONSOLE_TAIL ? len - CONSOLE_TAIL : 0) : "nothing");
    source_finish(s, &why);
}

static void on_rested(void *arg)
{
    struct vm_source *s = arg;
    s->rest = timer_free(s->rest);
    vm_instance_pause(s->instance, source_on_paused, s);
}

static void on_probed(void *arg, int fd, const struct err *err)
{
    struct vm_source *s = arg;
    s->channel = NULL;
    s->probe = fd; /* stays open until the VM is saved, so that a restored VM finds a host connected */
    if (err)
        boot_failed(s, err);
    else
        s->rest = timer_new(s->vm->base.loop, REST_MS, 0, on_rested, s);
}

static void source_on_died(void *arg)
{
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_UPSTREAM, 0, "it has ended");
    boot_failed(arg, &err);
}

static void on_instance(void *arg, const struct err *err)
{
    struct vm_source *s = arg;
    struct err over = ERR_INIT;
    s->is_busy = false;
    if (err)
        s->instance = NULL;
    if (err || s->vm->is_ending) {
        (void)err_set(&over, ERR_CAPACITY, 0, "the server ends");
        source_finish(s, err ? err : &over);
        return;
    }
    struct vm_channel_options opt = { .first_ms = VM_BOOT_MS,
                                      .deadline_ms = VM_BOOT_MS,
                                      .handshake.what = VM_HANDSHAKE_PROBE };
    vm_instance_on_gone(s->instance, source_on_died, s); /* a kernel that panics fails the build at once */
    s->channel = vm_instance_handshake(s->instance, &opt, on_probed, s);
}

static void source_on_disk(void *arg, int fd, const struct err *err)
{
    struct vm_source *s = arg;
    struct vm *vm = s->vm;
    struct err why = ERR_INIT;
    s->is_busy = false;
    s->disk = fd;
    CLEANUP(free_p) char *ram = xasprintf("%s/ram", s->image.folder);
    if (!err && !vm->is_ending)
        s->ram = vm_image_file_make(ram, (uint64_t)s->image.memory_mb << 20, &why);
    if (err || s->ram < 0 || vm->is_ending) {
        source_finish(s, err ? err : &why);
        return;
    }
    CLEANUP(free_p) char *base = vm_source_base_path(vm, s->image.base);
    char name[VM_TOOL_WIRE_NAME_MAX];
    vm_instance_new_name(name);
    struct vm_instance_plan plan = { .name = name,
                                     .memory_mb = s->image.memory_mb,
                                     .cpus = s->image.cpus,
                                     .is_kvm = s->image.is_kvm,
                                     .flags = VM_TOOL_WIRE_SHARED_RAM,
                                     .base = base,
                                     .ram_fd = s->ram,
                                     .disk_fd = s->disk };
    s->is_busy = true;
    s->instance = vm_instance_start(&vm->site, &plan, on_instance, s);
}

/* --- its drives --- */

/* Only of the host's /usr: all others take seconds. is_made: else it is still growing. */
static void tell_of_usr(struct vm_source *s, const char *path, bool is_made)
{
    char bytes[24], took[24];
    struct stat st;
    int64_t now_ms = loop_now_ms(s->vm->base.loop);
    if (!s->is_usr_drive || stat(path, &st) < 0)
        return;
    s->told_ms = now_ms;
    (void)snprintf(bytes, sizeof(bytes), "%lld", (long long)st.st_size);
    (void)snprintf(took, sizeof(took), "%lld", (long long)(now_ms - s->drive_since_ms));
    log_event(LOG_INFO, is_made ? "vm.presets.made" : "vm.presets.making", "backend", s->vm->base.ops->name, "what",
              "a drive with the host's /usr, for presets", "base", s->image.base, "bytes", bytes, "ms", took, NULL);
}

void vm_source_tick(struct vm *vm)
{
    for (struct vm_source *s = vm->sources; s; s = s->next)
        if (s->pending && loop_now_ms(vm->base.loop) - s->told_ms >= TELL_MS)
            tell_of_usr(s, s->pending, false);
}

/* The drive exists, or could not be made: then one of those that waited tries to. */
static void wake_waiting(struct vm *vm)
{
    for (struct vm_source *s = vm->sources; s; s = s->next) {
        s->is_woken |= s->is_waiting;
        s->is_waiting = false; /* until it finds that another of them makes the drive now */
    }
    struct vm_source *s = vm->sources;
    while (s && !vm->is_ending) {
        bool is_woken = s->is_woken;
        s->is_woken = false;
        if (is_woken)
            source_build(s);
        s = is_woken ? vm->sources : s->next; /* it may be freed, and others with it */
    }
}

static void on_filled(void *arg, const struct vm_tool_wire_reply *reply, const int *fds, const struct err *err)
{
    struct vm_source *s = arg;
    struct vm *vm = s->vm;
    struct err why = ERR_INIT;
    (void)reply;
    (void)fds;
    s->is_busy = false;
    CLEANUP(free_p) char *pending = STEAL(s->pending);
    CLEANUP(free_p) char *drive = STEAL(s->drive);
    if (vm->is_stopping)
        (void)err_set(&why, ERR_CAPACITY, 0, "the server is stopping");
    /* Many VMs read it, so from now on nobody can write to it. */
    else if (!err && (chmod(pending, 0444) < 0 || rename(pending, drive) < 0))
        (void)err_sys(&why, -errno, "keep %s", drive);
    if (err || why.code) {
        (void)unlink(pending); /* incomplete */
        source_finish(s, why.code ? &why : err);
    } else {
        tell_of_usr(s, drive, true);
        source_build(s);
    }
    wake_waiting(vm);
}

/* Makes the tool fill `path`, then continues with source_build(). */
static void drive_fill(struct vm_source *s, const char *path, struct vm_tool_wire_request *q, const char *extra)
{
    struct vm *vm = s->vm;
    struct err err = ERR_INIT;
    for (const struct vm_source *other = vm->sources; other; other = other->next)
        if (other->drive && strcmp(other->drive, path) == 0) {
            s->is_waiting = true;
            return;
        }
    s->is_usr_drive = q->flags & VM_TOOL_WIRE_HOST_USR;
    s->drive = xstrdup(path);
    s->pending = xasprintf("%s.%s.new", path, vm->base.ops->name); /* another backend may make the same one */
    (void)unlink(s->pending);                                      /* left by a server that was killed */
    CLEANUP(close_fd_p)
    int fd = vm->is_stopping ? err_set(&err, ERR_CAPACITY, 0, "the server is stopping")
                             : vm_image_file_make(s->pending, 0, &err);
    if (fd < 0) {
        source_finish(s, &err);
        return;
    }
    q->version = VM_TOOL_WIRE_VERSION;
    s->is_busy = true;
    s->drive_since_ms = loop_now_ms(vm->base.loop);
    tell_of_usr(s, s->pending, false);
    vm_tool_call_start(&vm->site.calls, q, extra, &fd, 1, on_filled, s);
}

static void source_build(struct vm_source *s)
{
    struct vm *vm = s->vm;
    struct err err = ERR_INIT;
    CLEANUP(free_p) char *base = vm_source_base_path(vm, s->image.base);
    CLEANUP(free_p) char *empty = vm_source_empty_disk_path(vm, s->image.disk_mb);
    if (access(base, R_OK) < 0) {
        struct vm_tool_wire_request q = { .op = VM_TOOL_WIRE_BASE,
                                          .flags = s->is_host ? VM_TOOL_WIRE_HOST_USR : 0,
                                          .n_layers = s->n_layers,
                                          .extra_len = s->extra_len };
        drive_fill(s, base, &q, s->extra);
        return;
    }
    if (access(empty, R_OK) < 0) {
        struct vm_tool_wire_request q = { .op = VM_TOOL_WIRE_DISK, .disk_mb = s->image.disk_mb };
        drive_fill(s, empty, &q, "");
        return;
    }
    if (!vm->has_templates) {
        source_finish(s, NULL);
        return;
    }
    s->image.folder = xasprintf("%s/templates/%s.new", vm->site.dir, s->key);
    CLEANUP(free_p) char *disk = xasprintf("%s/disk", s->image.folder);
    vm_image_file_remove(s->image.folder); /* left by a server that was killed */
    if (mkdir(s->image.folder, 0700) < 0) {
        (void)err_sys(&err, -errno, "make %s", s->image.folder);
        source_finish(s, &err);
        return;
    }
    s->is_busy = true;
    vm_image_file_copy(vm, empty, disk, source_on_disk, s);
}

/* --- requests --- */

/* Collects the names below the image folder, which is all that the tool accepts. */
static int name_layers(struct vm_source *s, const struct box_plan *plan, struct err *err)
{
    size_t skip = strlen(s->vm->image_dir), len = 0;
    s->extra = xzalloc(VM_TOOL_WIRE_EXTRA_MAX);
    for (size_t i = 0; i < plan->n_layers; i++) {
        const char *layer = plan->layers[i];
        if (strncmp(layer, s->vm->image_dir, skip) != 0 || layer[skip] != '/')
            return err_set(err, ERR_INVALID, 0, "layer %.100s is not in the image folder", layer);
        size_t n = strlen(layer + skip + 1) + 1;
        if (len + n > VM_TOOL_WIRE_EXTRA_MAX || i >= VM_TOOL_WIRE_LAYERS_MAX)
            return err_set(err, ERR_TOO_LARGE, 0, "an image of %zu layers is too large for a VM", plan->n_layers);
        memcpy(s->extra + len, layer + skip + 1, n);
        len += n;
    }
    s->n_layers = (uint32_t)plan->n_layers;
    s->extra_len = (uint32_t)len;
    s->is_host = plan->is_host;
    if (s->is_host)
        host_usr_key(HOST_USR, s->vm->usr);
    int r = vm_base_image_key(plan->layers, plan->n_layers, s->is_host ? s->vm->usr : NULL, s->image.base);
    return r < 0 ? err_sys(err, r, "name an image of %zu layers", plan->n_layers) : 0;
}

void vm_source_size(const struct vm *vm, const struct box_plan *plan, struct vm_image *ret)
{
    uint32_t memory = plan->memory_mb ? plan->memory_mb : VM_MEMORY_MB;
    ret->memory_mb = (memory < VM_TOOL_WIRE_MEMORY_MIN ? VM_TOOL_WIRE_MEMORY_MIN : memory) + VM_KERNEL_MB;
    uint32_t cpus = (plan->cpu_milli + 999) / 1000;
    uint32_t most = vm->host_cpus < VM_TOOL_WIRE_CPUS_MAX ? vm->host_cpus : VM_TOOL_WIRE_CPUS_MAX;
    ret->cpus = cpus < 1 ? 1 : cpus > most ? most : cpus;
    ret->disk_mb = plan->disk_mb ? plan->disk_mb : VM_DISK_MB;
}

static struct vm_source *source_new(struct vm *vm, const struct box_plan *plan, struct err *err)
{
    struct vm_source *s = xzalloc(sizeof(*s));
    *s = (struct vm_source){ .vm = vm, .ram = NO_FD, .disk = NO_FD, .probe = NO_FD };
    vm_source_size(vm, plan, &s->image);
    if (vm_ready_open(vm, err) < 0 || name_layers(s, plan, err) < 0) {
        source_free(s);
        return NULL;
    }
    return s;
}

struct telling {
    vm_source_fn *fn;
    void *arg;
    struct err err;
};

static void telling_run(void *arg)
{
    CLEANUP(free_p) struct telling *t = arg;
    t->fn(t->arg, NULL, &t->err);
}

static void wait_for(struct vm_source *s, vm_source_fn *fn, void *arg)
{
    struct waiter *w = xzalloc(sizeof(*w));
    *w = (struct waiter){ .fn = fn, .arg = arg };
    LIST_APPEND(s->waiters, w);
}

/* The probe is over: use a template, join a build under way, or start one. */
static void source_find(struct vm_source *s, vm_source_fn *fn, void *arg)
{
    struct vm *vm = s->vm;
    struct err err = ERR_INIT;
    struct vm_image found = { 0 };
    vm_compat_note(vm, vm->site.is_kvm, &s->image);
    /* A VMM that was upgraded may not load what the former one saved, so its program is part of the key. */
    (void)snprintf(s->key, sizeof(s->key), "%s%u-%s-m%u-c%u-d%u-%.16s-%08x%s", vm->base.ops->name, s->image.shape,
                   s->image.base, s->image.memory_mb, s->image.cpus, s->image.disk_mb, vm->kit.key,
                   vm_compat_program(vm), s->image.is_kvm ? "-kvm" : "");
    for (struct vm_source *other = vm->sources; other; other = other->next)
        if (strcmp(other->key, s->key) == 0) {
            source_free(s);
            wait_for(other, fn, arg);
            return;
        }
    CLEANUP(free_p) char *path = template_path(vm, s->key);
    int r = vm->has_templates ? vm_image_file_load(path, &found, &err) : err_set(&err, ERR_NOT_FOUND, 0, "no template");
    if (r == 0 && (r = vm_compat_check(vm, &found, &err)) < 0)
        vm_image_file_done(&found);
    if (r == 0) {
        source_free(s);
        (void)utimensat(AT_FDCWD, path, NULL, 0); /* marks it as recently used: see prune.c */
        fn(arg, &found, NULL);
        vm_image_file_done(&found);
        return;
    }
    if (err.code != ERR_NOT_FOUND)
        vm_image_file_remove(path); /* damaged, of another CPU, or written to by a VMM that was taken over */
    s->next = vm->sources;
    vm->sources = s;
    s->since_ms = loop_now_ms(vm->base.loop);
    wait_for(s, fn, arg);
    tell_of(s, -1);
    source_build(s);
}

static void source_on_ready(void *arg)
{
    struct vm_source *s = arg;
    struct err over = { .code = ERR_CAPACITY, .sys = ECANCELED };
    CLEANUP(free_p) struct waiter *first = s->waiters;
    s->waiters = NULL;
    if (s->vm->is_ending) {
        vm_source_fn *fn = first->fn;
        source_free(s);
        fn(first->arg, NULL, &over);
    } else {
        source_find(s, first->fn, first->arg);
    }
}

void vm_source_get(struct vm *vm, const struct box_plan *plan, vm_source_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    struct vm_source *s = source_new(vm, plan, &err);
    if (!s) {
        struct telling *t = xzalloc(sizeof(*t));
        *t = (struct telling){ .fn = fn, .arg = arg, .err = err };
        loop_defer(vm->base.loop, telling_run, t);
    } else if (vm->is_probing) {
        wait_for(s, fn, arg);
        vm_ready_when(vm, source_on_ready, s);
    } else {
        source_find(s, fn, arg);
    }
}

void vm_source_add_bases(const struct vm *vm, char ***keys)
{
    for (const struct vm_source *s = vm->sources; s; s = s->next)
        strlist_add(keys, s->image.base);
}

void vm_source_stop(struct runtime *rt)
{
    struct vm *vm = vm_of(rt);
    vm->is_stopping = true;
    vm_tool_call_cut(&vm->site.calls, on_filled);
}

void vm_source_end_all(struct vm *vm)
{
    struct err over = { .sys = ECANCELED };
    struct vm_source *next;
    vm_source_stop(&vm->base);
    for (struct vm_source *s = vm->sources; s; s = next) {
        next = s->next;
        if (!s->is_busy)
            source_finish(s, &over);
    }
}
