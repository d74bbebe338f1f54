/* First byte: what it is; the rest: a DNS message, a TLS greeting or an HTTP head as a sandbox or a resolver sent it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/egressdns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_dns(uint8_t *msg, size_t len, bool is_reply)
{
    struct egressdns_question q;
    uint32_t found[8];
    if (egressdns_parse(msg, len, is_reply, &q) < 0)
        return;
    if (q.end > len || strlen(q.name) >= sizeof(q.name) || egressdns_addresses(msg, len, &q, found, 8) > 8)
        abort();
    if (!is_reply && egressdns_parse(msg, egressdns_refuse(msg, &q, 3), true, &q) < 0)
        abort(); /* what we make ourselves can be read */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[EGRESSPOLICY_NAME];
    if (size < 2)
        return 0;
    uint8_t *copy = malloc(size - 1); /* exact, so that a read past the end shows */
    if (!copy)
        return 0;
    memcpy(copy, data + 1, size - 1);
    if (data[0] % 4 < 2)
        check_dns(copy, size - 1, data[0] % 4);
    else if (data[0] % 4 == 2)
        (void)egressdns_tls_name(copy, size - 1, name);
    else
        (void)egressdns_http_name(copy, size - 1, name);
    free(copy);
    return 0;
}
