/* What a guest writes to its console, and what becomes of it in an error: printable lines, as many as are promised, the
 * same however it came in pieces. */
#include "../feed.h"

#include "vm/console.h"

static char *words(const uint8_t *data, size_t size, size_t step)
{
    struct vm_console w = { .n = 0 };
    for (size_t at = 0, n; at < size; at += n) {
        n = step < size - at ? step : size - at;
        char *piece = feed_bytes(data + at, n);
        vm_console_add(&w, piece, n);
        free(piece);
        MUST(w.n <= sizeof(w.bytes) &&
             memcmp(w.bytes + w.n - (n < w.n ? n : w.n), data + at + n - (n < w.n ? n : w.n), n < w.n ? n : w.n) == 0);
    }
    return vm_console_text(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t lines = 1;
    char *text = words(data, size, size), *again = words(data, size, 7);
    MUST(strcmp(text, again) == 0 && strlen(text) <= VM_CONSOLE_MAX);
    for (const char *p = text; *p; p++) {
        MUST(*p == '\n' || (*p >= ' ' && *p <= '~'));
        lines += *p == '\n';
    }
    MUST(lines <= VM_CONSOLE_LINES);
    free(text);
    free(again);
    return 0;
}
