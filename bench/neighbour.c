/* What five hostile sandboxes do to the commands of a well-behaved one: p99 with them over p99 without, in the same
 * run. */
#include "neighbour.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SAMPLES   400
#define SETTLE_US 1500000

static const char *const bombs[] = {
    /* forks */
    "[\"python3\",\"-c\",\"import os\\nwhile True:\\n  try: os.fork()\\n  except OSError: pass\"]",
    /* memory */
    "\"while :; do python3 -c 'x = bytearray(8 << 30)'; done\"",
    /* disk */
    "\"while :; do dd if=/dev/zero of=/tmp/f bs=1M count=512; rm -f /tmp/f; done\"",
    /* descriptors */
    "[\"python3\",\"-c\",\"import os\\nwhile True:\\n  f = []\\n  try:\\n    while True: "
    "f.append(open('/dev/null'))\\n  "
    "except OSError: pass\"]",
};
#define BOMBS (sizeof(bombs) / sizeof(*bombs))

struct flood {
    struct client http;
    char path[160];
};

static void *read_flood(void *arg)
{
    struct flood *f = arg;
    static char sink[1 << 16];
    if (client_send(&f->http, "POST", f->path, "{\"command\":[\"yes\"],\"timeout\":120}") < 0)
        return NULL;
    while (recv(f->http.fd, sink, sizeof(sink), 0) > 0) {
    }
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Time of `true` in the well-behaved sandbox. */
static bool sample(struct bench *b, const char *id, struct neighbour_times *ret)
{
    static int64_t all[SAMPLES];
    char path[160];
    (void)snprintf(path, sizeof(path), "/sandboxes/%.63s/exec", id);
    for (int i = 0; i < SAMPLES; i++) {
        int64_t t0 = client_now_us();
        if (client_call(&b->http, "POST", path, "{\"command\":[\"true\"]}") != 200)
            return false;
        all[i] = client_now_us() - t0;
    }
    qsort(all, SAMPLES, sizeof(*all), by_value);
    *ret = (struct neighbour_times){ (double)all[SAMPLES / 2] / 1000, (double)all[SAMPLES * 99 / 100] / 1000 };
    return true;
}

static bool start_bombs(struct bench *b, char ids[][64], struct flood *flood, pthread_t *reader)
{
    char path[160], body[1024];
    for (size_t i = 0; i <= BOMBS; i++) {
        if (!rows_make_box(b, ids[i], ""))
            return false;
        if (i == BOMBS)
            break;
        (void)snprintf(path, sizeof(path), "/sandboxes/%.63s/exec/background", ids[i]);
        (void)snprintf(body, sizeof(body), "{\"command\":%s}", bombs[i]);
        if (client_call(&b->http, "POST", path, body) != 200)
            return false;
    }
    (void)snprintf(flood->path, sizeof(flood->path), "/sandboxes/%.63s/exec/stream", ids[BOMBS]);
    return client_open(&flood->http, b->port) == 0 && pthread_create(reader, NULL, read_flood, flood) == 0;
}

bool neighbour_measure(struct bench *b, struct neighbour *ret)
{
    char good[64], ids[BOMBS + 1][64] = { { 0 } };
    struct flood flood = { .http = { .fd = -1 } };
    pthread_t reader = 0;
    if (!rows_make_box(b, good, ""))
        return false;
    bool is_good = sample(b, good, &ret->quiet) && start_bombs(b, ids, &flood, &reader);
    if (is_good) {
        (void)usleep(SETTLE_US);
        is_good = sample(b, good, &ret->noisy);
    }
    for (size_t i = 0; i <= BOMBS; i++)
        if (ids[i][0])
            rows_drop_box(b, ids[i]);
    if (reader) {
        (void)shutdown(flood.http.fd, SHUT_RDWR); /* the connection itself is kept alive */
        (void)pthread_join(reader, NULL);
    }
    if (flood.http.fd >= 0)
        client_close(&flood.http);
    rows_drop_box(b, good);
    return is_good;
}
