/* Services: commands that the agent keeps running. Defined by the host, started in the order of their dependencies,
 * restarted with growing pauses, their log a job's (job.h), their state told to every host that takes it. They continue
 * without a host. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/reply.h"

/* SERVICE_DEFINE and SERVICE_ACT. */
void agent_service_define(struct agent_reply *r, const uint8_t *data, size_t len);
void agent_service_act(struct agent_reply *r, const uint8_t *data, size_t len);
void agent_service_halt(struct agent *a);    /* every process is told to exit: none is started any more */
void agent_service_end_all(struct agent *a); /* before agent_exec_end_all(); the agent exits */
