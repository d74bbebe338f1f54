/* `iii --config-reader FILE DATA_DIR UID GID`, a job of the keeper: the one process that may still read the operator's
 * configuration file once the server (of that folder, user and group) has given up its rights. It parses nothing. It
 * looks at the file when something in its folder changes or when it is asked, and hands the bytes over descriptor 3; it
 * ends with the server. Its words and the server's are one struct of fixed size. */
#pragma once
#include <stdint.h>

#define CONFREADER_FILE_MAX (1u << 20) /* bytes */
#define CONFREADER_TEXT_MAX 200

enum confreader_kind {
    CONFREADER_ASK = 1, /* from the server: hand over the file whether or not it changed */
    CONFREADER_FILE,    /* with a sealed memory file: the bytes */
    CONFREADER_TROUBLE, /* the file cannot be read; text says why */
    CONFREADER_MOVED,   /* other folders than those that this process may read: it ends, and wants to be started anew */
};

struct confreader_msg {
    uint32_t kind;
    char text[CONFREADER_TEXT_MAX];
};

int confreader_main(int argc, char **argv);
