/* Terminals: a WebSocket, and the bytes of a message that a reader has not taken yet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "ws.h"

#define KEYS_MAX 65536 /* of one frame, as the server takes it */

struct iii_tty {
    struct ws *ws;
    struct text left; /* borrowed from ws */
    enum iii_tty_end end;
    int exit_code;
    char session_id[];
};

int iii_tty_attach(const iii_sandbox *sandbox, const char *session_id, iii_tty **ret, struct iii_error *err)
{
    struct text path = { 0 };

    *ret = NULL;
    if (!sandbox || !session_id || session_id[0] == '\0')
        return iii_fail(err, III_ARGUMENT, 0, "a terminal needs a sandbox and the id of a session");
    iii_tty *t = calloc(1, sizeof(*t) + strlen(session_id) + 1);
    iii_text_add(&path, "/sandbox/sandboxes/", strlen("/sandbox/sandboxes/"));
    iii_text_escaped(&path, iii_sandbox_id(sandbox));
    iii_text_add(&path, "/terminal/", strlen("/terminal/"));
    iii_text_escaped(&path, session_id);
    iii_text_add(&path, "/ws", strlen("/ws"));
    int e = !t || path.failed ? iii_fail(err, III_NO_MEMORY, 0, "out of memory")
                              : iii_ws_open(iii_sandbox_client(sandbox), path.data, &t->ws, err);
    iii_text_done(&path);
    if (e != 0) {
        free(t);
        return e;
    }
    memcpy(t->session_id, session_id, strlen(session_id) + 1);
    *ret = t;
    return 0;
}

int iii_tty_open(const iii_sandbox *sandbox, const struct iii_terminal_create_options *options, iii_tty **ret,
                 struct iii_error *err)
{
    III_AUTO struct iii_terminal_session *session = NULL;

    *ret = NULL;
    int e = iii_terminal_create(sandbox, options, &session, err);
    return e != 0 ? e : iii_tty_attach(sandbox, session->session_id, ret, err);
}

const char *iii_tty_session(const iii_tty *t)
{
    return t->session_id;
}

int iii_tty_send(iii_tty *t, const void *keys, size_t size, struct iii_error *err)
{
    for (size_t done = 0; done < size;) {
        size_t part = size - done < KEYS_MAX ? size - done : KEYS_MAX;
        int e = iii_ws_send(t->ws, false, (const char *)keys + done, part, err);
        if (e != 0)
            return e;
        done += part;
    }
    return 0;
}

int iii_tty_resize(iii_tty *t, int cols, int rows, struct iii_error *err)
{
    char text[96];
    int size = snprintf(text, sizeof(text), "{\"type\":\"resize\",\"cols\":%d,\"rows\":%d}", cols, rows);
    return iii_ws_send(t->ws, true, text, (size_t)size, err);
}

static void note_end(iii_tty *t, const struct text *reason)
{
    char text[32];
    snprintf(text, sizeof(text), "%.*s", (int)(reason->size < 31 ? reason->size : 31), reason->data);
    t->end = strcmp(text, "closed") == 0 ? III_TTY_CLOSED : III_TTY_GONE;
    if (strncmp(text, "exit ", 5) == 0) {
        t->end = III_TTY_EXITED;
        t->exit_code = (int)strtol(text + 5, NULL, 10);
    }
}

int iii_tty_read(iii_tty *t, void *buf, size_t size, int timeout_ms, size_t *ret_size, struct iii_error *err)
{
    *ret_size = 0;
    while (t->left.size == 0 && t->end == III_TTY_OPEN) {
        enum ws_kind kind;
        int e = iii_ws_next(t->ws, timeout_ms, &kind, &t->left, err);
        if (e != 0)
            return e;
        if (kind == WS_CLOSE) {
            note_end(t, &t->left);
            t->left.size = 0;
        }
    }
    size_t part = t->left.size < size ? t->left.size : size;
    if (part > 0)
        memcpy(buf, t->left.data, part);
    t->left.data += part;
    t->left.size -= part;
    *ret_size = part;
    return 0;
}

enum iii_tty_end iii_tty_how(const iii_tty *t, int *exit_code)
{
    if (exit_code)
        *exit_code = t->exit_code;
    return t->end;
}

void iii_tty_free(iii_tty *t)
{
    if (!t)
        return;
    iii_ws_free(t->ws);
    free(t);
}
