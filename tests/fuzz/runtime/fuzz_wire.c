/* What daemon and launcher send each other. Bit 0 of the first byte: a reply as the daemon gets it; else a request as
 * the launcher gets it, checked and its list walked. Bit 1: the message is made long enough, with the right version and
 * length, so that kept inputs go on to the fields when the struct has grown. What passes the check can be used as text
 * and as a part of paths. */
#include "../feed.h"

#include "base/cleanup.h"
#include "runtime/native/box.h"
#include "runtime/native/wire.h"

static void try_request(const uint8_t *data, size_t size, bool is_helped)
{
    struct err err = ERR_INIT;
    size_t len = is_helped && size < sizeof(struct wire_request) ? sizeof(struct wire_request) : size;
    CLEANUP(free_p) struct wire_request *q = calloc(1, len > sizeof(*q) ? len : sizeof(*q));
    MUST(q);
    (void)memcpy(q, data, size);
    if (is_helped) {
        q->version = WIRE_VERSION;
        q->extra_len = (uint32_t)(len - sizeof(*q));
        q->op %= WIRE_OPS;
    }
    if (wire_request_check(q, len, &err) < 0) {
        MUST(err.code != ERR_NONE);
        return;
    }
    uint32_t at = 0;
    size_t total = 0;
    for (const char *s; (s = native_box_root_next(q, &at));)
        total += strlen(s) + 1;
    MUST(total == q->extra_len && q->op > WIRE_HANDSHAKE && q->op < WIRE_OPS);
    MUST(strlen(q->hostname) < sizeof(q->hostname) && strlen(q->workdir) < sizeof(q->workdir));
    MUST(!q->object[0] || wire_is_id(q->object));
    MUST(!q->name[0] || wire_is_name(q->name));
    MUST(wire_is_id(q->id) || (q->op != WIRE_CREATE && q->op != WIRE_ADOPT));
}

static void try_reply(const uint8_t *data, size_t size, bool is_helped)
{
    struct err err = ERR_INIT;
    size_t len = is_helped ? sizeof(struct wire_reply) : size;
    CLEANUP(free_p) struct wire_reply *p = calloc(1, len > sizeof(*p) ? len : sizeof(*p));
    MUST(p);
    (void)memcpy(p, data, size < len ? size : len);
    if (is_helped) {
        p->version = WIRE_VERSION;
        p->op %= WIRE_OPS;
    }
    if (wire_reply_check(p, len, &err) < 0)
        return;
    MUST(strlen(p->text) < sizeof(p->text) && strlen(p->folder) < sizeof(p->folder) &&
         strlen(p->cgroup) < sizeof(p->cgroup) && strlen(p->name) < sizeof(p->name) && err_name(p->code));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    if (data[0] & 1)
        try_reply(data + 1, size - 1, data[0] & 2);
    else
        try_request(data + 1, size - 1, data[0] & 2);
    return 0;
}
