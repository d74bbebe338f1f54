/* Rows of the Docker backend: our operations on a container of an engine, and the same work asked of that engine by
 * its command line and by its API. */
#pragma once
#include <stdio.h>

#include "bench.h"

extern struct row dockrows_ours[], dockrows_peers[];
/* Needs DOCKER_HOST=unix://PATH. False when there is none. */
bool dockrows_open(struct bench *b);
void dockrows_print(const struct bench *b, FILE *json);
