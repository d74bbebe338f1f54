/* Inside the microVM driver: what its files share. */
#pragma once
#include "base/limits.h"
#include "vm/boot/kit.h"
#include "vm/instance.h"
#include "vm/snapshot/compat.h"
#include "vm/vm.h"

#define VM_KEY_MAX        160
#define VM_MEMORY_MB      LIMIT_DEFAULT(MEMORY_MB) /* where a plan names none */
#define VM_KERNEL_MB      72   /* what the guest's kernel takes for itself: a machine has that more than its sandbox */
#define VM_DISK_MB        8192 /* the writable drive: sparse, so only what is written is taken */
#define VM_BOOT_MS        180000
#define VM_RESTORE_MS     60000
#define VM_FIRST_REPLY_MS 2000

/* A machine at rest in a folder: what any number of machines are restored from. */
struct vm_image {
    char *folder; /* with the files ram, state and disk; NULL: none, the machine is booted */
    char base[VM_KIT_HEX];
    uint32_t memory_mb, cpus, disk_mb; /* of the machine */
    bool is_kvm;                       /* what it was saved on, and can go on with (compat.h) */
    unsigned shape;
    char cpu[VM_COMPAT_CPU_MAX];
};

struct vm {
    struct runtime base; /* first */
    struct vm_instance_site site;
    char *data_dir, *image_dir, *kernel;
    char *program; /* of the monitor, where the operator has it; "": where it usually is */
    const struct cgroup_host *cgroups;
    bool has_templates;
    vm_template_fn *on_template;
    struct vm_kit kit;
    bool has_kit;
    char slow_why[240];          /* why machines are emulated; "" when the CPU runs them, or while that is found out */
    char cpu[VM_COMPAT_CPU_MAX]; /* the host's */
    bool is_probing;             /* whether they are: a new machine waits for that */
    struct vm_ready_wait *waits; /* those */
    struct box *boxes;
    struct vm_source *sources; /* templates under way */
    struct making *makings;    /* boxes under way */
    struct vm_saving *savings; /* snapshots under way */
    json_t *pins;              /* owner -> snapshot */
    struct vm_net_switch *bridges;
    bool is_collect_due;
    struct timer *tick;
    struct vm_clock *clock;
    uint32_t host_cpus;
    uint32_t volume_mb;
    unsigned n_works;     /* on pool threads */
    unsigned n_flushings; /* machines that write what is left to their volumes before they end */
    bool is_ending;       /* nobody above us is told anything any more */
};

struct box {
    struct vm *vm;
    struct box *next;
    char id[IDENT_MAX];
    struct vm_instance *instance;
    char name[VM_TOOL_WIRE_NAME_MAX];
    char image[VM_KEY_MAX]; /* of the snapshot it came from; "" for a template */
    char base[VM_KIT_HEX];
    uint32_t memory_mb, cpus, cpu_milli, disk_mb, pids_max;
    uint8_t token[16];
    bool is_paused, is_dead;
    bool is_kvm;                             /* its machine; stays so, whatever is found out later */
    struct vm_volume *volumes;               /* those it has */
    struct vm_volume_op *volume_ops;         /* those that come or go */
    char nets[VM_TOOL_WIRE_NICS][IDENT_MAX]; /* the network that an interface is for; "": none */
    struct box_plug plugs[VM_TOOL_WIRE_NICS];
    struct vm_net_op *net_ops; /* joins and leaves, the first under way */
    struct pausing *pausings;
    loop_fn *on_gone, *on_late;
    void *gone_arg, *late_arg;
};

static inline struct vm *vm_of(struct runtime *rt)
{
    return (struct vm *)rt;
}

