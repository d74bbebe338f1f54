/* What the host and the agent of a virtual machine say to each other before the guest protocol begins, on the same
 * stream. The stream of a machine outlives links: a link begins when the host sends a hello, and everything on the
 * stream before it, in either direction, is remains of an earlier one. So the agent looks for the magic bytes and drops
 * what comes before them, and the host does the same with the reply, which repeats the hello's nonce. A hello that gets
 * no reply is sent again after the stream was closed for a moment.
 * Both sides are built from the same tree, but by two C libraries: only fixed-width fields, no padding.
 * May include: nothing. */
#pragma once
#include <stdint.h>

#define VMHELLO_VERSION    1u
#define VMHELLO_MAGIC      "\x02iii-vm\n" /* as the begin of a frame it would be refused: see PROTO_FRAME_MAX */
#define VMHELLO_MAGIC_LEN  8
#define VMHELLO_PORT       52u /* where the agent listens when the stream is a vsock, */
#define VMHELLO_NOTES_PORT 53u /* and its warden for notes */
#define VMHELLO_NICS       2u

enum vmhello_what {
    VMHELLO_ENTER = 1, /* the machine has just been booted or restored: take this identity, then serve */
    VMHELLO_PROBE,     /* answers when it could take an identity, takes none, and waits for the next hello */
    VMHELLO_REJOIN,    /* the same machine, another link: token must be the one it has. Only the clock is set */
    VMHELLO_CLOCK,     /* never on a stream: what the agent asks of the warden when its host says the time */
    /* Notes: on a port of their own, answered while a link is served. token must be the one it has. */
    VMHELLO_MOUNT,      /* the drive with the serial number `hostname` at `workdir`; once more is fine */
    VMHELLO_UNMOUNT,    /* and what was written is on the drive then; one that is not mounted is fine */
    VMHELLO_FREEZE,     /* the same, and nothing is written any more: the machine is about to end */
    VMHELLO_PLUG,       /* nic[0] gets its address, the hardware address made from it, and the name `hostname` */
    VMHELLO_UNPLUG,     /* nic[0] gets back what it had */
    VMHELLO_NAME = 100, /* never on a stream, like VMHELLO_CLOCK: the machine is called `hostname` from now on */
};
#define VMHELLO_READONLY 1u

struct vmhello_nic {
    uint8_t mac[6]; /* which interface: what it came with (vmhello_mac); all 0: this entry is empty */
    uint8_t prefix;
    uint8_t zero;
    uint32_t address; /* IPv4, host order; 0: taken down */
    uint32_t gateway; /* 0: none */
};

/* What the interface of that number comes with, in every machine: it is never seen outside of it. */
static inline void vmhello_mac(unsigned nic, uint8_t ret[6])
{
    static const uint8_t begin[5] = { 0x02, 0x69, 0x76, 0x6d, 0x00 };
    for (unsigned i = 0; i < 5; i++)
        ret[i] = begin[i];
    ret[5] = (uint8_t)nic;
}

struct vmhello {
    char magic[VMHELLO_MAGIC_LEN];
    uint32_t version;
    uint32_t what;
    uint64_t nonce;
    uint64_t realtime_ns; /* the host's clock */
    uint8_t token[16];    /* of this machine; a clone gets one of its own */
    uint8_t seed[64];     /* entropy */
    uint32_t nofile;      /* as in struct stage_plan */
    uint32_t shm_mb;
    uint32_t pids_max; /* 0: none */
    uint32_t flags;    /* mount: VMHELLO_READONLY; else 0 */
    struct vmhello_nic nic[VMHELLO_NICS];
    char hostname[64]; /* mount, unmount: of the drive; plug: of the interface */
    char workdir[1024];
};

struct vmhello_reply {
    char magic[VMHELLO_MAGIC_LEN];
    uint32_t version;
    int32_t result; /* 0: the guest protocol follows; else -errno */
    uint64_t nonce;
    char text[240]; /* the step that failed */
};
