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
/* Memory of machines that have done nothing yet, and of the one that has lived for the whole run. */
void vmrows_memory(struct bench *b);
void vmrows_print(const struct bench *b, FILE *json);
