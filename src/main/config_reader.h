/* `iii --config-reader FILE DATA_DIR UID GID`, a job of the keeper: the one process that may still read the operator's
 * configuration file once the server (of that folder, user and group) has given up its rights. It parses nothing. It
 * looks at the file when something in its folder changes or when it is asked, and hands the bytes over descriptor 3; it
 * ends with the server. Its words and the server's are one struct of fixed size. */
#pragma once
#include <stdint.h>

#include "base/limits.h"

#define CONFIG_READER_FILE_MAX LIMIT_MAX(CONFIG_FILE_BYTES)
#define CONFIG_READER_TEXT_MAX 200

enum config_reader_kind {
    CONFIG_READER_ASK = 1, /* from the server: hand over the file whether or not it changed */
    CONFIG_READER_FILE,    /* with a sealed memory file: the bytes */
    CONFIG_READER_TROUBLE, /* the file cannot be read; text says why */
    CONFIG_READER_MOVED,   /* other folders than those that this process may read: it ends, and wants to be started anew
                            */
};

struct config_reader_msg {
    uint32_t kind;
    char text[CONFIG_READER_TEXT_MAX];
};

int config_reader_main(int argc, char **argv);
