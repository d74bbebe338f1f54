/* The launcher's request format: every field past its limit is refused. */
#include <errno.h>

#include "runtime/native/wire.h"
#include "tap.h"

static union {
    struct wire_request q;
    char bytes[sizeof(struct wire_request) + 16];
} u;

static struct wire_request *good(uint32_t op)
{
    memset(&u, 0, sizeof(u));
    u.q.version = WIRE_VERSION;
    u.q.op = op;
    if (op != WIRE_CREATE && op < WIRE_VOLUME_REMOVE)
        snprintf(u.q.name, sizeof(u.q.name), "0123456789abcdef");
    if (op == WIRE_CREATE || op == WIRE_ADOPT || op == WIRE_HALT)
        snprintf(u.q.id, sizeof(u.q.id), "sbx_1");
    snprintf(u.q.hostname, sizeof(u.q.hostname), "h");
    snprintf(u.q.workdir, sizeof(u.q.workdir), "/w");
    u.q.pid = op == WIRE_ADOPT ? 77 : 0;
    if (op == WIRE_CREATE) {
        u.q.nofile = 1024;
        u.q.shm_mb = 64;
    }
    if (op == WIRE_GROW) {
        u.q.disk_mb = 64;
        u.q.inodes = 4096;
    }
    if (op >= WIRE_MOUNT && op < WIRE_SWEEP && op != WIRE_EGRESS_REDIRECT && op != WIRE_MEASURE && op != WIRE_HALT)
        snprintf(u.q.object, sizeof(u.q.object), "vol_1");
    if (op == WIRE_NET_JOIN || op == WIRE_NET_LEAVE) {
        u.q.address = 0x0a400002;
        u.q.prefix = 24;
    }
    return &u.q;
}

static int check(void)
{
    struct err err = ERR_INIT;
    return wire_request_check(&u.q, sizeof(u.q) + (u.q.extra_len <= 16 ? u.q.extra_len : 0), &err);
}

TEST(good_requests_pass)
{
    for (uint32_t op = WIRE_CREATE; op < WIRE_OPS; op++) {
        good(op);
        CHECK_INT(check(), 0);
    }
}

TEST(limits)
{
    struct wire_request *q = good(WIRE_CREATE);
    q->disk_mb = WIRE_DISK_MB;
    q->inodes = WIRE_INODES;
    q->nofile = WIRE_NOFILE;
    q->shm_mb = WIRE_SHM_MB;
    CHECK_INT(check(), 0);
    uint32_t *const fields[] = { &q->disk_mb, &q->inodes, &q->nofile, &q->shm_mb };
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        uint32_t most = *fields[i];
        *fields[i] = most + 1;
        CHECK_INT(check(), -EBADMSG);
        *fields[i] = 0; /* a disk without inodes, none of them without descriptors */
        CHECK_INT(check(), -EBADMSG);
        *fields[i] = most;
    }
    good(WIRE_PAUSE)->disk_mb = 100;
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_ADOPT)->nofile = 100;
    CHECK_INT(check(), -EBADMSG);
}

TEST(growing_a_disk)
{
    good(WIRE_GROW);
    CHECK_INT(check(), 0);
    good(WIRE_GROW)->disk_mb = 0;
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_GROW)->inodes = 0;
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_GROW)->inodes = WIRE_INODES + 1;
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_GROW)->disk_mb = WIRE_DISK_MB + 1;
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_GROW)->shm_mb = 64;
    CHECK_INT(check(), -EBADMSG);
}

TEST(volumes_and_networks)
{
    static const uint32_t ops[] = { WIRE_MOUNT,    WIRE_UNMOUNT,    WIRE_NET_JOIN,     WIRE_NET_LEAVE,
                                    WIRE_NET_MAKE, WIRE_NET_REMOVE, WIRE_VOLUME_REMOVE };
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
        good(ops[i])->object[0] = '\0';
        CHECK_INT(check(), -EBADMSG);
        snprintf(good(ops[i])->object, sizeof(u.q.object), "../boxes");
        CHECK_INT(check(), -EBADMSG);
        memset(good(ops[i])->object, 'a', sizeof(u.q.object));
        CHECK_INT(check(), -EBADMSG);
    }
    snprintf(good(WIRE_PAUSE)->object, sizeof(u.q.object), "vol_1");
    CHECK_INT(check(), -EBADMSG);
    snprintf(good(WIRE_MOUNT)->workdir, sizeof(u.q.workdir), "relative");
    CHECK_INT(check(), -EBADMSG);
    snprintf(good(WIRE_MOUNT)->workdir, sizeof(u.q.workdir), "//");
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_NET_JOIN)->address = 0;
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_NET_JOIN)->prefix = 31;
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_NET_JOIN)->prefix = 7;
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_NET_LEAVE)->subnet = WIRE_SUBNETS;
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_NET_LEAVE)->subnet = WIRE_SUBNETS - 1;
    CHECK_INT(check(), 0);
    snprintf(good(WIRE_NET_MAKE)->name, sizeof(u.q.name), "0123456789abcdef");
    CHECK_INT(check(), -EBADMSG);
}

