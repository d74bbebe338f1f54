/* The agent's channel in a virtual machine: waits for a host's hello (os/vmhello.h), has the warden take the identity
 * in it, answers, and makes a link of the stream. May include: guest/proto_vm.h, os/vmhello.h. Invariants:
 * 1. No byte of a host reaches a link before its hello was accepted.
 * 2. A serial port has one link at a time. When it ends the port is closed and opened again, which drops what was on
 * its way; only a hello that came at a frame's boundary of a running link takes the port over as it is.
 * 3. A port without a host costs nothing: its hang-up is reported once, not over and over. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "guest/agent/ag_conn.h"
#include "guest/agent/vm_boot.h"

/* Takes the descriptors of plan. 0 or -errno. */
int ag_vm_start(struct agent *a, const struct vm_boot *plan);
/* For ag_conn, when the link over the port has ended: fd is the port's, and rest what came from a next hello on;
 * nothing did when the link just broke. */
void ag_vm_link_ended(struct agent *a, int fd, const uint8_t *rest, size_t len);
