/* Decoding on both sides: the first byte picks the side, the next two the message type, the rest is its payload. What
 * passes the check must be readable to its end without a bad field. */
#include "guest/proto.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_strs(struct proto_reader *r, uint32_t max)
{
    uint32_t n = proto_get_count(r, max);
    for (uint32_t i = 0; n != PROTO_NO_STRS && i < n; i++)
        if (strlen(proto_get_str(r, PROTO_REQUEST_MAX)) > PROTO_REQUEST_MAX)
            abort();
}

static void read_exec(const uint8_t *payload, size_t len)
{
    struct proto_reader r;
    proto_reader_init(&r, payload, len);
    (void)proto_get_u32(&r);
    (void)proto_get_u16(&r);
    (void)proto_get_u16(&r);
    (void)proto_get_u32(&r);
    for (int i = 0; i < 2; i++)
        (void)proto_get_str(&r, PROTO_PATH_MAX);
    (void)proto_get_str(&r, PROTO_TAG_MAX);
    read_strs(&r, PROTO_ARGS_MAX);
    read_strs(&r, PROTO_ARGS_MAX);
    if (proto_reader_end(&r) < 0)
        abort();
}

static void read_stats(const uint8_t *payload, size_t len)
{
    struct proto_reader r;
    struct proto_stat st;
    proto_reader_init(&r, payload, len);
    while (r.left && !r.is_bad) {
        proto_get_stat(&r, &st);
        if (!st.path || !st.owner || !st.group || !st.target || strlen(st.path) > PROTO_PATH_MAX)
            abort();
    }
    if (proto_reader_end(&r) < 0)
        abort();
}

static void read_processes(const uint8_t *payload, size_t len)
{
    struct proto_reader r;
    struct proto_process p;
    proto_reader_init(&r, payload, len);
    (void)proto_get_u64(&r);
    while (r.left && !r.is_bad)
        proto_get_process(&r, &p);
    if (proto_reader_end(&r) < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    uint16_t type = (uint16_t)(data[1] | data[2] << 8);
    size_t len = size - 3;
    uint8_t *payload = malloc(len + !len); /* a copy of just this size, so that a sanitizer sees one byte too far */
    if (!payload)
        return 0;
    memcpy(payload, data + 3, len);
    enum proto_side side = data[0] & 1 ? PROTO_FROM_GUEST : PROTO_FROM_HOST;
    if (proto_check(side, type, payload, len) == 0) {
        if (type == PROTO_EXEC_START)
            read_exec(payload, len);
        else if (type == PROTO_FS_STATS || type == PROTO_FS_OPENED)
            read_stats(payload, len);
        else if (type == PROTO_PROC_LIST_REPLY)
            read_processes(payload, len);
    }
    free(payload);
    return 0;
}
