/* Which host uids and gids a box's user namespace maps to, and writing the maps. May include: base/.
 *
 * Invariants:
 *  1. Root: box slot n owns [base + n*65536, +65536) for uids and gids alike, so two live boxes never share an id.
 *     The caller keeps slots apart (and remembers them over a restart).
 *  2. Unprivileged user: what /etc/subuid and /etc/subgid grant, mapped by newuidmap and newgidmap. Without a grant,
 *     only its own uid is mapped to 0, with setgroups denied.
 *  3. uid 0 inside is never uid 0 outside. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define IDRANGE_SIZE       65536u
#define IDRANGE_POOL_BASE  0x10000000u /* above the ids that adduser, systemd's DynamicUser and nspawn assign */
#define IDRANGE_POOL_SLOTS 24576u      /* ends at 0x70000000, below the sign bit that confuses old tools */

enum idrange_how { IDRANGE_ROOT, IDRANGE_SUBID, IDRANGE_SINGLE };

struct idrange {
    enum idrange_how how;
    uid_t uid_base; /* host id of inside id 0 (SUBID: of inside id 1; inside 0 is the caller) */
    gid_t gid_base;
    uint32_t uid_count, gid_count; /* ids mapped from the bases; SINGLE: 1 */
};

struct idrange_grant {
    uint32_t base, count; /* count 0 = none */
};

/* Root's range of a slot. -ERANGE past the pool. */
int idrange_slot(uint32_t slot, struct idrange *ret);
/* What the calling unprivileged user may map: SUBID when both files grant it ids and both tools are there, else
 * SINGLE. ret_why (size bytes, may be NULL) says why it is SINGLE. */
int idrange_user(struct idrange *ret, char *ret_why, size_t why_size);
/* Writes uid_map, gid_map (and setgroups for SINGLE) of pid, which is in a new user namespace. SUBID runs the tools
 * with fork and exec, and waits for them (about 3 ms). Blocks. */
int idrange_map(const struct idrange *r, pid_t pid, struct err *err);

/* Strict parser of an /etc/subuid text: the largest grant for name or for uid in decimal. Bad lines are skipped, as
 * shadow does. Returns the grant, count 0 when there is none. */
struct idrange_grant idrange_parse(const char *text, size_t len, const char *name, uid_t uid);
/* Full path of a tool in /usr/bin or /usr/sbin if it is executable, else NULL. Static storage. */
const char *idrange_tool(const char *name);
