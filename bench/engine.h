/* Rows that go through the engine's WebSocket. */
#pragma once
#include "bench.h"

int64_t engine_sample_call(struct bench *b);      /* one invocation of the smallest function */
int64_t engine_sample_run(struct bench *b);       /* sandbox::run of one line of Python: create, run, stop */
double engine_calls_per_s(const struct bench *b); /* invocations with 32 in flight */
