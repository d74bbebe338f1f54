#include "sandbox/exec/kernel_wire.h"

#include <errno.h>

static uint32_t u32_at(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void put_u32(char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (char)(v >> (24 - 8 * i));
}

void kernel_wire_header(char out[KERNEL_WIRE_HEADER], uint32_t number, char letter, uint32_t len)
{
    put_u32(out, len);
    put_u32(out + 4, number);
    out[8] = letter;
}

int kernel_wire_next(const char *data, size_t len, struct kernel_wire_frame *ret)
{
    if (len < KERNEL_WIRE_HEADER)
        return 0;
    uint32_t payload = u32_at(data);
    if (payload > KERNEL_WIRE_PAYLOAD)
        return -EBADMSG;
    if (len - KERNEL_WIRE_HEADER < payload)
        return 0;
    *ret = (struct kernel_wire_frame){
        .number = u32_at(data + 4), .letter = data[8], .data = data + KERNEL_WIRE_HEADER, .len = payload
    };
    return (int)(KERNEL_WIRE_HEADER + payload);
}
