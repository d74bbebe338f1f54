/* `iii trigger` words to JSON. */
#include "cli/payload.h"

#include "tap.h"

static char text[512];

/* The payload as sorted compact JSON, or "error: …". */
static const char *built(const char *json, int n, const char *const *words)
{
    json_t *payload = NULL;
    struct err err = ERR_INIT;
    char *copy[8] = { 0 };
    for (int i = 0; i < n; i++)
        copy[i] = strdup(words[i]);
    int r = payload_build(json, copy, n, &payload, &err);
    char *made = r < 0 ? NULL : json_dumps(payload, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY);
    (void)snprintf(text, sizeof(text), "%s%s", made ? "" : "error: ", made ? made : err.msg);
    free(made);
    json_decref(payload);
    for (int i = 0; i < n; i++)
        free(copy[i]);
    return text;
}
#define BUILT(json, ...) \
    built(json, (int)(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)), (const char *[]){ __VA_ARGS__ })

TEST(values_are_json_when_they_can)
{
    CHECK_STR(built(NULL, 0, NULL), "{}");
    CHECK_STR(BUILT(NULL, "n=10", "m=0644", "s=hello", "e=", "t=true", "z=null"),
              "{\"e\":\"\",\"m\":\"0644\",\"n\":10,\"s\":\"hello\",\"t\":true,\"z\":null}");
    CHECK_STR(BUILT(NULL, "a=[1,\"x\"]", "o={\"k\":1}", "q=\"10\""), "{\"a\":[1,\"x\"],\"o\":{\"k\":1},\"q\":\"10\"}");
    CHECK_STR(BUILT(NULL, "broken={\"k\":"), "{\"broken\":\"{\\\"k\\\":\"}");
}

TEST(keys_are_literal_and_the_last_wins)
{
    CHECK_STR(BUILT(NULL, "a.b=1", "a=b=c", "a=2"), "{\"a\":2,\"a.b\":1}");
}

TEST(json_is_the_base)
{
    CHECK_STR(built("[1]", 0, NULL), "[1]");
    CHECK_STR(BUILT("{\"a\":1,\"b\":1}", "b=2"), "{\"a\":1,\"b\":2}");
}

TEST(mistakes_are_named)
{
    CHECK(strstr(BUILT(NULL, "word"), "expected key=value"));
    CHECK(strstr(BUILT(NULL, "=1"), "must not be empty"));
    CHECK(strstr(BUILT("[1]", "a=1"), "must be an object"));
    CHECK(strncmp(built("{", 0, NULL), "error: --json: invalid JSON", 27) == 0);
}

int main(void)
{
    RUN(values_are_json_when_they_can);
    RUN(keys_are_literal_and_the_last_wins);
    RUN(json_is_the_base);
    RUN(mistakes_are_named);
    return tap_done();
}
