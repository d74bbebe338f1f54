/* The handshake between the host and the agent of a VM, which precedes the guest protocol on the same stream. The
 * stream of a VM outlives links: a link starts when the host sends a handshake, and everything on the stream before
 * it, in either direction, is left over from an earlier link. So the agent looks for the magic bytes and drops what
 * precedes them, and the host does the same with the reply, which repeats the handshake's nonce. A handshake without
 * a reply is sent again after the stream was closed for a moment. Both sides are built from the same tree, but with
 * two C libraries: only fixed-width fields, no padding. May include: nothing. */
#pragma once
#include <stdint.h>

#define VM_HANDSHAKE_VERSION    1u
#define VM_HANDSHAKE_MAGIC      "\x02iii-vm\n" /* would be rejected as the start of a frame: see PROTO_FRAME_MAX */
#define VM_HANDSHAKE_MAGIC_LEN  8
#define VM_HANDSHAKE_PORT       52u /* vsock port of the agent, */
#define VM_HANDSHAKE_NOTES_PORT 53u /* and of the VM's init process for notes */
#define VM_HANDSHAKE_NICS       2u

enum vm_handshake_what {
    VM_HANDSHAKE_ENTER = 1, /* the VM has just been booted or restored: take this identity, then serve */
    VM_HANDSHAKE_PROBE,     /* replies when it could take an identity, takes none, and waits for the next handshake */
    VM_HANDSHAKE_REJOIN,    /* the same VM, another link: token must be its present one. Only sets the clock */
    VM_HANDSHAKE_CLOCK,     /* never on a stream: the agent's request to the init process to set the clock */
    /* Notes: on their own port, answered while a link is served. token must be the present one. */
    VM_HANDSHAKE_MOUNT,   /* mounts the drive with the serial number `hostname` at `workdir`; repeating it is fine */
    VM_HANDSHAKE_UNMOUNT, /* and syncs the drive; one that is not mounted is fine */
    VM_HANDSHAKE_FREEZE,  /* the same, and blocks further writes: the VM is about to be killed */
    VM_HANDSHAKE_PLUG,    /* nic[0] gets its address, the hardware address derived from it, and the name `hostname` */
    VM_HANDSHAKE_UNPLUG,  /* resets nic[0] */
    VM_HANDSHAKE_NAME = 100, /* never on a stream, like VM_HANDSHAKE_CLOCK: sets the VM's hostname */
};
#define VM_HANDSHAKE_READONLY 1u
#define VM_HANDSHAKE_ALL      "all" /* in FREEZE instead of a drive: syncs everything, the VM's own drive above all */

struct vm_handshake_nic {
    uint8_t mac[6]; /* identifies the interface by its first address (vm_handshake_mac); all 0: the entry is empty */
    uint8_t prefix;
    uint8_t zero;
    uint32_t address; /* IPv4, host order; 0: taken down */
    uint32_t gateway; /* 0: none */
};

/* The first hardware address of the interface of that number, the same in every VM: it is never visible outside. */
static inline void vm_handshake_mac(unsigned nic, uint8_t ret[6])
{
    static const uint8_t begin[5] = { 0x02, 0x69, 0x76, 0x6d, 0x00 };
    for (unsigned i = 0; i < 5; i++)
        ret[i] = begin[i];
    ret[5] = (uint8_t)nic;
}

struct vm_handshake {
    char magic[VM_HANDSHAKE_MAGIC_LEN];
    uint32_t version;
    uint32_t what;
    uint64_t nonce;
    uint64_t realtime_ns; /* the host's clock */
    uint8_t token[16];    /* of this VM; a clone gets one of its own */
    uint8_t seed[64];     /* entropy */
    uint32_t nofile;      /* as in struct stage_plan */
    uint32_t shm_mb;
    uint32_t pids_max; /* 0: none */
    uint32_t flags;    /* mount: VM_HANDSHAKE_READONLY; else 0 */
    struct vm_handshake_nic nic[VM_HANDSHAKE_NICS];
    char hostname[64]; /* mount, unmount: of the drive; plug: of the interface */
    char workdir[1024];
};

struct vm_handshake_reply {
    char magic[VM_HANDSHAKE_MAGIC_LEN];
    uint32_t version;
    int32_t result; /* 0: the guest protocol follows; else -errno */
    uint64_t nonce;
    char text[240]; /* the step that failed */
};
