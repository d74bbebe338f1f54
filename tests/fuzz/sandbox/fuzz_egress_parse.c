/* First byte: what it is; the rest: a DNS message, a ClientHello or the first bytes of a client as a sandbox or a
 * resolver sent it. */
#include "../feed.h"

#include <errno.h>

#include "base/cleanup.h"
#include "sandbox/net/egress_parse.h"

typedef int name_fn(const uint8_t *data, size_t len, char ret[EGRESS_POLICY_NAME]);

static void check_dns(uint8_t *msg, size_t len, bool is_reply)
{
    struct egress_parse_question q;
    uint32_t found[8];
    if (egress_parse_parse(msg, len, is_reply, &q) < 0)
        return;
    MUST(q.end <= len && strlen(q.name) < sizeof(q.name) && egress_parse_addresses(msg, len, &q, found, 8) <= 8);
    if (!is_reply) /* what we make ourselves can be read */
        MUST(egress_parse_parse(msg, egress_parse_refuse(msg, &q, 3), true, &q) == 0);
}

/* The bytes come in pieces: once there is a verdict, more bytes must not change it, or the policy could be asked about
 * another name than the one the server sees. */
static void check_pieces(name_fn *fn, const uint8_t *data, size_t len)
{
    char whole[EGRESS_POLICY_NAME] = "", part[EGRESS_POLICY_NAME] = "";
    int last = fn(data, len, whole);
    size_t step = len > 256 ? len / 128 : 1;
    for (size_t n = 0; n < len; n += step) {
        int r = fn(data, n, part);
        MUST(r == 0 || r == last);
        MUST(r <= 0 || strcmp(part, whole) == 0);
    }
    if (last > 0)
        MUST(whole[0] && strlen(whole) < sizeof(whole));
}

/* Only "not yet" may turn into something else when more bytes come. */
static void check_kind(const uint8_t *data, size_t len)
{
    enum egress_parse_kind last = egress_parse_kind(data, len);
    for (size_t n = 0; n < len && n < 4096; n++) {
        enum egress_parse_kind k = egress_parse_kind(data, n);
        MUST(k == EGRESS_PARSE_NONE || k == EGRESS_PARSE_TEXT || k == last);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    CLEANUP(free_p) uint8_t *copy = (uint8_t *)feed_bytes(data + 1, size - 1);
    if (data[0] % 4 < 2)
        check_dns(copy, size - 1, data[0] % 4);
    else if (data[0] % 4 == 2)
        check_pieces(egress_parse_tls_name, copy, size - 1);
    else
        check_kind(copy, size - 1);
    return 0;
}
