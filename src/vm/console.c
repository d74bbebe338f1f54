#include "vm/console.h"

#include <string.h>

#include "base/alloc.h"

void vm_console_add(struct vm_console *w, const char *data, size_t n)
{
    if (n > sizeof(w->bytes)) {
        data += n - sizeof(w->bytes);
        n = sizeof(w->bytes);
    }
    if (w->n + n > sizeof(w->bytes)) {
        size_t drop = w->n + n - sizeof(w->bytes);
        memmove(w->bytes, w->bytes + drop, w->n - drop);
        w->n -= drop;
    }
    memcpy(w->bytes + w->n, data, n);
    w->n += n;
}

char *vm_console_text(const struct vm_console *w)
{
    char *text = xzalloc(w->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        unsigned char c = (unsigned char)w->bytes[i];
        if (c == '\n' || (c >= ' ' && c <= '~'))
            text[n++] = (char)c;
        else if (c == '\t')
            text[n++] = ' ';
    }
    while (n && text[n - 1] == '\n')
        text[--n] = '\0';
    size_t lines = 0; /* the last ones */
    while (n > 0 && (text[n - 1] != '\n' || ++lines < VM_CONSOLE_LINES))
        n--;
    memmove(text, text + n, strlen(text + n) + 1);
    return text;
}
