/* JSON: what is refused before it is built, and the writer. */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tap.h"

/* count times piece between head and tail. Caller frees. */
static char *repeated(const char *head, const char *piece, size_t count, const char *tail)
{
    size_t n = strlen(piece), at = strlen(head);
    char *text = xzalloc(at + n * count + strlen(tail) + 1);
    memcpy(text, head, at);
    for (size_t i = 0; i < count; i++, at += n)
        memcpy(text + at, piece, n);
    memcpy(text + at, tail, strlen(tail) + 1);
    return text;
}

static enum err_code reads(const char *text)
{
    struct err err = ERR_INIT;
    json_t *doc = NULL;
    int r = json_read_input(text, strlen(text), &doc, &err);
    json_decref(doc);
    return r < 0 ? err.code : ERR_NONE;
}

TEST(values_and_keys_are_counted_before_they_are_built)
{
    static const struct {
        const char *head, *piece, *tail;
        size_t count; /* of pieces that are as many as are allowed, with the rest */
    } rows[] = {
        { "[0", ",0", "]", JSON_VALUES_MAX - 2 },
        { "[[]", ",[ ]", "]", JSON_VALUES_MAX - 2 },
        { "[{}", ",{\n}", "]", JSON_VALUES_MAX - 2 },
        { "[\"[[,,\"", ",\"\\\"[{:,\"", "]", JSON_VALUES_MAX - 2 },
        { "[{\"a\":1}", ",{\"a\":1}", "]", (JSON_VALUES_MAX - 4) / 3 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        CLEANUP(free_p) char *most = repeated(rows[i].head, rows[i].piece, rows[i].count, rows[i].tail);
        CLEANUP(free_p) char *more = repeated(rows[i].head, rows[i].piece, rows[i].count + 1, rows[i].tail);
        CHECK_INT(reads(most), ERR_NONE);
        CHECK_INT(reads(more), ERR_TOO_LARGE);
    }
}

TEST(depth_is_counted_before_it_is_built)
{
    CLEANUP(free_p)
    char *most = repeated("", "[", JSON_DEPTH_MAX, ""), *more = repeated("", "[", JSON_DEPTH_MAX + 1, "");
    CLEANUP(free_p) char *closed = repeated(most, "]", JSON_DEPTH_MAX, "");
    CLEANUP(free_p) char *deeper = repeated(more, "]", JSON_DEPTH_MAX + 1, "");
    CHECK_INT(reads(closed), ERR_NONE);
    CHECK_INT(reads(deeper), ERR_INVALID);
    CHECK_INT(reads("]]]]"), ERR_INVALID);
    CHECK_INT(reads("\"\\"), ERR_INVALID); /* ends inside an escape */
}

TEST(what_is_written_is_what_jansson_writes)
{
    static const char *const texts[] = {
        "{\"a\":[1,-2,0.1,1e300,true,false,null,{}],\"\\u0001\\\"\\\\\":\"\\b\\t\\n\\u000b\\f\\r\\u001f\\u007f/\"}",
        "[]",
        "\"\"",
        "[\"\\u0000x\\u00e9\\u20ac\\ud83d\\ude00\"]",
        "9223372036854775807",
        "-0.0",
        "[[[],{}],\"\"]",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct err err = ERR_INIT;
        JSON_OWNED doc = NULL;
        CHECK_INT(json_read(texts[i], strlen(texts[i]), &doc, &err), 0);
        size_t len = 0;
        CLEANUP(free_p) char *ours = json_write(doc, &len), *theirs = json_dumps(doc, JSON_COMPACT | JSON_ENCODE_ANY);
        CHECK_STR(ours, theirs);
        CHECK_INT(len, strlen(theirs));
    }
    CLEANUP(free_p) char *none = json_write(NULL, NULL);
    CHECK_STR(none, "null");
}

TEST(a_document_weighs_about_its_text_and_knows_who_holds_it)
{
    bool is_own = true;
    JSON_OWNED doc = json_pack("{s:s, s:[i,b]}", "text", "0123456789", "list", 1, 1);
    size_t all = json_weight(doc, 10000, &is_own);
    CHECK(all > 20 && all < 200 && is_own);
    CHECK(json_weight(doc, 20, &is_own) >= 20);
    JSON_OWNED part = json_incref(json_object_get(doc, "list"));
    (void)json_weight(doc, 10000, &is_own);
    CHECK(!is_own);
}

int main(void)
{
    RUN(values_and_keys_are_counted_before_they_are_built);
    RUN(depth_is_counted_before_it_is_built);
    RUN(what_is_written_is_what_jansson_writes);
    RUN(a_document_weighs_about_its_text_and_knows_who_holds_it);
    return tap_done();
}
