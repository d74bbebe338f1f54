#include "agent/user_names.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/file.h"
#include "guest/proto_user.h"

#define FILE_MAX (1024u * 1024)

void agent_user_names_done(struct agent_user_names *n)
{
    free(n->passwd);
    free(n->group);
}

const char *agent_user_names_user(struct agent_user_names *n, uint32_t uid)
{
    uint32_t gid;

    if (n->has_user && n->uid == uid)
        return n->user_name;
    if (!n->passwd)
        n->passwd = agent_file_text("/etc/passwd", FILE_MAX);
    if (!n->passwd || proto_user_passwd_uid(n->passwd, uid, &gid, n->user_name, sizeof(n->user_name)) < 0)
        (void)snprintf(n->user_name, sizeof(n->user_name), "%u", uid);
    n->has_user = true;
    n->uid = uid;
    return n->user_name;
}

const char *agent_user_names_group(struct agent_user_names *n, uint32_t gid)
{
    if (n->has_group && n->gid == gid)
        return n->group_name;
    if (!n->group)
        n->group = agent_file_text("/etc/group", FILE_MAX);
    if (!n->group || proto_user_group_gid(n->group, gid, n->group_name, sizeof(n->group_name)) < 0)
        (void)snprintf(n->group_name, sizeof(n->group_name), "%u", gid);
    n->has_group = true;
    n->gid = gid;
    return n->group_name;
}
