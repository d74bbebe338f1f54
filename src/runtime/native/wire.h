/* The protocol between daemon and launcher: one fixed-size request, one fixed-size reply, matched by number, on a
 * SEQPACKET socket; variable parts follow a request as length-checked bytes. The launcher has root and trusts
 * nothing: it checks every field (wire_request_check). May include: base/, os/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/ident.h"
#include "base/limits.h"
#include "os/cgroup.h"

#define WIRE_VERSION    1u
#define WIRE_NAME_MAX   20     /* of a box: 16 hex digits and NUL, also its folder, socket and cgroup */
#define WIRE_EXTRA_MAX  65536u /* bytes after a request: layer paths of a create, kept ids of a sweep */
#define WIRE_FDS_MAX    3
#define WIRE_LAYERS_MAX 240
#define WIRE_SUBNETS    LIMIT_MAX(NETWORKS)
#define WIRE_DISK_MB    LIMIT_MAX(DISK_MB)
#define WIRE_INODES     LIMIT_MAX(INODES)
#define WIRE_NOFILE     LIMIT_MAX(OPEN_FILES)
#define WIRE_SHM_MB     LIMIT_MAX(SHM_MB)
#define WIRE_SINK       "eth0" /* the egress interface of a box: what is sent into it is dropped */

enum wire_op {
    WIRE_HANDSHAKE, /* launcher to daemon, once: ready. Reply only */
    WIRE_OVERUSE,   /* launcher to daemon, at any time: end the box `name`, for the reason in `text`. Reply only */
    WIRE_CREATE,
    WIRE_ADOPT,
    WIRE_DESTROY, /* with an id: also the kept files of one that is dead */
    WIRE_PAUSE,
    WIRE_RESUME,
    WIRE_LIMITS,
    WIRE_GROW,   /* its private disk, to disk_mb and inodes */
    WIRE_RENAME, /* hostname */
    WIRE_CAPTURE,
    WIRE_PROMOTE,  /* captures without a copy if possible; extra: the box's layers, topmost first */
    WIRE_MOUNT,    /* mounts the volume `object`, made with `disk_mb` when it is new, on `workdir` */
    WIRE_UNMOUNT,  /* unmounts it */
    WIRE_NET_JOIN, /* the network `object` */
    WIRE_NET_LEAVE,
    WIRE_EGRESS_REDIRECT, /* redirects egress; the reply carries { TCP listener, DNS socket } */
    WIRE_MEASURE,         /* counts its use of the host's disk; the reply has size_bytes */
    WIRE_HALT, /* ends its processes and keeps its files (kept.h): replied to when both is so. Also one that is dead */
    WIRE_VOLUME_REMOVE,  /* from here on, requests name no box */
    WIRE_VOLUME_MEASURE, /* what the volume `object` uses of the host's disk; the reply has size_bytes */
    WIRE_NET_MAKE,
    WIRE_NET_REMOVE,
    WIRE_SWEEP, /* ids come in any number of requests; is_last runs it */
    WIRE_OPS
};

struct wire_request {
    uint32_t version, op;
    uint64_t number;
    char name[WIRE_NAME_MAX]; /* the box; empty for sweep and create, but with is_kept where its files were last */
    char id[IDENT_MAX];       /* create, adopt, halt: the sandbox's id */
    char hostname[64];
    char workdir[1024];
    uint32_t memory_mb, cpu_milli, pids_max; /* 0 = no limit */
    uint32_t disk_mb, inodes;                /* create, grow: a private disk; both 0 = none. mount: of a volume */
    uint32_t nofile, shm_mb;                 /* create: descriptors of a process, size of /dev/shm */
    uint32_t net_kbps;                       /* join: 0 = no limit */
    uint32_t slot;                           /* adopt: the range of user ids */
    uint64_t start_time;                     /* adopt: with pid, names the process */
    int32_t pid;
    uint32_t extra_len;               /* bytes that follow: NUL-terminated strings */
    char object[IDENT_MAX];           /* volume or network */
    uint32_t address, prefix, subnet; /* join, leave: IPv4 in host order; the network's number */
    uint8_t is_host, is_last, is_paused, is_readonly;
    uint8_t is_linked; /* adopt: the daemon has a connection to the agent; the reply carries no descriptors */
    uint8_t is_kept;   /* create: over the kept files of this id; sweep: keeps those of every id */
    uint8_t seccomp;   /* create: enum filter_profile */
    uint8_t zero[1];
};

struct wire_reply {
    uint32_t version, op;
    uint64_t number;
    int32_t result; /* 0 or -errno */
    uint32_t code;  /* enum err_code when result < 0 */
    char text[400];
    char name[WIRE_NAME_MAX];
    char cgroup[CGROUP_NAME_MAX];
    char folder[64];    /* capture, promote: below the data folder; adopt: leftover of a promote */
    int64_t size_bytes; /* capture, measure (of a volume, too) */
    uint64_t start_time;
    int32_t pid;
    uint32_t slot;
    uint8_t can_idmap, has_uid_range; /* handshake */
    uint8_t can_disk;                 /* handshake: disk.h */
    uint8_t is_shared;                /* promote: folder is a layer of the running box */
    uint8_t zero[4];
};

/* Descriptors: create and adopt replies carry { guest stream, pidfd }, and the image of a box's private disk, only
 * for fstat; a reply to WIRE_EGRESS_REDIRECT carries { TCP listener, DNS socket }. */

/* 0, or -EBADMSG with the field in err. len is what was received, including extra. */
int wire_request_check(const struct wire_request *q, size_t len, struct err *err);
int wire_reply_check(const struct wire_reply *p, size_t len, struct err *err);
bool wire_is_name(const char *s); /* 16 lowercase hex digits */
bool wire_is_id(const char *s);   /* 1 to IDENT_MAX - 1 letters, digits, '-', '_' */
