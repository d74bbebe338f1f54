/* A host name, then lists as settings hold them: who is on a list, and what the rule about outgoing connections makes
 * of a host that others resolve. */
#include "../feed.h"

#include "base/address.h"
#include "base/cleanup.h"
#include "http/outgoing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(free_p) char *text = feed_text(data, size);
    char *rest = text;
    const char *host = feed_line(&rest), *list = rest ? rest : "";
    struct err err = ERR_INIT;
    struct address a;
    bool is_list = address_hosts_check(list, "X", &err) == 0;
    MUST(is_list || err.code == ERR_INVALID);
    (void)address_hosts_have(list, host, 443);
    (void)address_ports_have(list, 443);
    if (*host && address_hosts_check(host, "X", &err) == 0 && !strpbrk(host, ":/*, \t")) /* a host is on its own list */
        MUST(address_hosts_have(host, host, 443) || host[strlen(host) - 1] == '.');
    if (!address_parse(host, &a))
        return 0;
    const struct outgoing none = { .trust = OUTGOING_PUBLIC },
                          all = { .trust = OUTGOING_PUBLIC, .private_hosts = list };
    enum address_kind kind = address_kind(&a);
    if (kind != ADDRESS_PUBLIC)
        MUST(outgoing_check_host(&none, host, 443, &err) < 0);
    if (kind == ADDRESS_CLOSED)
        MUST(outgoing_check_host(&all, host, 443, &err) < 0);
    return 0;
}
