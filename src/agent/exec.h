/* Commands: start, output, input, signals, time limit, exit. A command belongs to the stream that started it or,
 * when it is durable, to a job (job.h) that keeps its log. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/reply.h"

struct agent_exec;

/* Handles EXEC_START. Answers ERROR when it cannot be started. */
void agent_exec_start(struct agent_reply *r, const uint8_t *data, size_t len);
/* A command of the agent itself, on no stream. Its output goes to a job's log, or is dropped. */
struct agent_exec_owner {
    struct agent_job *job; /* or NULL */
    void (*on_end)(void *arg, const struct proto_exit *end);
    void *arg;
};
/* plan: the fields of EXEC_START; argv: instead of those, with a spare slot before it, or NULL. NULL: it was not
 * started, and r->text says why. */
struct agent_exec *agent_exec_run(struct agent_reply *r, const struct agent_exec_owner *owner, const uint8_t *plan,
                                  size_t len, char **argv);
/* Kills it with its tree; its owner is not told of its end. */
void agent_exec_disown(struct agent_exec *x);
/* On SIGCHLD: reaps every child, ours or orphans. */
void agent_exec_reap(struct agent *a);
/* SIGINT to the groups of all commands that are neither durable nor on a terminal. */
void agent_exec_interrupt(struct agent *a);
/* SIGKILL goes to the whole tree. */
void agent_exec_signal(struct agent_exec *x, int signo);
/* Queues input for a durable command; answers r when the command has taken it, or with EPIPE. */
void agent_exec_input(struct agent_exec *x, struct agent_reply *r, const uint8_t *data, size_t len, bool is_last);
/* Kills all running commands; the agent exits. */
void agent_exec_end_all(struct agent *a);
pid_t agent_exec_pid(const struct agent_exec *x);
