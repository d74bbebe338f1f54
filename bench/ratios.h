/* What a run says at its end: one row's p50 over another's, with the goal, on paper and as JSON. */
#pragma once
#include "bench.h"

struct ratio {
    const char *what, *above, *below; /* names of rows, ours or the peers' */
    const char *goal;
};

/* 0 when there is no such row, or no sample of it. */
double ratios_p50(const struct bench *b, const char *name);
void ratios_print(FILE *json, const char *what, double value, const char *goal);
/* Those of the list, which a zero ends, that have samples on both sides. */
void ratios_print_all(const struct bench *b, FILE *json, const struct ratio *all);
