#include "http/outgoing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "base/address.h"
#include "os/own_address.h"

const struct outgoing outgoing_operator = { .trust = OUTGOING_OPERATOR }, outgoing_any = { .trust = OUTGOING_ANY };

static bool is_allowed(const struct outgoing *o, const char *host, const struct sockaddr *to)
{
    struct address a, literal;
    uint16_t port;
    if (o->trust == OUTGOING_ANY)
        return true;
    if (!address_of(to, &a, &port))
        return false;
    enum address_kind kind = address_kind(&a);
    bool is_own = kind == ADDRESS_LOOPBACK || own_address_is(to);
    if (is_own && address_ports_have(o->closed_ports, port))
        return false;
    if (o->trust == OUTGOING_OPERATOR)
        return kind != ADDRESS_CLOSED || address_parse(host, &literal);
    if (o->trust != OUTGOING_PUBLIC || kind == ADDRESS_CLOSED)
        return false;
    return (kind == ADDRESS_PUBLIC && !is_own) || address_hosts_have(o->private_hosts, host, port);
}

int outgoing_check(const struct outgoing *o, const char *host, const struct sockaddr *a, struct err *err)
{
    if (is_allowed(o, host, a))
        return 0;
    return err_set(err, ERR_FORBIDDEN, 0, "%.200s: its address is not allowed", host);
}

/* "localhost", "localhost." and what is below it. */
static bool is_localhost(const char *host)
{
    static const char name[] = "localhost";
    size_t len = strlen(host), n = sizeof(name) - 1;
    len -= len && host[len - 1] == '.';
    return len >= n && strncasecmp(host + len - n, name, n) == 0 && (len == n || host[len - n - 1] == '.');
}

int outgoing_check_host(const struct outgoing *o, const char *host, uint16_t port, struct err *err)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    struct address a;
    if (is_localhost(host))
        v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else if (inet_aton(host, &v4.sin_addr) == 0) { /* also 127.1, 0x7f000001 and 2130706433 */
        if (!address_parse(host, &a))
            return 0;
        memcpy(&v6.sin6_addr, a.bytes, sizeof(a.bytes));
        return outgoing_check(o, host, (struct sockaddr *)&v6, err);
    }
    return outgoing_check(o, host, (struct sockaddr *)&v4, err);
}
