/* `iii --config-reader FILE DATA_DIR UID GID`, a job of the keeper: the one process that may still read the operator's
 * configuration file once the server (of that folder, user and group) has dropped its privileges. It parses nothing. It
 * checks the file when something in its folder changes or when asked, and sends the bytes over descriptor 3; it exits
 * with the server. Messages in both directions are one struct of fixed size. */
#pragma once
#include <stdint.h>

#include "base/limits.h"

#define CONFIG_READER_FILE_MAX LIMIT_MAX(CONFIG_FILE_BYTES)
#define CONFIG_READER_TEXT_MAX 200

enum config_reader_kind {
    CONFIG_READER_ASK = 1, /* from the server: send the file whether or not it changed */
    CONFIG_READER_FILE,    /* with a sealed memory file: the bytes */
    CONFIG_READER_TROUBLE, /* the file cannot be read; text says why */
    CONFIG_READER_MOVED, /* the path leads to folders that this process may not read: it exits and must be restarted */
};

struct config_reader_msg {
    uint32_t kind;
    char text[CONFIG_READER_TEXT_MAX];
};

int config_reader_main(int argc, char **argv);
