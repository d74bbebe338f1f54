/* Shared by the files of the microVM driver. */
#pragma once
#include "base/digest.h"
#include "base/limits.h"
#include "base/list.h"
#include "runtime/box_life.h"
#include "vm/boot/kit.h"
#include "vm/instance.h"
#include "vm/snapshot/compat.h"
#include "vm/vm.h"

#define VM_KEY_MAX        160
#define VM_MEMORY_MB      LIMIT_DEFAULT(MEMORY_MB) /* where a plan has none */
#define VM_KERNEL_MB      72   /* used by the guest's kernel: a VM has this much more memory than its sandbox */
#define VM_DISK_MB        8192 /* of the writable drive, which is sparse */
#define VM_BOOT_MS        180000
#define VM_RESTORE_MS     120000
#define VM_FIRST_REPLY_MS 2000

/* A saved VM in a folder, from which any number of VMs are restored. */
struct vm_image {
    char *folder; /* with the files ram, state and disk; NULL: none, the VM is booted */
    char base[VM_KIT_HEX];
    uint32_t memory_mb, cpus, disk_mb; /* of the VM */
    bool is_kvm;                       /* what it was saved on and must be restored on (compat.h) */
    unsigned shape;
    char cpu[VM_COMPAT_CPU_MAX];
};

struct vm {
    struct runtime base; /* first */
    struct vm_instance_site site;
    char *data_dir, *image_dir, *kernel;
    char *program; /* path of the VMM as the operator sets it; "": the usual places */
    const struct cgroup_host *cgroups;
    bool has_templates;
    vm_template_fn *on_template;
    struct vm_kit kit;
    bool has_kit;
    char slow_why[240];          /* why VMs are emulated; "" with KVM, or while the probe runs */
    char cpu[VM_COMPAT_CPU_MAX]; /* the host's */
    bool is_probing;             /* the probe for KVM is under way: new VMs wait for it */
    struct vm_ready_wait *waits; /* new VMs that wait for the probe */
    struct box *boxes;
    struct vm_source *sources; /* templates being built */
    char usr[DIGEST_HEX];      /* what host_usr_key() said for the last preset; "": there was none */
    struct making *makings;    /* boxes being created or adopted */
    struct vm_saving *savings; /* snapshots being made */
    json_t *pins;              /* owner -> snapshot */
    json_t *halted;            /* name of a VM that has ended and whose drive is kept -> the key of its base */
    struct vm_net_bridge *bridges;
    bool is_collect_due;
    struct timer *tick;
    struct vm_clock *clock;
    uint32_t host_cpus;
    unsigned n_works;     /* jobs on pool threads */
    unsigned n_flushings; /* VMs that flush their volumes before they are killed */
    bool is_stopping;     /* no drive is made any more */
    bool is_ending;       /* no caller is called any more */
};

struct box {
    struct box_life life; /* first */
    struct vm *vm;
    struct box *next;
    char id[IDENT_MAX];
    struct vm_instance *instance;
    char name[VM_TOOL_WIRE_NAME_MAX];
    char image[VM_KEY_MAX]; /* id of the snapshot it was restored from; "" for a template */
    char base[VM_KIT_HEX];
    uint32_t memory_mb, cpus, cpu_milli, disk_mb, pids_max;
    uint8_t token[16];
    bool is_paused, is_dead;
    bool is_kvm;                             /* of its VM; does not change with a later probe */
    struct vm_volume *volumes;               /* mounted volumes */
    struct vm_volume_op *volume_ops;         /* mounts and unmounts under way */
    char nets[VM_TOOL_WIRE_NICS][IDENT_MAX]; /* the network of each interface; "": none */
    struct box_plug plugs[VM_TOOL_WIRE_NICS];
    struct vm_net_op *net_ops; /* joins and leaves; the first is under way */
    struct pausing *pausings;
};

static inline struct vm *vm_of(struct runtime *rt)
{
    return (struct vm *)rt;
}

/* --- vm.c --- */
bool vm_is_restoring_from(const struct vm *vm, const char *folder); /* a box that is being made needs its files */

/* --- image_file.c: files and folders of the driver --- */
char *vm_image_file_box_folder(const struct vm *vm, const char *name); /* of a VM; caller frees */
/* Makes a file of that size that a VMM may write to. Returns the descriptor. */
int vm_image_file_make(const char *path, uint64_t bytes, struct err *err);
int vm_image_file_open(const char *folder, const char *name, struct err *err); /* for reading and writing */
void vm_image_file_remove(const char *folder);                                 /* with its files; blocks */
void vm_image_file_remove_later(struct vm *vm, const char *folder);            /* the same on a pool thread */
/* Turns the folder into an image atomically: `to` is complete or does not exist. */
int vm_image_file_seal(const char *folder, const char *to, const struct vm_image *image, struct err *err);
/* ERR_NOT_FOUND: there is none. ERR_CONFLICT: its memory was written to since it was sealed, so it must not be used. */
int vm_image_file_load(const char *folder, struct vm_image *ret, struct err *err);
/* Parses the record of such a folder; ret->folder stays NULL. ret_changed: when its memory was last written. */
int vm_image_file_parse(const char *text, size_t len, struct vm_image *ret, int64_t *ret_changed, struct err *err);
void vm_image_file_done(struct vm_image *i);
/* Copies the drive of an image into a new file on a pool thread. fn gets the new file's descriptor. */
typedef void vm_image_file_fn(void *arg, int fd, const struct err *err);
void vm_image_file_copy(struct vm *vm, const char *from, const char *to, vm_image_file_fn *fn, void *arg);