TEST(sizes_and_versions)
{
    struct err err = ERR_INIT;
    good(WIRE_CREATE);
    CHECK_INT(wire_request_check(&u.q, sizeof(u.q) - 1, &err), -EBADMSG);
    CHECK_INT(wire_request_check(&u.q, sizeof(u.q) + 1, &err), -EBADMSG);
    CHECK_INT(wire_request_check(&u.q, 0, &err), -EBADMSG);
    good(WIRE_CREATE)->version++;
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_OPS);
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_HANDSHAKE);
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_CREATE)->extra_len = WIRE_EXTRA_MAX + 1;
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_CREATE)->extra_len = 3;
    memcpy(u.bytes + sizeof(u.q), "/a\0", 3);
    CHECK_INT(check(), 0);
    u.bytes[sizeof(u.q) + 2] = 'x'; /* not ended */
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_PROMOTE)->extra_len = 1; /* layers; ended by the zero that follows */
    CHECK_INT(check(), 0);
    good(WIRE_PAUSE)->extra_len = 1;
    CHECK_INT(check(), -EBADMSG);
}

TEST(texts_end_and_name_nothing_strange)
{
    memset(good(WIRE_CREATE)->id, 'a', IDENT_MAX);
    CHECK_INT(check(), -EBADMSG);
    memset(good(WIRE_CREATE)->hostname, 'a', 64);
    CHECK_INT(check(), -EBADMSG);
    memset(good(WIRE_CREATE)->workdir, '/', 1024);
    CHECK_INT(check(), -EBADMSG);
    memset(good(WIRE_PAUSE)->name, 'a', WIRE_NAME_MAX);
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_CREATE)->workdir[0] = 'w';
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_CREATE)->hostname[0] = '\n';
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_ADOPT)->pid = 1;
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_DESTROY)->name[0] = '/';
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_DESTROY)->name[0] = '\0';
    CHECK_INT(check(), -EBADMSG);
}

TEST(kept_files_are_named_by_folder_and_id)
{
    good(WIRE_CREATE)->is_kept = 1;
    CHECK_INT(check(), -EBADMSG); /* where were they last? */
    snprintf(u.q.name, sizeof(u.q.name), "0123456789abcdef");
    CHECK_INT(check(), 0);
    u.q.is_kept = 0;
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_SWEEP)->is_kept = 1;
    CHECK_INT(check(), 0);
    good(WIRE_PAUSE)->is_kept = 1;
    CHECK_INT(check(), -EBADMSG);
    good(WIRE_HALT)->id[0] = '\0';
    CHECK_INT(check(), -EBADMSG);
    snprintf(good(WIRE_DESTROY)->id, IDENT_MAX, "sbx_1");
    CHECK_INT(check(), 0);
    u.q.id[0] = '/';
    CHECK_INT(check(), -EBADMSG);
}

TEST(names_and_ids)
{
    static const char *const bad_names[] = { "", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF",
                                             "../3456789abcdef" };
    static const char *const bad_ids[] = { "", ".", "a/b", "a b", "a\n", "0123456789012345678901234567890123456789" };
    for (size_t i = 0; i < sizeof(bad_names) / sizeof(*bad_names); i++)
        CHECK(!wire_is_name(bad_names[i]));
    for (size_t i = 0; i < sizeof(bad_ids) / sizeof(*bad_ids); i++)
        CHECK(!wire_is_id(bad_ids[i]));
    CHECK(wire_is_name("0123456789abcdef"));
    CHECK(wire_is_id("sbx_0123456789abcdef01234567"));
}

int main(void)
{
    RUN(good_requests_pass);
    RUN(sizes_and_versions);
    RUN(limits);
    RUN(growing_a_disk);
    RUN(volumes_and_networks);
    RUN(texts_end_and_name_nothing_strange);
    RUN(kept_files_are_named_by_folder_and_id);
    RUN(names_and_ids);
    return tap_done();
}
