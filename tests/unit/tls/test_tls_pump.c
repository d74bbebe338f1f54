/* Sessions between two ends in one loop: bytes, ends, refusals and the end of the loop. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tap.h"
#include "tls/tls_context.h"
#include "tls/tls_pump.h"

enum { MANY = 3000000 };

struct side {
    struct tls_pump *pump;
    int fd; /* the plain end */
    bool is_ended;
    char why[300];
};

static struct loop *loop;
static bool is_joining;
static struct side server, client;
static char dir[] = "/tmp/test-tlspump-XXXXXX", cert_path[64], key_path[64];

/* --- a certificate for "there.example", signed by itself --- */

static void make_files(void)
{
    CHECK(mkdtemp(dir));
    (void)snprintf(cert_path, sizeof cert_path, "%s/cert", dir);
    (void)snprintf(key_path, sizeof key_path, "%s/key", dir);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    X509_EXTENSION *alt = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:there.example");
    (void)X509_set_version(x, 2);
    (void)ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    (void)X509_gmtime_adj(X509_getm_notBefore(x), -10);
    (void)X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    (void)X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC, (const unsigned char *)"t", -1, -1,
                                     0);
    (void)X509_set_issuer_name(x, X509_get_subject_name(x));
    (void)X509_set_pubkey(x, key);
    CHECK_INT(X509_add_ext(x, alt, -1), 1);
    CHECK(X509_sign(x, key, EVP_sha256()) > 0);
    FILE *f = fopen(cert_path, "we");
    CHECK_INT(PEM_write_X509(f, x), 1);
    (void)fclose(f);
    f = fopen(key_path, "we");
    CHECK_INT(fchmod(fileno(f), 0600), 0);
    CHECK_INT(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL), 1);
    (void)fclose(f);
    X509_EXTENSION_free(alt);
    X509_free(x);
    EVP_PKEY_free(key);
}

/* --- the rig --- */

static void maybe_stop(void)
{
    bool is_client_there = client.fd >= 0 || client.is_ended, is_server_there = server.fd >= 0 || server.is_ended;
    if (is_joining && is_client_there && is_server_there)
        loop_stop(loop);
}

static void on_ready(void *arg, struct tls_pump *p, int fd)
{
    struct side *s = arg;
    (void)p;
    s->fd = fd;
    maybe_stop();
}

static void on_end(void *arg, struct tls_pump *p, const char *why)
{
    struct side *s = arg;
    (void)p;
    s->pump = NULL;
    s->is_ended = true;
    (void)snprintf(s->why, sizeof s->why, "%s", why);
    maybe_stop();
}

static const struct tls_pump_events events = { .on_ready = on_ready, .on_end = on_end };

/* Both ends until each is ready or over. ca NULL: the client trusts the system only. */
static void join(const char *ca, const char *name)
{
    int pair[2];
    struct err err = ERR_INIT;
    char note[TLS_CONTEXT_NOTE_MAX];
    SSL_CTX *here = NULL, *there = NULL;
    const struct tls_context_files files = { .cert = cert_path, .key = key_path };
    const struct tls_context_trust trust = { .ca_file = ca };
    server = client = (struct side){ .fd = NO_FD };
    CHECK_INT(loop_new(&loop, &err), 0);
    CHECK_INT(tls_context_server(&files, &here, note, &err), 0);
    CHECK_STR(note, "");
    CHECK_INT(tls_context_client(&trust, &there, &err), 0);
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    CHECK_INT(tls_pump_new(loop, here, pair[0], NULL, &server.pump), 0);
    CHECK_INT(tls_pump_new(loop, there, pair[1], name, &client.pump), 0);
    tls_pump_start(server.pump, &events, &server);
    tls_pump_start(client.pump, &events, &client);
    is_joining = true;
    loop_run(loop);
    is_joining = false;
    SSL_CTX_free(here);
    SSL_CTX_free(there);
}

static void part(void)
{
    struct side *const sides[] = { &server, &client };
    for (size_t i = 0; i < 2; i++) {
        sides[i]->pump = tls_pump_free(sides[i]->pump);
        if (sides[i]->fd >= 0)
            (void)close(sides[i]->fd);
    }
    loop = loop_free(loop);
}