/* --- source.c: the templates that new VMs are restored from --- */
/* image: borrowed. */
typedef void vm_source_fn(void *arg, const struct vm_image *image, const struct err *err);
/* Gets the template of these layers and sizes, and builds it when there is none. Without templates: an image without
 * a folder, whose drives exist. */
void vm_source_get(struct vm *vm, const struct box_plan *plan, vm_source_fn *fn, void *arg);
void vm_source_add_bases(const struct vm *vm, char ***keys); /* bases of the templates being built */
void vm_source_tick(struct vm *vm);                          /* logs how far long work is */
void vm_source_stop(struct runtime *rt);                     /* fails those that make a drive, which may take minutes */
void vm_source_end_all(struct vm *vm);
char *vm_source_empty_disk_path(const struct vm *vm, uint32_t disk_mb); /* an empty writable drive; caller frees */
char *vm_source_base_path(const struct vm *vm, const char *key);        /* caller frees */

void vm_source_size(const struct vm *vm, const struct box_plan *plan, struct vm_image *ret); /* of the VM */

/* --- ready.c: the kit that VMs are booted from, and whether KVM works --- */
/* Opens the kit once; then is_probing says whether the probe is still under way. */
int vm_ready_open(struct vm *vm, struct err *err);
/* Calls fn when the probe is over, or when the server ends (is_ending). Only while is_probing. */
void vm_ready_when(struct vm *vm, loop_fn *fn, void *arg);
void vm_ready_end(struct vm *vm); /* calls everyone who waits */

/* --- halt.c: VMs that have ended and whose drives are kept --- */
void vm_halt_note(struct vm *vm, const char *name, const char *base); /* no sweep takes its files from now on */
void vm_halt_ended(const struct vm *vm, const char *name);            /* removes what only a running VM needs */
void vm_halt_retain(struct runtime *rt, const json_t *record, box_done_fn *fn, void *arg);
void vm_halt_discard(struct runtime *rt, const json_t *record, box_done_fn *fn, void *arg);

/* --- sweep.c: what a crash left --- */
void vm_sweep_run(struct runtime *rt, const char *const *kept_ids, size_t n, box_done_fn *fn, void *arg);

/* --- prune.c: files that nothing is made from any more --- */
void vm_prune_run(struct vm *vm);

/* --- snapshot.c: VMs saved while they run --- */
extern const struct runtime_saves vm_snapshot_ops;
char *vm_snapshot_folder(const struct vm *vm, const char *id); /* of "qemu:NAME"; NULL: not such a name. Caller frees */
void vm_snapshot_forget_box(struct box *box);                  /* call it before the VM is killed */
bool vm_snapshot_is_saving(const struct box *box);
void vm_snapshot_end_all(struct vm *vm);
void vm_snapshot_collect(struct vm *vm); /* removes those that nobody pins */

/* --- volume.c: volumes as hot-plugged drives --- */
void vm_volume_mount(struct box *box, const struct box_volume *v, box_done_fn *fn, void *arg);
void vm_volume_unmount(struct box *box, const struct box_volume *v, box_done_fn *fn, void *arg);
void vm_volume_measure(struct runtime *rt, const char *id, box_bytes_fn *fn, void *arg);
void vm_volume_remove(struct runtime *rt, const char *id, box_done_fn *fn, void *arg);
bool vm_volume_has_any(const struct box *box);
/* Makes a VM that is about to be killed flush its volumes, and its own drive when that is kept. False: there is nothing
 * to wait for, and fn is not called. */
typedef void vm_volume_flushed_fn(void *arg);
bool vm_volume_flush(struct box *box, bool is_kept, vm_volume_flushed_fn *fn, void *arg);
void vm_volume_forget_box(struct box *box); /* call it before the VM is killed; operations under way fail */

/* --- net.c: networks and egress --- */
void vm_net_create(struct runtime *rt, const struct box_plug *net, box_done_fn *fn, void *arg);
void vm_net_delete(struct runtime *rt, const char *net_id, box_done_fn *fn, void *arg);
void vm_net_attach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg);
void vm_net_detach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg);
void vm_net_resumed(struct box *box);
void vm_net_open_egress(struct box *box, box_egress_fn *fn, void *arg);
void vm_net_handshake(const struct box *box, bool has_network,
                      struct vm_handshake *h); /* fills in its egress interface for the handshake */
void vm_net_forget_box(struct box *box);       /* as vm_volume_forget_box() */
void vm_net_end_all(struct vm *vm);
