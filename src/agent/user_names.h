/* Names of users and groups for one answer: the sandbox's files are read once, the last lookup is cached. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct agent_user_names {
    char *passwd, *group;
    bool has_user, has_group;
    uint32_t uid, gid;
    char user_name[64], group_name[64];
};

void agent_user_names_done(struct agent_user_names *n); /* {0} is the initial state */
/* The name, or the number as text; valid until the next call. */
const char *agent_user_names_user(struct agent_user_names *n, uint32_t uid);
const char *agent_user_names_group(struct agent_user_names *n, uint32_t gid);
