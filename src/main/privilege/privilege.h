/* How `iii serve` drops privilege. Before: whatever it was started with. After: a user of its own (when started by
 * root), no capabilities, few system calls, few files; processes started by the keeper do what needs more. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "base/settings.h"
#include "os/cgroup.h"
#include "os/confine.h"
#include "os/keeper.h"
#include "runtime/docker/docker.h"

enum privilege_job {
    PRIVILEGE_LAUNCHER,
    PRIVILEGE_IMAGES,
    PRIVILEGE_VM,
    PRIVILEGE_LISTENER, /* with TLS only */
    PRIVILEGE_CONFIG,   /* with a configuration file only */
    PRIVILEGE_ARCHIVE,
    PRIVILEGE_SSH /* with SSH only */
};

struct privilege {
    struct keeper *keeper;
    struct cgroup_host cgroups; /* opened while privileged; lent to native_new() */
    struct confine_who who;
    struct docker_tls docker_tls; /* copies, too */
};

/* While still privileged and single-threaded, with the data folder locked: creates its folders, starts the keeper,
 * picks the user and gives it the server's part of the data folder. Files that the server reads as a TLS client are
 * read now: their settings then name the copies. config: the configuration file, or NULL. */
int privilege_prepare(struct settings *s, const char *data_dir, const char *config, struct privilege *ret,
                      struct err *err);
/* Drops all privileges. Logs once what is confined and what this kernel lacks. */
int privilege_drop(const struct privilege *p, const char *data_dir, struct err *err);
void privilege_done(struct privilege *p); /* after every process that the keeper started has exited */
