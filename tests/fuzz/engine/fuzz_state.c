/* Pure parts of the engine: the message reader, operations of state::update (a value and a list of operations), texts
 * that workers give themselves. The first byte picks one. */
#include "../feed.h"

#include "base/utf8.h"
#include "engine/message.h"
#include "engine/update_ops.h"

static void try_message(const char *bytes, size_t len)
{
    CLEANUP(message_done) struct message m = { 0 };
    struct err err = ERR_INIT;
    if (message_read(bytes, len, &m, &err) < 0) {
        MUST(err.code != ERR_NONE);
        return;
    }
    MUST(!m.error || (json_get_str(m.error, "code", NULL) && json_get_str(m.error, "message", NULL)));
    MUST(m.type != MESSAGE_INVOKE || m.function_id);
    MUST(m.type != MESSAGE_REGISTER_FUNCTION || (m.id && m.id[0] && strlen(m.id) <= MESSAGE_ID_MAX));
    MUST(m.type != MESSAGE_RESULT || m.uuid[0]);
}

static void try_update(const char *bytes, size_t len)
{
    JSON_OWNED in = NULL;
    JSON_OWNED value = NULL;
    JSON_OWNED errors = NULL;
    struct err err = ERR_INIT;
    if (json_read(bytes, len, &in, NULL) < 0)
        return;
    JSON_OWNED before = json_deep_copy(in);
    json_t *ops = json_get(in, "ops");
    int r = update_ops_apply(json_object_get(in, "value"), ops, &value, &errors, &err);
    MUST(json_equal(before, in)); /* neither the old value nor the operations change */
    MUST((r == 0) == (value != NULL) && (r == 0 || err.code != ERR_NONE));
    MUST(json_array_size(errors) <= json_array_size(ops));
    if (value) {
        CLEANUP(free_p) char *text = json_write(value, NULL);
        MUST(text);
    }
}

static void try_text(const char *bytes, size_t len)
{
    CLEANUP(free_p) char *text = feed_text(bytes, len);
    if (!utf8_is_valid(text, strlen(text)))
        return; /* JSON has none such */
    CLEANUP(free_p) char *clean = message_clean_text(text, 40);
    CLEANUP(free_p) char *again = message_clean_text(clean, 40);
    MUST(utf8_is_valid(clean, strlen(clean)) && strlen(clean) <= 160 && strcmp(clean, again) == 0);
    for (const char *p = clean; *p; p++)
        MUST((unsigned char)*p >= 0x20 && *p != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const char *, size_t) = { try_message, try_update, try_text };
    if (size < 1)
        return 0;
    CLEANUP(free_p) char *bytes = feed_bytes(data + 1, size - 1);
    readers[data[0] % 3](bytes, size - 1);
    return 0;
}
