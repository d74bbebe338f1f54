/* `iii --archive-tool`: a process that converts one archive from or to tar. The server talks to it over a SEQPACKET
 * socket, descriptor 3: first one struct archive_tool_order, then packets whose first byte is an ARCHIVE_TOOL_*. May
 * include: base/, os/, tar/. */
#pragma once
#include <stdint.h>

#include "archive/archive_convert.h"

#define ARCHIVE_TOOL_PIECE  ARCHIVE_CONVERT_PIECE /* most bytes behind the first byte of a packet */
#define ARCHIVE_TOOL_DATA   'd'                   /* both ways: bytes, at least one */
#define ARCHIVE_TOOL_END    'e'                   /* from the server: no more input */
#define ARCHIVE_TOOL_DONE   'o'                   /* to the server: all output was sent */
#define ARCHIVE_TOOL_FAILED 'f'                   /* to the server: why, as text */

struct archive_tool_order {
    uint32_t format;     /* enum archive_format */
    uint32_t is_packing; /* 1: from tar; 0: to tar */
};

/* argv: the program, the option, the data folder, uid and gid to become. */
int archive_tool_main(int argc, char **argv);
