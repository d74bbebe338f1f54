/* The workload's seccomp filter as BPF bytes, built once by libseccomp and installed many times by a plain prctl. It is
 * a deny list (the table in filter.c has a reason per row): calls that expose kernel attack surface without use for a
 * workload return EPERM, calls that libc can fall back from return ENOSYS. 32-bit and x32 entries, and system calls
 * newer than the table (FILTER_NEWEST), return ENOSYS: what was never reviewed is not allowed by accident.
 * May include: base/.
 *
 * Who installs it: **only processes that need none of the denied calls**. The agent (PID 1 of a box) may install it as
 * soon as its own mounts and namespaces are made, if it spawns by fork or clone (CLONE_PIDFD is fine, clone3 is not)
 * and needs neither mount nor setns. If it still has to mount after start (moving in a new root), install it in its
 * children only, between fork and exec. filter_install() sets no_new_privs. A filter is inherited and permanent. */
#pragma once
#include <linux/filter.h>  /* struct sock_filter */
#include <linux/seccomp.h> /* struct seccomp_data */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define FILTER_NEWEST 469 /* file_setattr, Linux 6.17; numbers from 424 on are the same on every architecture */

struct filter {
    struct sock_filter *insn; /* owned; plain bytes, may be copied into another process */
    unsigned short count;
};

/* DEFAULT: the deny list. STRICT: only the calls of filter_strict.c, and of those what the deny list lets pass. In
 * order: each allows less than the one before. */
enum filter_profile { FILTER_DEFAULT, FILTER_STRICT, FILTER_PROFILES };
const char *filter_profile_name(enum filter_profile profile);
bool filter_profile_find(const char *name, enum filter_profile *ret); /* false: there is none of this name */

/* Builds the program (0.7 to 3 ms): once at start, never per box. */
int filter_build_profile(enum filter_profile profile, struct filter *ret, struct err *err);
int filter_build(struct filter *ret, struct err *err); /* DEFAULT */
/* The same with more rows, for the server itself: no new program or process, no change of identity or owner, no
 * access to other processes. */
int filter_build_server(struct filter *ret, struct err *err);
void filter_done(struct filter *f);
/* A sealed memfd (no writing, no resizing) with the instructions, for another process to install. Returns the
 * descriptor, close-on-exec; the caller closes it. */
int filter_memfd(const struct filter *f, struct err *err);
/* Sets no_new_privs and installs the program on the calling thread. Async-signal-safe. 0 or -errno. */
int filter_install(const struct filter *f);
/* Builds, installs and frees, for the calling thread and what it starts. */
int filter_self(struct err *err);

/* What the program answers to a call: an errno, or -1 when it lets it pass. */
int filter_errno(const struct filter *f, const struct seccomp_data *data);
/* The name of a system call of an architecture (AUDIT_ARCH_*), in buf; "syscall_NUMBER" when there is none. */
#define FILTER_CALL_NAME 40
const char *filter_call_name(uint32_t arch, uint32_t nr, char buf[FILTER_CALL_NAME]);
const char *filter_arch_name(uint32_t arch); /* "x86_64"; "unknown" */

/* The table, for documentation and tests: name of row i, its errno (EPERM or ENOSYS) and reason; NULL past the end. */
const char *filter_row(size_t i, int *ret_errno, const char **ret_reason);
