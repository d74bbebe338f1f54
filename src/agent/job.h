/* Durable commands by tag: their log file, their exit and its notices. The log is /tmp/TAG.log, a ring of
 * AGENT_JOB_LOG_MAX bytes (offset o is at o modulo that), held by its descriptor. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/reply.h"

#define AGENT_JOB_LOG_MAX (64u * 1024 * 1024)

struct agent_exec;
struct agent_job;

/* -EEXIST: the tag is in use; -EINVAL: a tag has only letters, digits, '_', '-' and '.' inside. */
int agent_job_new(struct agent *a, const char *tag, bool has_marks, struct agent_job **ret);
/* The log of a service, whose processes append to it one after the other; that of an earlier agent is kept beside it.
 * Hosts may only read it. */
int agent_job_new_service(struct agent *a, const char *name, struct agent_job **ret);
void agent_job_abandon(struct agent *a, struct agent_job *job); /* its command never started */
void agent_job_started(struct agent_job *job, struct agent_exec *x);
void agent_job_append(struct agent_job *job, uint8_t number, const uint8_t *data, size_t len); /* of stream 1 or 2 */
void agent_job_ended(struct agent *a, struct agent_job *job, const struct proto_exit *end);    /* notifies all links */
void agent_job_tell(struct agent *a, struct agent_conn *c); /* exits that no host has been told of */

void agent_job_end_all(struct agent *a); /* frees ended jobs; the agent exits */

/* The JOB_* requests. */
void agent_job_request(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len);
