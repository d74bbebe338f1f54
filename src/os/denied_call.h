/* One line of what a box's system call filter denied: from the process that answers the denials (call_watch.h) to the
 * agent, through a pipe. Written at once, so a reader gets whole ones. May include: nothing. */
#pragma once
#include <stdint.h>

#define DENIED_CALL_PROGRAM 16 /* the kernel's TASK_COMM_LEN */

struct denied_call {
    uint32_t nr, arch;                 /* AUDIT_ARCH_* */
    uint32_t error;                    /* errno that the caller got */
    uint32_t pid;                      /* of the last caller, inside the box; 0: unknown */
    uint64_t count;                    /* since the line before */
    uint64_t lost;                     /* denied calls that are in no line, since the line before */
    char program[DENIED_CALL_PROGRAM]; /* what the process calls itself: any bytes, NUL-terminated */
};
