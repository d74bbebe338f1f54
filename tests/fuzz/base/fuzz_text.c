/* The small readers of text below everything: base64, UTF-8, JSON, UUIDs, ids, settings. The first byte picks one; what
 * is accepted must come back the same from its own printed form. */
#include "../feed.h"

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/ident.h"
#include "base/json.h"
#include "base/settings.h"
#include "base/utf8.h"
#include "base/uuid.h"

static void try_base64(const char *bytes, size_t len)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(len + 3); /* room is asked for in threes */
    CLEANUP(buf_done) struct buf again = BUF_INIT(len + 3);
    if (base64_decode(bytes, len, &out) == 0) {
        CLEANUP(free_p) char *text = malloc(BASE64_SIZE(out.len) + 1);
        MUST(text);
        base64_encode(buf_text(&out), out.len, text);
        MUST(strlen(text) == len && memcmp(text, bytes, len) == 0);
    }
    CLEANUP(free_p) char *text = malloc(BASE64_SIZE(len) + 1);
    MUST(text);
    base64_encode(bytes, len, text);
    MUST(base64_decode(text, strlen(text), &again) == 0 && again.len == len &&
         memcmp(buf_text(&again), bytes, len) == 0);
}

static void try_utf8(const char *bytes, size_t len)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(3 * len);
    MUST(utf8_repair(bytes, len, &out) == 0);
    MUST(utf8_is_valid(buf_text(&out), out.len));
    bool is_valid = utf8_is_valid(bytes, len);
    MUST(!is_valid || (out.len == len && memcmp(buf_text(&out), bytes, len) == 0));
    size_t whole = utf8_whole(bytes, len);
    MUST(whole <= len && len - whole <= 3 && (!is_valid || whole == len));
    /* What can be sent now and the rest, repaired apart, are the whole repaired. */
    CLEANUP(buf_done) struct buf parts = BUF_INIT(3 * len);
    MUST(utf8_repair(bytes, whole, &parts) == 0 && utf8_repair(bytes + whole, len - whole, &parts) == 0);
    MUST(parts.len == out.len && memcmp(buf_text(&parts), buf_text(&out), out.len) == 0);
    JSON_OWNED text = json_text(bytes, len);
    MUST(text && json_string_length(text) == out.len);
}

static void try_json(const char *bytes, size_t len)
{
    struct err err = ERR_INIT;
    JSON_OWNED first = NULL;
    JSON_OWNED second = NULL;
    if (json_read(bytes, len, &first, &err) < 0) {
        MUST(err.code != ERR_NONE && err.msg[0]);
        return;
    }
    size_t n = 0;
    CLEANUP(free_p) char *text = json_write(first, &n);
    MUST(text && json_read(text, n, &second, &err) == 0);
    MUST(json_is_real(first) || json_equal(first, second));
}

static void try_ids(const char *bytes, size_t len)
{
    char usual[UUID_MAX], again[UUID_MAX];
    CLEANUP(free_p) char *text = feed_text(bytes, len);
    if (uuid_parse(text, usual))
        MUST(strlen(usual) == UUID_MAX - 1 && uuid_parse(usual, again) && strcmp(usual, again) == 0);
    if (ident_is("sbx", text))
        MUST(strlen(text) == 4 + IDENT_HEX && strncmp(text, "sbx_", 4) == 0);
}

static void try_setting(const char *bytes, size_t len)
{
    if (len < 1)
        return;
    size_t n = 0;
    while (settings_rows[n].field)
        n++;
    const struct settings_row *row = &settings_rows[(unsigned char)bytes[0] % n];
    CLEANUP(free_p) char *text = feed_text(bytes + 1, len - 1);
    CLEANUP(settings_done) struct settings s;
    struct err err = ERR_INIT;
    settings_init(&s);
    int r = settings_set(&s, row, text, &err);
    MUST((r == 0) == (err.code == ERR_NONE));
    if (row->type == 'i') {
        int64_t value = *(const int64_t *)(const void *)((const char *)&s + row->offset);
        MUST(r < 0 || (value >= row->min && value <= row->max));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const char *, size_t) = { try_base64, try_utf8, try_json, try_ids, try_setting };
    if (size < 1)
        return 0;
    CLEANUP(free_p) char *bytes = feed_bytes(data + 1, size - 1);
    readers[data[0] % (sizeof(readers) / sizeof(*readers))](bytes, size - 1);
    return 0;
}
