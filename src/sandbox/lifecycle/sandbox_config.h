/* What a create takes and what a sandbox's record keeps, typed: the `config` object of the contract. It is read once
 * from JSON, by sandbox_config_read(), and handed down by pointer; nothing else knows the names of its members.
 *
 * One struct serves three forms, told apart by what is `given`: a request (some members), a template (some members, any
 * number) and the effective configuration of a sandbox (every member that has a default). sandbox_config_write() writes
 * exactly what is given, so a record that an older version wrote without some member is kept as it was.
 * May include: base/, os/filter.h. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/settings.h"
#include "os/filter.h"

/* F(name of the bit, member of JSON, kind, member here), in the order in which they are written. TEXT: char *, INT:
 * int64_t, NUM: double, BOOL: bool, MAP: json_t * {str: str}, LIST: char **, ROWS: json_t * array of objects. */
#define SANDBOX_CONFIG_MEMBERS(F)                       \
    F(IMAGE, "image", TEXT, image)                      \
    F(NAME, "name", TEXT, name)                         \
    F(NETWORK, "network", BOOL, has_network)            \
    F(ENV, "env", MAP, env)                             \
    F(METADATA, "metadata", MAP, metadata)              \
    F(ENTRYPOINT, "entrypoint", LIST, entrypoint)       \
    F(TIMEOUT, "timeout", INT, timeout_s)               \
    F(MEMORY, "memory", INT, memory_mb)                 \
    F(CPU, "cpu", NUM, cpu)                             \
    F(DISK, "diskMb", INT, disk_mb)                     \
    F(INODES, "inodes", INT, inodes)                    \
    F(PIDS, "pids", INT, pids)                          \
    F(OPEN_FILES, "openFiles", INT, open_files)         \
    F(SHM, "shmMb", INT, shm_mb)                        \
    F(NET_RATE, "netMbps", INT, net_mbps)               \
    F(SECCOMP, "seccomp", TEXT, seccomp)                \
    F(IDLE_TIMEOUT, "idleTimeout", INT, idle_timeout_s) \
    F(ON_TIMEOUT, "onTimeout", TEXT, on_timeout)        \
    F(ON_IDLE, "onIdle", TEXT, on_idle)                 \
    F(RESTART, "restart", TEXT, restart)                \
    F(AUTO_RESUME, "autoResume", BOOL, auto_resume)     \
    F(WORKDIR, "workdir", TEXT, workdir)                \
    F(BACKEND, "backend", TEXT, backend)                \
    F(SERVICES, "services", ROWS, services)

enum {
#define SANDBOX_CONFIG_AT(bit, json, kind, member) SANDBOX_CONFIG_AT_##bit,
    SANDBOX_CONFIG_MEMBERS(SANDBOX_CONFIG_AT)
#undef SANDBOX_CONFIG_AT
        SANDBOX_CONFIG_COUNT
};
enum sandbox_config_bit {
#define SANDBOX_CONFIG_BIT(bit, json, kind, member) SANDBOX_CONFIG_##bit = 1 << SANDBOX_CONFIG_AT_##bit,
    SANDBOX_CONFIG_MEMBERS(SANDBOX_CONFIG_BIT)
#undef SANDBOX_CONFIG_BIT
};

#define SANDBOX_CONFIG_TYPE_TEXT char *
#define SANDBOX_CONFIG_TYPE_INT  int64_t
#define SANDBOX_CONFIG_TYPE_NUM  double
#define SANDBOX_CONFIG_TYPE_BOOL bool
#define SANDBOX_CONFIG_TYPE_MAP  json_t *
#define SANDBOX_CONFIG_TYPE_LIST char **
#define SANDBOX_CONFIG_TYPE_ROWS json_t *

/* Zero is the empty configuration. A member that is not given is 0, false or NULL. */
struct sandbox_config {
    unsigned given; /* enum sandbox_config_bit */
#define SANDBOX_CONFIG_MEMBER(bit, json, kind, member) SANDBOX_CONFIG_TYPE_##kind member;
    SANDBOX_CONFIG_MEMBERS(SANDBOX_CONFIG_MEMBER)
#undef SANDBOX_CONFIG_MEMBER
};

/* Puts what obj has over what c has; null, a wrong type and an unknown member count as absent. obj may be NULL. */
void sandbox_config_read(struct sandbox_config *c, const json_t *obj);
json_t *sandbox_config_write(const struct sandbox_config *c); /* what is given; caller owns */
struct sandbox_config sandbox_config_copy(const struct sandbox_config *c);
void sandbox_config_done(struct sandbox_config *c);
#define SANDBOX_CONFIG_OWNED CLEANUP(sandbox_config_done) struct sandbox_config

void sandbox_config_set_text(struct sandbox_config *c, enum sandbox_config_bit bit,
                             const char *text);                                                  /* NULL: drops it */
void sandbox_config_set_map(struct sandbox_config *c, enum sandbox_config_bit bit, json_t *map); /* takes map */

/* Makes it the effective configuration: defaults filled in, numbers moved into their bounds (base/limits.def, and the
 * maximums of the settings). workdir: where commands run if the configuration does not say. The backend goes:
 * a sandbox's record names the one that it has. */
void sandbox_config_settle(struct sandbox_config *c, const struct settings *set, const char *workdir);
/* Of that only the numbers, but for the idle time. */
void sandbox_config_settle_numbers(struct sandbox_config *c, const struct settings *set);
/* Of that only disk, inodes, pids, open files, /dev/shm and network rate. 0 means that there is none. */
void sandbox_config_settle_limits(struct sandbox_config *c, const struct settings *set);
/* The profile of its system call filter: what is given, and no less than III_SECCOMP says. */
enum filter_profile sandbox_config_profile(const struct sandbox_config *c, const struct settings *set);
/* For what a request and its template ask for: each number that is not possible here becomes a warning, and settling
 * moves it into its range. */
void sandbox_config_bound(struct sandbox_config *c, const struct settings *set, json_t **warnings);
