/* How many boxes are made at the same time, and whose is next: a burst of one tenant, which may be of VMs that boot,
 * delays another tenant's start by no more than one of its own. May include: base/, loop/. */
#pragma once
#include "loop/loop.h"

struct starts;

unsigned starts_max(void); /* how many this host should make at the same time */
struct starts *starts_new(unsigned max);
struct starts *starts_free(struct starts *st); /* nothing waits any more */
/* Calls go(arg) once: now, or later from starts_done(). Of those that wait, the one goes whose tenant has fewest. */
void starts_begin(struct starts *st, const char *tenant, loop_fn *go, void *arg);
void starts_done(struct starts *st, const char *tenant); /* one of those that went has ended, well or not */
