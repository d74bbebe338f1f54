/* Finds out whether a guest boots on this host, and whether KVM works. The device alone proves nothing: on some
 * hosts /dev/kvm opens and guests never make progress. A probe boots one guest from the kit with empty drives and
 * waits for its agent's reply. The result is kept in DATA/vm/kit/probe.json and is valid until the host reboots or
 * the kit changes. May include: base/, os/, vm/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "vm/boot/kit.h"

struct vm_probe {
    bool is_kvm;     /* guests run with KVM; else they are emulated (TCG) */
    int64_t boot_ms; /* from the start of the VMM to the agent's reply */
    char why[240];   /* why not KVM; "" when it is */
};

/* The CPU has vmx or svm, and /dev/kvm can be opened: a probe makes sense. Else false and why. */
bool vm_probe_may_kvm(char *why, size_t size);
/* The result of the last probe, if it is still valid. Starts nothing. */
bool vm_probe_known(const char *data_dir, const struct vm_kit *k, struct vm_probe *ret);
/* Boots with KVM where it may work; else, or when that fails, without. Saves the result. Blocks for seconds and
 * starts processes: for `iii vm setup` and the tool. */
int vm_probe_run(const char *data_dir, const struct vm_kit *k, struct vm_probe *ret, struct err *err);
/* Repeats the probe after a reboot of the host, for a server. That a guest boots at all is known, so nothing is
 * booted where KVM cannot work. */
int vm_probe_refresh(const char *data_dir, const struct vm_kit *k, struct err *err);
/* Switches to the user who owns the kit when that is not root: root must not follow names in a folder of another
 * user. The group for KVM stays, because root starts the server's VMs. */
int vm_probe_become_owner(const char *data_dir, struct err *err);
/* The same permanently, for a probe that a server requests and whose kit it could have changed: that user without
 * any capability and without a network. */
int vm_probe_confine(const char *data_dir, struct err *err);
/* Boots once. On failure err has the end of the console output. */
int vm_probe_boot(const struct vm_kit *k, bool is_kvm, int64_t limit_ms, int64_t *ret_ms, struct err *err);
