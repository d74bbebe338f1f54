/* The idle time-out: a sandbox whose configuration has an idleTimeout is removed when it was not used for longer than
 * that many seconds, through whichever entry point. Use is a call, a running command, an open terminal or tunnel, and
 * data on its network; packets without data are not. May include: base/, loop/, sandbox/. */
#pragma once
#include <stdint.h>

#define IDLE_MAX_S 315360000 /* ten years */

struct idle;
struct manager;
struct sandbox;

struct idle *idle_new(struct manager *m); /* scans every III_IDLE_SCAN_MS */
struct idle *idle_free(struct idle *i);
void idle_scan_every(struct idle *i, int64_t scan_ms);

void idle_touch(struct sandbox *s); /* it is being used now */
/* A command runs for at most that long: until it is done the time-out is longer by this time and a minute. */
void idle_command(struct sandbox *s, int64_t longest_ms);
void idle_command_done(struct sandbox *s);
