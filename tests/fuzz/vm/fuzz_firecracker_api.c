/* What stands behind Firecracker's API socket, taken over by its guest: the bytes that come back to a GET and a PUT.
 * Each call is answered once, in order, and an error has no byte of its words that could move a terminal. */
#include "../feed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "loopturn.h"
#include "vm/vmm/firecracker_api.h"

#define TURNS 400 /* of the loop, in which everything that can happen has happened */

static struct loop *loop;
static int answers, waits;

static void check(const struct err *err)
{
    for (const unsigned char *p = (const unsigned char *)(err ? err->msg : ""); *p; p++)
        MUST(*p >= ' ' && *p != 0x7f && !(p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0));
}

static void on_wait(void *arg, json_t *answer, const struct err *err)
{
    (void)arg;
    MUST(!answer && !err);
    waits++;
}

static void on_answer(void *arg, json_t *answer, const struct err *err)
{
    int number = *(const int *)arg;
    MUST(number == answers); /* in order */
    MUST(!err || !answer);
    MUST(err || number == 1 || json_is_object(answer));
    check(err);
    answers++;
}

/* Takes the next connection, says its part and leaves. */
static void serve(int listener, const uint8_t *data, size_t size)
{
    int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (peer < 0)
        return;
    (void)!send(peer, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    for (int i = 0; i < 4; i++)
        loopturn_ms(loop, 0);
    (void)close(peer);
}

static void try_api(const uint8_t *data, size_t size)
{
    static int numbers[] = { 0, 1 };
    char folder[] = "/tmp/iii-fuzz-XXXXXX";
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    MUST(mkdtemp(folder));
    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/s", folder);
    int folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    MUST(bind(listener, (struct sockaddr *)&addr, sizeof(addr)) == 0 && listen(listener, 4) == 0);
    struct firecracker_api *c = firecracker_api_new(loop, folder_fd, "s");
    answers = waits = 0;
    firecracker_api_wait(c, 5000, on_wait, NULL);
    for (int i = 0; i < TURNS && !waits; i++)
        loopturn_ms(loop, 0);
    MUST(waits == 1);
    (void)close(accept4(listener, NULL, NULL, SOCK_CLOEXEC)); /* the look whether somebody listens */
    firecracker_api_run(c, &(struct firecracker_api_request){ .method = "GET", .path = "/", .timeout_ms = 5000 },
                        on_answer, &numbers[0]);
    firecracker_api_run(
        c,
        &(struct firecracker_api_request){ .method = "PUT", .path = "/x", .body = json_object(), .timeout_ms = 5000 },
        on_answer, &numbers[1]);
    for (int i = 0; i < TURNS && answers < 2; i++) {
        loopturn_ms(loop, 0);
        serve(listener, answers ? data + size / 2 : data, answers ? size - size / 2 : size / 2);
    }
    MUST(answers == 2);
    (void)firecracker_api_free(c);
    loopturn_ms(loop, 0);
    (void)close(listener);
    (void)close(folder_fd);
    (void)unlink(addr.sun_path);
    (void)rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    if (!loop)
        MUST(loop_new(&loop, &err) == 0);
    if (size < 2)
        return 0;
    if (data[0] % 4 == 0) {
        try_api(data + 1, size - 1);
        return 0;
    }
    char *body = feed_bytes(data + 1, size - 1);
    firecracker_api_fault("PUT", "/x", data[0], body, size - 1, &err);
    MUST(err.code == ERR_UPSTREAM);
    check(&err);
    free(body);
    return 0;
}