/* Sends MANY bytes from one end and reads them at the other, then the end. */
struct trip {
    struct side *from, *to;
    size_t sent, got;
    bool is_same, is_over;
    struct watch *out, *in;
};

static char pattern(size_t i)
{
    return (char)(i * 2654435761u >> 13);
}

static void on_writable(void *arg, int ev)
{
    struct trip *t = arg;
    char piece[5000];
    (void)ev;
    size_t n = MANY - t->sent < sizeof piece ? MANY - t->sent : sizeof piece;
    for (size_t i = 0; i < n; i++)
        piece[i] = pattern(t->sent + i);
    ssize_t done = n ? write(t->from->fd, piece, n) : 0;
    t->sent += done > 0 ? (size_t)done : 0;
    if (t->sent < MANY)
        return;
    t->out = watch_free(t->out);
    CHECK_INT(shutdown(t->from->fd, SHUT_WR), 0);
}

static void on_readable(void *arg, int ev)
{
    struct trip *t = arg;
    char piece[7000];
    (void)ev;
    ssize_t n = read(t->to->fd, piece, sizeof piece);
    for (ssize_t i = 0; i < n; i++)
        t->is_same = t->is_same && piece[i] == pattern(t->got + (size_t)i);
    t->got += n > 0 ? (size_t)n : 0;
    if (n != 0)
        return;
    t->in = watch_free(t->in);
    t->is_over = true;
    loop_stop(loop);
}

static void travel(struct side *from, struct side *to)
{
    struct trip t = { .from = from, .to = to, .is_same = true };
    CHECK_INT(watch_new(loop, from->fd, LOOP_WRITE, on_writable, &t, &t.out), 0);
    CHECK_INT(watch_new(loop, to->fd, LOOP_READ, on_readable, &t, &t.in), 0);
    loop_run(loop);
    CHECK(t.is_over && t.is_same);
    CHECK_INT(t.got, MANY);
}

/* --- the tests --- */

TEST(bytes_and_ends_go_both_ways)
{
    join(cert_path, "there.example");
    CHECK_INT(tls_pump_version(server.pump), 0x304);
    travel(&client, &server); /* the client has ended its direction; the other one is still open */
    travel(&server, &client);
    part();
}

TEST(an_unknown_issuer_is_named_with_the_way_out)
{
    join(NULL, "there.example");
    CHECK(client.is_ended && strstr(client.why, "certificate is not accepted") && strstr(client.why, "--ca-cert"));
    CHECK(client.fd < 0);
    part();
}

TEST(another_name_is_refused)
{
    join(cert_path, "here.example");
    CHECK(client.is_ended && strstr(client.why, "name or address that the certificate bears"));
    part();
    join(cert_path, "127.0.0.1");
    CHECK(client.is_ended && strstr(client.why, "name or address that the certificate bears"));
    part();
}

static void on_heard(void *arg, int ev)
{
    (void)arg, (void)ev;
    loop_stop(loop);
}

TEST(a_freed_session_sends_its_last_words)
{
    char got[16] = "";
    struct watch *w = NULL;
    join(cert_path, "there.example");
    CHECK_INT(write(client.fd, "goodbye", 7), 7);
    client.pump = tls_pump_free(client.pump);
    CHECK_INT(watch_new(loop, server.fd, LOOP_READ, on_heard, NULL, &w), 0);
    loop_run(loop);
    w = watch_free(w);
    CHECK_INT(read(server.fd, got, sizeof got), 7);
    CHECK_STR(got, "goodbye");
    part();
}

TEST(what_nobody_owns_ends_with_the_loop)
{
    join(cert_path, "there.example");
    tls_pump_let_go(STEAL(client.pump));
    tls_pump_let_go(STEAL(server.pump));
    int fd = steal_fd(&server.fd);
    part(); /* asserts that nothing is left */
    char got;
    CHECK_INT(read(fd, &got, 1), 0);
    (void)close(fd);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    make_files();
    RUN(bytes_and_ends_go_both_ways);
    RUN(an_unknown_issuer_is_named_with_the_way_out);
    RUN(another_name_is_refused);
    RUN(a_freed_session_sends_its_last_words);
    RUN(what_nobody_owns_ends_with_the_loop);
    (void)unlink(cert_path);
    (void)unlink(key_path);
    (void)rmdir(dir);
    return tap_done();
}
