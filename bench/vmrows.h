/* Rows of the microVM backend: our operations on a machine, a machine that is booted instead of restored, and what the
 * guest itself needs for a process of its own. */
#pragma once
#include <stdio.h>

#include "bench.h"

extern struct row vmrows_ours[], vmrows_peers[];
/* Before the server starts: kernel and image into its data folder. False when one of them cannot be had. */
bool vmrows_prepare(struct bench *b);
/* After it has: a second server, on which every machine is booted. */
bool vmrows_open(struct bench *b);
void vmrows_close(struct bench *b);
/* Memory of idle machines, measured on the server's own. */
void vmrows_memory(struct bench *b);
void vmrows_print(FILE *json, void (*ratio)(FILE *json, const char *what, double value, const char *goal));
