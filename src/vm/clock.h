/* Reports that the host's clock was set or that the host was suspended. A VM sees neither: its own clock continues
 * as if nothing had happened. Costs nothing while nothing happens. May include: base/, loop/. */
#pragma once
#include "loop/loop.h"

struct vm_clock;
/* NULL where the kernel cannot report it. */
struct vm_clock *vm_clock_new(struct loop *l, loop_fn *fn, void *arg);
struct vm_clock *vm_clock_free(struct vm_clock *c);
