#include "sandbox/net/egress_lookup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/ident.h"
#include "base/limits.h"

#define ANSWER_MS 5000
#define DNS_PORT  53

struct egress_lookup {
    struct loop *loop;
    int fd;
    struct watch *watch;
    struct timer *limit;
    struct sockaddr_in from;
    struct egress_parse_question question;
    uint16_t id; /* chosen here, so that a forged reply has to guess it and the port */
    egress_lookup_fn *fn;
    void *arg;
};

static void on_answer(void *arg, int events)
{
    struct egress_lookup *k = arg;
    uint8_t reply[EGRESS_PARSE_MAX];
    struct egress_parse_question q;
    (void)events;
    ssize_t n = recv(k->fd, reply, sizeof(reply), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) { /* nobody listens there */
        k->fn(k->arg, k, NULL, 0);
        return;
    }
    if (egress_parse_parse(reply, (size_t)n, true, &q) < 0 || q.id != k->id || q.type != k->question.type ||
        strcmp(q.name, k->question.name) != 0)
        return; /* not a reply to this query: the right one may still arrive */
    reply[0] = (uint8_t)(k->question.id >> 8);
    reply[1] = (uint8_t)k->question.id;
    k->fn(k->arg, k, reply, (size_t)n);
}

static void on_limit(void *arg)
{
    struct egress_lookup *k = arg;
    k->fn(k->arg, k, NULL, 0);
}

struct egress_lookup *egress_lookup_free(struct egress_lookup *k)
{
    if (!k)
        return NULL;
    watch_free(k->watch);
    timer_free(k->limit);
    if (k->fd >= 0)
        (void)close(k->fd); /* datagrams only */
    free(k);
    return NULL;
}
DEFINE_CLEANUP(struct egress_lookup *, egress_lookup_free)

struct egress_lookup *egress_lookup_new(struct loop *l, const struct sockaddr_in *server, const uint8_t *msg,
                                        size_t len, egress_lookup_fn *fn, void *arg)
{
    uint8_t out[EGRESS_PARSE_MAX];
    CLEANUP(egress_lookup_free_p) struct egress_lookup *k = xzalloc(sizeof(*k));
    *k = (struct egress_lookup){ .loop = l, .fn = fn, .arg = arg, .fd = NO_FD };
    if (len > sizeof(out) || egress_parse_parse(msg, len, false, &k->question) < 0)
        return NULL;
    ident_random(&k->id, sizeof(k->id));
    memcpy(out, msg, len);
    out[0] = (uint8_t)(k->id >> 8);
    out[1] = (uint8_t)k->id;
    k->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (k->fd < 0 || connect(k->fd, (const struct sockaddr *)server, sizeof(*server)) < 0 ||
        send(k->fd, out, len, MSG_NOSIGNAL) < 0 || watch_new(l, k->fd, LOOP_READ, on_answer, k, &k->watch) < 0)
        return NULL;
    k->limit = timer_new(l, ANSWER_MS, 0, on_limit, k);
    return STEAL(k);
}

void egress_lookup_set_from(struct egress_lookup *k, const struct sockaddr_in *from)
{
    k->from = *from;
}

const struct sockaddr_in *egress_lookup_from(const struct egress_lookup *k)
{
    return &k->from;
}

static int parse_server(const char *text, struct sockaddr_in *ret)
{
    char host[32];
    size_t n = strcspn(text, ":");
    unsigned long port = DNS_PORT;
    char *end = NULL;
    if (n >= sizeof(host))
        return -EINVAL;
    memcpy(host, text, n);
    host[n] = '\0';
    if (text[n]) {
        port = strtoul(text + n + 1, &end, 10);
        if (end == text + n + 1 || *end || port < LIMIT_MIN(PORT) || port > LIMIT_MAX(PORT))
            return -EINVAL;
    }
    *ret = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    return inet_pton(AF_INET, host, &ret->sin_addr) == 1 ? 0 : -EINVAL;
}

int egress_lookup_server(const char *setting, struct sockaddr_in *ret)
{
    char line[512], host[64];
    int r = -ENOENT;
    if (*setting)
        return parse_server(setting, ret);
    FILE *f = fopen("/etc/resolv.conf", "re");
    while (f && r < 0 && fgets(line, sizeof(line), f))
        if (sscanf(line, " nameserver %63s", host) == 1 && parse_server(host, ret) == 0)
            r = 0;
    if (f)
        (void)fclose(f); /* read only */
    return r;
}
