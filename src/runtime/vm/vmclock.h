/* Tells when the host's clock was set or the host slept: a virtual machine does not see either, its own clock went on
 * as if nothing had happened. Costs nothing while nothing happens. May include: base/, loop/. */
#pragma once
#include "loop/loop.h"

struct vmclock;
/* NULL where the kernel cannot tell. */
struct vmclock *vmclock_new(struct loop *l, loop_fn *fn, void *arg);
struct vmclock *vmclock_free(struct vmclock *c);
