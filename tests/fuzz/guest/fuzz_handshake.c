/* The stream of a virtual machine before and between its links: whatever is in it, the same hellos are found however it
 * is cut. Bit 0 of the first byte picks hellos or replies, the rest how long the pieces are. */
#include "../feed.h"

#include <stdbool.h>

#include "guest/proto_vm.h"

#define SUM_START 14695981039346656037u
#define SUM_PRIME 1099511628211u

static uint64_t add(uint64_t sum, const void *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        sum = (sum ^ ((const uint8_t *)data)[i]) * SUM_PRIME;
    return sum;
}

static void look_at(const struct proto_vm *v)
{
    static const char magic[] = VM_HANDSHAKE_MAGIC;
    MUST(memcmp(v->msg.bytes, magic, VM_HANDSHAKE_MAGIC_LEN) == 0);
    for (size_t at = 1; at + VM_HANDSHAKE_MAGIC_LEN <= v->want; at++)
        MUST(memcmp(v->msg.bytes + at, magic, VM_HANDSHAKE_MAGIC_LEN) != 0);
    if (v->want != sizeof(struct vm_handshake) || proto_vm_complaint(&v->msg.handshake))
        return;
    const struct vm_handshake *h = &v->msg.handshake;
    if (h->what != VM_HANDSHAKE_ENTER)
        return;
    MUST(memchr(h->hostname, 0, sizeof(h->hostname)) && h->hostname[0]);
    MUST(memchr(h->workdir, 0, sizeof(h->workdir)) && h->workdir[0] == '/');
    MUST(h->shm_mb > 0 && h->nofile > 0);
}

static uint64_t run(const uint8_t *data, size_t size, size_t want, size_t piece)
{
    struct proto_vm v;
    uint64_t sum = SUM_START;
    proto_vm_init(&v, want);
    for (size_t at = 0; at < size;) {
        size_t n = size - at < piece ? size - at : piece;
        char *copy = feed_bytes(data + at, n);
        size_t took = proto_vm_feed(&v, copy, n);
        free(copy);
        MUST(took <= n && v.have <= v.want);
        MUST(took == n || proto_vm_is_whole(&v));
        at += took;
        if (!proto_vm_is_whole(&v))
            continue;
        look_at(&v);
        sum = add(add(sum, v.msg.bytes, want), &at, sizeof(at));
        proto_vm_next(&v);
        MUST(v.have < VM_HANDSHAKE_MAGIC_LEN);
    }
    return add(sum, v.msg.bytes, v.have);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t want = data[0] & 1 ? sizeof(struct vm_handshake_reply) : sizeof(struct vm_handshake);
    uint64_t whole = run(data + 1, size - 1, want, size);
    MUST(run(data + 1, size - 1, want, 1) == whole);
    MUST(run(data + 1, size - 1, want, (data[0] >> 1) + 1u) == whole);
    return 0;
}
