/* The protocol between the launcher and the in-box stage: one fixed-size message in each direction on a SEQPACKET
 * socket. Both are built from the same tree, but with two C libraries: only fixed-width fields. May include:
 * nothing. */
#pragma once
#include <stdint.h>

#define STAGE_PLAN_VERSION 1u

/* Descriptors that come with the plan, in this order. */
enum stage_plan_fd {
    STAGE_FD_CONN,   /* connected stream: the daemon's first link */
    STAGE_FD_LISTEN, /* listening unix socket */
    STAGE_FD_FILTER, /* the syscall filter: an array of struct sock_filter in a sealed memfd */
    STAGE_FD_ROOT,   /* from here on only when not is_self_mounted: the detached root mount */
    STAGE_FD_DEV,    /* detached read-only mount of the device folder */
    STAGE_FD_SYS,    /* the same for the folder that replaces /sys */
    STAGE_FD_USR,    /* only when has_usr: a detached mount for /usr */
    STAGE_FDS_MAX
};

#define STAGE_EXTRA_MAX 70000u

struct stage_plan {
    uint32_t version;
    uint8_t is_self_mounted; /* no privilege outside: the stage makes all mounts itself, from the paths that follow */
    uint8_t has_usr;
    uint8_t is_kept;    /* the root was used before: one whose working folder cannot be made starts without it */
    uint8_t is_watched; /* denied calls are to be seen: the report then has the listener of the filter, and a pipe */
    uint32_t nofile;    /* descriptor limit of a process */
    uint32_t nproc;     /* is_self_mounted only: processes of each user of the box; 0: a cgroup limits them */
    uint32_t shm_mb;    /* size of /dev/shm */
    uint32_t extra_len; /* bytes that follow, is_self_mounted only: NUL-terminated paths: box folder, layers, topmost
                           first */
    char hostname[64];
    char workdir[1024];
};

/* With a result of 0 and is_watched it comes with two descriptors, { listener of the filter, write end of the pipe that
 * the agent reads struct denied_call from }; without them where the kernel has no listener for it. */
#define STAGE_REPORT_FDS 2
struct stage_report {
    uint32_t version;
    int32_t result; /* 0: ready; else -errno */
    char text[240]; /* the step that failed */
};
