/* Commands: start, output, input, signals, time limit, end. A command belongs to the stream that started it or, when it
 * is durable, to a job (ag_job.h) that keeps its log. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest/agent/ag_reply.h"

struct ag_exec;

/* Handles EXEC_START. Answers ERROR when it cannot be started. */
void ag_exec_start(struct ag_reply *r, const uint8_t *data, size_t len);
/* SIGCHLD: reaps every child there is, ours or orphans. */
void ag_exec_reap(struct agent *a);
/* SIGINT to the groups of all commands that are neither durable nor on a terminal. */
void ag_exec_interrupt(struct agent *a);
/* SIGKILL takes the whole tree. */
void ag_exec_signal(struct ag_exec *x, int signo);
/* Queues input for a durable command; answers r when it was taken, or EPIPE. */
void ag_exec_input(struct ag_exec *x, struct ag_reply *r, const uint8_t *data, size_t len, bool is_last);
/* Kills all that still run; the agent is leaving. */
void ag_exec_end_all(struct agent *a);
pid_t ag_exec_pid(const struct ag_exec *x);
