/* Durable commands by tag: their log file, their end, and the notices of it.
 * The log is /tmp/TAG.log, a ring of AG_JOB_LOG_MAX bytes (offset o lies at o modulo that), held by its descriptor. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/agent/ag_reply.h"

#define AG_JOB_LOG_MAX (64u * 1024 * 1024)

struct ag_exec;
struct ag_job;

/* -EEXIST: the tag is taken; -EINVAL: a tag has only letters, digits, '_', '-' and '.' inside. */
int ag_job_new(struct agent *a, const char *tag, bool has_marks, struct ag_job **ret);
void ag_job_abandon(struct agent *a, struct ag_job *job); /* its command never started */
void ag_job_started(struct ag_job *job, struct ag_exec *x);
void ag_job_append(struct ag_job *job, uint8_t number, const uint8_t *data, size_t len); /* of stream 1 or 2 */
void ag_job_ended(struct agent *a, struct ag_job *job, const struct proto_exit *end);    /* tells all links */
void ag_job_tell(struct agent *a, struct ag_conn *c); /* ends that no host has heard of */

void ag_job_end_all(struct agent *a); /* forgets what has ended; the agent is leaving */

/* The JOB_* requests. */
void ag_job_request(struct ag_reply *r, uint16_t type, const uint8_t *data, size_t len);
