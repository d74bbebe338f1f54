/* What comes back from a virtual machine that is not ours any more: its monitor's control lines, and what its agent has
 * on the stream before a link begins. The first byte picks which. A monitor may end the connection or be answered, but
 * whoever waits is told exactly once; the reply to a hello is found the same however the stream is cut, and no byte
 * behind it is taken. */
#include "../feed.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loopturn.h"
#include "os/unixsock.h"
#include "vm/channel.h"
#include "vm/vmm/qmp.h"

#define NONCE    0x1122334455667788u
#define COMMANDS 3

static struct loop *loop;
static int answers, losses;

static void on_lost(void *arg)
{
    (void)arg;
    losses++;
}

static void on_event(void *arg, const char *name, json_t *data)
{
    (void)arg;
    (void)data;
    MUST(name);
}

static void on_answer(void *arg, json_t *value, const struct err *err)
{
    (void)arg;
    MUST(!value == !!err);
    for (const char *p = err ? err->msg : ""; *p; p++)
        MUST(*p >= ' ' && *p <= '~');
    answers++;
}

/* A listening socket in a folder that is gone as soon as the connection is there. */
static int connect_to(struct qmp **ret)
{
    struct err err = ERR_INIT;
    char path[64], folder[] = "/tmp/iii-fuzz-XXXXXX";
    MUST(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/s", folder);
    int listener = unixsock_listen(path, 0, 1);
    MUST(listener >= 0);
    struct qmp_options opt = { .loop = loop, .path = path, .on_event = on_event, .on_lost = on_lost };
    MUST(qmp_open(&opt, ret, &err) == 0);
    int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    MUST(peer >= 0);
    (void)close(listener);
    (void)unlink(path);
    (void)rmdir(folder);
    return peer;
}

static void try_vmm(const uint8_t *data, size_t size)
{
    struct qmp *qmp = NULL;
    size_t half = size / 2;
    answers = losses = 0;
    int peer = connect_to(&qmp);
    for (int i = 0; i < COMMANDS; i++)
        qmp_run(qmp, "query-status", NULL, NO_FD, (struct qmp_then){ .fn = on_answer });
    (void)!send(peer, data, half, MSG_NOSIGNAL);
    loopturn_few(loop);
    (void)!send(peer, data + half, size - half, MSG_NOSIGNAL);
    loopturn_few(loop);
    MUST(losses <= 1 && answers <= COMMANDS && (!losses || answers == COMMANDS));
    (void)close(peer);
    loopturn_few(loop);
    MUST(losses == 1 && answers == COMMANDS);
    (void)qmp_close(qmp);
}

/* How many bytes were taken when the reply was whole; 0: never. */
static size_t scan(const uint8_t *data, size_t size, size_t step)
{
    struct vm_channel_scan s = { 0 };
    for (size_t at = 0, n; at < size; at += n) {
        size_t room = vm_channel_scan_room(&s);
        MUST(room > 0 && room <= sizeof(s.bytes) - s.have);
        n = step < room ? step : room;
        n = n < size - at ? n : size - at;
        memcpy(s.bytes + s.have, data + at, n);
        if (vm_channel_scan_added(&s, n, NONCE)) {
            MUST(at + n >= sizeof(s.bytes) && memcmp(s.bytes, data + at + n - sizeof(s.bytes), sizeof(s.bytes)) == 0);
            return at + n;
        }
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    if (!loop)
        MUST(loop_new(&loop, &err) == 0);
    if (size < 2)
        return 0;
    if (data[0] % 2 == 0) {
        try_vmm(data + 1, size - 1);
        return 0;
    }
    size_t whole = scan(data + 1, size - 1, size);
    MUST(scan(data + 1, size - 1, 1) == whole && scan(data + 1, size - 1, 7) == whole);
    return 0;
}
