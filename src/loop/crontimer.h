/* A timer that follows a cron expression. May include: base/, loop/. */
#pragma once
#include "base/cron.h"
#include "loop/loop.h"

struct crontimer;

struct crontimer *crontimer_new(struct loop *l, const struct cron *when, timer_fn *fn, void *arg);
struct crontimer *crontimer_free(struct crontimer *t); /* legal in its own callback */
