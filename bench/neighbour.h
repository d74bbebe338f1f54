/* The noisy neighbour: commands of one sandbox while five others misbehave. */
#pragma once
#include "bench.h"

struct neighbour_times {
    double p50_ms, p99_ms;
};

struct neighbour {
    struct neighbour_times quiet, noisy;
};

/* False when something failed. */
bool neighbour_measure(struct bench *b, struct neighbour *ret);
