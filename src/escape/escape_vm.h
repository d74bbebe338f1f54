/* The escape suite on a backend of virtual machines: what its server needs before it starts, and what is different
 * there. May include: base/, os/, escape/. */
#pragma once
#include "escape/suite.h"

bool escape_vm_is(const char *backend);
/* Into the suite's data folder: the guest kernel of data_dir or a new one, and an image with the host's busybox. */
int escape_vm_prepare(struct suite *s, const char *data_dir, struct err *err);
/* Rows that a probe reached of the guest's own kernel, which nobody else has, become skipped ones that say so. */
void escape_vm_judge(struct suite *s);
suite_scene escape_vm_vmms;                      /* where their processes run, seen from outside */
unsigned escape_vm_count(const struct suite *s); /* processes of the host that have the disk of one of its machines */
