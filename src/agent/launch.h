/* Turns an EXEC_START message into a running process with its pipes or terminal. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/reply.h"
#include "agent/spawn.h"

/* Strings point into the message. */
struct agent_launch {
    uint32_t flags, timeout_ms;
    uint16_t cols, rows;
    const char *cwd, *user, *tag;
    char **strings; /* owns the arrays below */
    char **argv, **env;
    char *default_env[4];
    char *of_home[4]; /* variables made for the user's home; owned */
    char home[264], host[80];
    struct agent_spawn_user who;
    int ours[3], theirs[3]; /* ends of stdin, stdout, stderr; -EBADF where there is none. A terminal is ours[1] */
};

/* 0, or -errno after it has answered r with the reason. Call agent_launch_done() in both cases. */
int agent_launch_read(struct agent_launch *p, struct agent_reply *r, const uint8_t *data, size_t len);
/* The pid, and the caller owns p->ours; or -errno after it has answered r. */
pid_t agent_launch_run(struct agent_launch *p, struct agent_reply *r);
void agent_launch_done(struct agent_launch *p);
