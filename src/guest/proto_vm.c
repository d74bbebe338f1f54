#include "guest/proto_vm.h"

#include <string.h>

#include "base/limits.h"

#define PIDS_MAX     LIMIT_MAX(PROCESS_ID)
#define NIC_NAME_MAX 15u
#define REALTIME_MIN 1600000000000000000ull /* 2020: a host without a clock is rejected */
#define REALTIME_MAX 7258118400000000000ull /* 2200 */

static const char magic[VM_HANDSHAKE_MAGIC_LEN + 1] = VM_HANDSHAKE_MAGIC;

void proto_vm_init(struct proto_vm *v, size_t want)
{
    memset(v, 0, sizeof(*v));
    v->want = want;
}

bool proto_vm_is_magic(const void *data, size_t len)
{
    return memcmp(data, magic, len < VM_HANDSHAKE_MAGIC_LEN ? len : VM_HANDSHAKE_MAGIC_LEN) == 0;
}

bool proto_vm_is_whole(const struct proto_vm *v)
{
    return v->have == v->want;
}

/* The first offset in bytes from..len of the magic, or of a prefix of it at the end; len: none. Its first byte
 * occurs in it only once, so a mismatch needs no second look. */
static size_t find_magic(const uint8_t *bytes, size_t from, size_t len)
{
    for (size_t at = from; at < len; at++) {
        const uint8_t *next = memchr(bytes + at, magic[0], len - at);
        if (!next)
            return len;
        at = (size_t)(next - bytes);
        if (proto_vm_is_magic(next, len - at))
            return at;
    }
    return len;
}

static void drop_before(struct proto_vm *v, size_t at)
{
    memmove(v->msg.bytes, v->msg.bytes + at, v->have - at);
    v->have -= at;
}

size_t proto_vm_feed(struct proto_vm *v, const void *data, size_t len)
{
    size_t at = 0;

    while (at < len && v->have < v->want) {
        size_t n = len - at < v->want - v->have ? len - at : v->want - v->have;
        size_t before = v->have;
        memcpy(v->msg.bytes + before, (const uint8_t *)data + at, n);
        v->have += n;
        at += n;
        size_t from = before > VM_HANDSHAKE_MAGIC_LEN ? before - VM_HANDSHAKE_MAGIC_LEN + 1 : 1; /* already searched */
        if (!proto_vm_is_magic(v->msg.bytes, v->have)) {
            drop_before(v, find_magic(v->msg.bytes, 0, v->have));
            from = 1;
        }
        size_t last = 0; /* complete magic: a later one starts a new message */
        for (size_t m = find_magic(v->msg.bytes, from, v->have); m + VM_HANDSHAKE_MAGIC_LEN <= v->have;
             m = find_magic(v->msg.bytes, m + 1, v->have))
            last = m;
        drop_before(v, last);
    }
    return at;
}

void proto_vm_next(struct proto_vm *v)
{
    drop_before(v, find_magic(v->msg.bytes, 1, v->have));
}

static bool is_text(const char *s, size_t size)
{
    const char *end = memchr(s, '\0', size);
    for (; end && end < s + size; end++)
        if (*end)
            return false;
    return end != NULL;
}

static bool is_name(const char *s)
{
    for (const char *p = s; *p; p++) {
        bool is_letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
        if (!is_letter && *p != '-' && *p != '.' && *p != '_')
            return false;
    }
    return s[0] != '\0';
}

static const char *nic_complaint(const struct vm_handshake_nic *n)
{
    static const uint8_t none[6];
    if (n->zero)
        return "an interface with a reserved byte that is not 0";
    if (memcmp(n->mac, none, sizeof(none)) == 0)
        return n->prefix || n->address || n->gateway ? "an address without an interface" : NULL;
    if (n->address && (n->prefix < 1 || n->prefix > 32))
        return "an interface with a prefix that is not 1 to 32";
    return NULL;
}

static const char *identity_complaint(const struct vm_handshake *h)
{
    if (!is_text(h->hostname, sizeof(h->hostname)) || !is_name(h->hostname))
        return "host name that is not 1 to 63 letters, digits, dots, dashes or underscores";
    if (!is_text(h->workdir, sizeof(h->workdir)) || h->workdir[0] != '/')
        return "working folder that is not an absolute path of at most 1023 bytes";
    if (h->nofile < 1 || h->nofile > LIMIT_MAX(OPEN_FILES))
        return "number of descriptors that is not 1 to " LIMIT_MAX_TEXT(OPEN_FILES);
    if (h->shm_mb < LIMIT_MIN(SHM_MB) || h->shm_mb > LIMIT_MAX(SHM_MB))
        return "size of /dev/shm that is not " LIMIT_MIN_TEXT(SHM_MB) " to " LIMIT_MAX_TEXT(SHM_MB) " MiB";
    if (h->pids_max > PIDS_MAX)
        return "number of processes above 4194304";
    const char *why = NULL;
    for (unsigned i = 0; !why && i < VM_HANDSHAKE_NICS; i++)
        why = nic_complaint(&h->nic[i]);
    return why;
}

bool proto_vm_is_note(const struct vm_handshake *h)
{
    return h->what >= VM_HANDSHAKE_MOUNT && !proto_vm_is_inner(h);
}

bool proto_vm_is_inner(const struct vm_handshake *h)
{
    return h->what == VM_HANDSHAKE_CLOCK || h->what == VM_HANDSHAKE_NAME;
}

static const char *plug_complaint(const struct vm_handshake *h)
{
    const struct vm_handshake_nic *n = &h->nic[0];
    const char *why = nic_complaint(n);
    if (why)
        return why;
    if (!n->mac[0] || (n->address != 0) != (h->what == VM_HANDSHAKE_PLUG))
        return "interface or address that is missing, or one too many";
    if (h->what == VM_HANDSHAKE_PLUG &&
        (!is_text(h->hostname, sizeof(h->hostname)) || !is_name(h->hostname) || strlen(h->hostname) > NIC_NAME_MAX))
        return "name of an interface that is not 1 to 15 letters, digits, dots, dashes or underscores";
    return NULL;
}

const char *proto_vm_complaint(const struct vm_handshake *h)
{
    if (h->version != VM_HANDSHAKE_VERSION)
        return "version that this agent does not support (host and guest image are of different releases)";
    if (h->what < VM_HANDSHAKE_ENTER || proto_vm_is_inner(h) || h->what > VM_HANDSHAKE_UNPLUG)
        return "unknown kind";
    if (h->flags & ~(h->what == VM_HANDSHAKE_MOUNT ? VM_HANDSHAKE_READONLY : 0))
        return "unknown flag";
    if (h->realtime_ns < REALTIME_MIN || h->realtime_ns > REALTIME_MAX)
        return "clock that is not between 2020 and 2200";
    if (h->what == VM_HANDSHAKE_PLUG || h->what == VM_HANDSHAKE_UNPLUG)
        return plug_complaint(h);
    if (!proto_vm_is_note(h))
        return h->what == VM_HANDSHAKE_ENTER ? identity_complaint(h) : NULL;
    if (!is_text(h->hostname, sizeof(h->hostname)) || !is_name(h->hostname))
        return "drive that is not named by 1 to 63 letters, digits, dots, dashes or underscores";
    if (!is_text(h->workdir, sizeof(h->workdir)) || h->workdir[0] != '/')
        return "place that is not an absolute path of at most 1023 bytes";
    return NULL;
}