/* --- image_file.c: files and folders of the driver --- */
char *vm_image_file_box_folder(const struct vm *vm, const char *name); /* of a machine; caller frees */
/* A new file of that size that a monitor may write to. Returns the descriptor. */
int vm_image_file_make(const char *path, uint64_t bytes, struct err *err);
int vm_image_file_open(const char *folder, const char *name, struct err *err); /* for reading and writing */
void vm_image_file_remove(const char *folder);                                 /* with its files; blocks */
void vm_image_file_remove_later(struct vm *vm, const char *folder);            /* the same on a pool thread */
/* The folder becomes an image, all at once: `to` is there with all of it or not at all. */
int vm_image_file_seal(const char *folder, const char *to, const struct vm_image *image, struct err *err);
/* ERR_NOT_FOUND: there is none. ERR_CONFLICT: its memory was written to since it was sealed, so it is not used. */
int vm_image_file_load(const char *folder, struct vm_image *ret, struct err *err);
/* What stands in such a folder's record; the image gets no folder. ret_changed: when its memory was written last. */
int vm_image_file_parse(const char *text, size_t len, struct vm_image *ret, int64_t *ret_changed, struct err *err);
void vm_image_file_done(struct vm_image *i);
/* Copies the drive of an image into a new file on a pool thread. fn gets the new file's descriptor. */
typedef void vm_image_file_fn(void *arg, int fd, const struct err *err);
void vm_image_file_copy(struct vm *vm, const char *from, const char *to, vm_image_file_fn *fn, void *arg);

/* --- source.c: what a new machine is restored from --- */
/* image: borrowed. */
typedef void vm_source_fn(void *arg, const struct vm_image *image, const struct err *err);
/* The template of these layers and sizes; built when there is none yet. Without templates: one without a folder, whose
 * drives are there. */
void vm_source_get(struct vm *vm, const struct box_plan *plan, vm_source_fn *fn, void *arg);
void vm_source_add_bases(const struct vm *vm, char ***keys); /* that templates under way stand on */
void vm_source_end_all(struct vm *vm);
char *vm_source_empty_disk_path(const struct vm *vm, uint32_t disk_mb); /* an empty writable drive; caller frees */
char *vm_source_base_path(const struct vm *vm, const char *key);        /* caller frees */

/* --- ready.c: what machines are booted from, and whether the CPU runs them --- */
/* Opens the kit, once; then is_probing says whether the rest is to be waited for. */
int vm_ready_open(struct vm *vm, struct err *err);
/* fn: it is known, or the server ends (is_ending). Only while is_probing. */
void vm_ready_when(struct vm *vm, loop_fn *fn, void *arg);
void vm_ready_end(struct vm *vm); /* tells those that wait */

/* --- sweep.c: what a crash left --- */
void vm_sweep_run(struct runtime *rt, const char *const *kept_ids, size_t n, box_done_fn *fn, void *arg);

/* --- prune.c: what nothing is made from any more --- */
void vm_prune_run(struct vm *vm);

/* --- snapshot.c: machines that were saved while they ran --- */
extern const struct runtime_saves vm_snapshot_ops;
char *vm_snapshot_folder(const struct vm *vm, const char *id); /* of "qemu:NAME"; NULL: no such name. Caller frees */
void vm_snapshot_forget_box(struct box *box);                  /* its machine goes: call it before */
bool vm_snapshot_is_saving(const struct box *box);
void vm_snapshot_end_all(struct vm *vm);
void vm_snapshot_collect(struct vm *vm); /* those that nobody pins */

/* --- volume.c: volumes as drives that come and go --- */
void vm_volume_mount(struct box *box, const struct box_volume *v, box_done_fn *fn, void *arg);
void vm_volume_unmount(struct box *box, const struct box_volume *v, box_done_fn *fn, void *arg);
void vm_volume_remove(struct runtime *rt, const char *id, box_done_fn *fn, void *arg);
bool vm_volume_has_any(const struct box *box);
/* Has a machine that is about to end write what is left; false: there is nothing to wait for, fn is not called. */
typedef void vm_volume_flushed_fn(void *arg);
bool vm_volume_flush(struct box *box, vm_volume_flushed_fn *fn, void *arg);
void vm_volume_forget_box(struct box *box); /* its machine goes: call it before; what is under way is told so */

/* --- net.c: networks and the way out --- */
void vm_net_create(struct runtime *rt, const struct box_plug *net, box_done_fn *fn, void *arg);
void vm_net_delete(struct runtime *rt, const char *net_id, box_done_fn *fn, void *arg);
void vm_net_attach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg);
void vm_net_detach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg);
void vm_net_resumed(struct box *box);
void vm_net_open_egress(struct box *box, box_egress_fn *fn, void *arg);
void vm_net_handshake(const struct box *box, bool has_network,
                      struct vm_handshake *h); /* its way out, in what it is told first */
void vm_net_forget_box(struct box *box);       /* as vm_volume_forget_box() */
void vm_net_end_all(struct vm *vm);
