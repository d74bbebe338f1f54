/* What the host and the agent of a virtual machine say to each other before the guest protocol begins, on the same
 * stream. The stream of a machine outlives links: a link begins when the host sends a hello, and everything on the
 * stream before it, in either direction, is remains of an earlier one. So the agent looks for the magic bytes and drops
 * what comes before them, and the host does the same with the reply, which repeats the hello's nonce. A hello that gets
 * no reply is sent again after the stream was closed for a moment.
 * Both sides are built from the same tree, but by two C libraries: only fixed-width fields, no padding.
 * May include: nothing. */
#pragma once
#include <stdint.h>

#define VM_HANDSHAKE_VERSION    1u
#define VM_HANDSHAKE_MAGIC      "\x02iii-vm\n" /* as the begin of a frame it would be refused: see PROTO_FRAME_MAX */
#define VM_HANDSHAKE_MAGIC_LEN  8
#define VM_HANDSHAKE_PORT       52u /* where the agent listens when the stream is a vsock, */
#define VM_HANDSHAKE_NOTES_PORT 53u /* and its warden for notes */
#define VM_HANDSHAKE_NICS       2u

enum vm_handshake_what {
    VM_HANDSHAKE_ENTER = 1, /* the machine has just been booted or restored: take this identity, then serve */
    VM_HANDSHAKE_PROBE,     /* answers when it could take an identity, takes none, and waits for the next hello */
    VM_HANDSHAKE_REJOIN,    /* the same machine, another link: token must be the one it has. Only the clock is set */
    VM_HANDSHAKE_CLOCK,     /* never on a stream: what the agent asks of the warden when its host says the time */
    /* Notes: on a port of their own, answered while a link is served. token must be the one it has. */
    VM_HANDSHAKE_MOUNT,   /* the drive with the serial number `hostname` at `workdir`; once more is fine */
    VM_HANDSHAKE_UNMOUNT, /* and what was written is on the drive then; one that is not mounted is fine */
    VM_HANDSHAKE_FREEZE,  /* the same, and nothing is written any more: the machine is about to end */
    VM_HANDSHAKE_PLUG,    /* nic[0] gets its address, the hardware address made from it, and the name `hostname` */
    VM_HANDSHAKE_UNPLUG,  /* nic[0] gets back what it had */
    VM_HANDSHAKE_NAME =
        100, /* never on a stream, like VM_HANDSHAKE_CLOCK: the machine is called `hostname` from now on */
};
#define VM_HANDSHAKE_READONLY 1u

struct vm_handshake_nic {
    uint8_t mac[6]; /* which interface: what it came with (vm_handshake_mac); all 0: this entry is empty */
    uint8_t prefix;
    uint8_t zero;
    uint32_t address; /* IPv4, host order; 0: taken down */
    uint32_t gateway; /* 0: none */
};

/* What the interface of that number comes with, in every machine: it is never seen outside of it. */
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
    uint8_t token[16];    /* of this machine; a clone gets one of its own */
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
