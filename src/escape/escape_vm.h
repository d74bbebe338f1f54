/* The escape suite on a VM backend: what its server needs before it starts, and what differs there. May include: base/,
 * os/, escape/. */
#pragma once
#include "escape/suite.h"

bool escape_vm_is(const char *backend);
/* Puts into the suite's data folder: the guest kernel of data_dir or a new one, and an image with the host's
 * busybox. */
int escape_vm_prepare(struct suite *s, const char *data_dir, struct err *err);
/* Rows that a probe reached in the guest's own kernel, which belongs to that sandbox alone, become skipped ones with a
 * reason. */
void escape_vm_judge(struct suite *s);
suite_scene escape_vm_vmms;                      /* the VMM processes, seen from outside */
unsigned escape_vm_count(const struct suite *s); /* processes of the host that have a disk of one of its VMs open */
