/* Whether a guest really boots here, and whether the CPU's virtualization is real: the device alone proves nothing
 * (there are hosts whose /dev/kvm opens and whose guests never get anywhere). A probe boots one guest from the kit with
 * empty drives and waits for its agent's answer. What was found is kept in DATA/vm/kit/probe.json and holds until the
 * host is booted again or the kit changes. May include: base/, os/, vm/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "vm/boot/kit.h"

struct vm_probe {
    bool is_kvm;     /* guests run on the CPU's own virtualization; else they are emulated (TCG) */
    int64_t boot_ms; /* from the start of the monitor to the agent's answer */
    char why[240];   /* why not KVM; "" when it is */
};

/* A CPU with vmx or svm, and /dev/kvm can be opened: worth a probe. Else false and why. */
bool vm_probe_may_kvm(char *why, size_t size);
/* What the last probe found, if it still holds. Starts nothing. */
bool vm_probe_known(const char *data_dir, const struct vm_kit *k, struct vm_probe *ret);
/* Boots: with KVM when there is a chance, else or when that fails without it; keeps what it found. Blocks for seconds
 * and starts processes: for `iii vm setup` and the tool. */
int vm_probe_run(const char *data_dir, const struct vm_kit *k, struct vm_probe *ret, struct err *err);
/* The same question after the host was booted, asked by a server: that a guest boots at all is known, so nothing is
 * booted where KVM has no chance. */
int vm_probe_refresh(const char *data_dir, const struct vm_kit *k, struct err *err);
/* The kit of a server that is not root is worked on as that user: root does not follow names in a folder of another.
 * What it may do with KVM stays, since the server's machines are started by root. */
int vm_probe_become_owner(const char *data_dir, struct err *err);
/* The same for good, for a probe that a server asks for and whose kit it could have changed: that user without any
 * capability, and without a network. */
int vm_probe_confine(const char *data_dir, struct err *err);
/* One boot. On failure err has the last words of the console. */
int vm_probe_boot(const struct vm_kit *k, bool is_kvm, int64_t limit_ms, int64_t *ret_ms, struct err *err);
