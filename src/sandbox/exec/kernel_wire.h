/* Frames between the server and a driver process inside a sandbox: u32 length of the payload, u32 number of the context
 * (both big endian), one letter, payload. What comes from a sandbox is untrusted. May include: base/. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define KERNEL_WIRE_HEADER  9
#define KERNEL_WIRE_PAYLOAD 4096 /* bytes of payload in one frame from a driver, at most */

struct kernel_wire_frame {
    uint32_t number;
    char letter;
    const char *data; /* borrowed */
    size_t len;
};

void kernel_wire_header(char out[KERNEL_WIRE_HEADER], uint32_t number, char letter, uint32_t len);
/* The first frame of data: how many bytes it takes, 0 when it is not whole yet, -EBADMSG when it is none. */
int kernel_wire_next(const char *data, size_t len, struct kernel_wire_frame *ret);
