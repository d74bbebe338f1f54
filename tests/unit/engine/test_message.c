#include "engine/message.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "tap.h"

#define UUID "7a1e9c30-0b54-4d92-8f6e-2c5d7e8f9a01"

static int read_text(const char *text, struct message *m, struct err *err)
{
    return message_read(text, strlen(text), m, err);
}

TEST(types)
{
    static const struct {
        const char *text;
        enum message_type type;
    } rows[] = {
        { "", MESSAGE_BLANK },
        { " \n\t ", MESSAGE_BLANK },
        { "{\"type\":\"whatever\",\"id\":7}", MESSAGE_UNKNOWN },
        { "{\"type\":\"ping\"}", MESSAGE_PING },
        { "{\"type\":\"pong\"}", MESSAGE_PONG },
        { "{\"type\":\"registerfunction\",\"id\":\"a::b\",\"message_type\":\"x\"}", MESSAGE_REGISTER_FUNCTION },
        { "{\"type\":\"unregisterfunction\",\"id\":\"a\"}", MESSAGE_UNREGISTER_FUNCTION },
        { "{\"type\":\"registertriggertype\",\"id\":\"a\"}", MESSAGE_REGISTER_TYPE },
        { "{\"type\":\"unregistertriggertype\",\"id\":\"a\"}", MESSAGE_UNREGISTER_TYPE },
        { "{\"type\":\"unregistertrigger\",\"id\":\"a\"}", MESSAGE_UNREGISTER_TRIGGER },
        { "{\"type\":\"reattach\",\"previous_worker_id\":\"a\",\"reattach_token\":\"b\"}", MESSAGE_REATTACH },
        { "{\"type\":\"workerregistered\",\"worker_id\":\"a\"}", MESSAGE_WORKER_REGISTERED },
        { "{\"type\":\"error\",\"error\":{\"code\":\"a\",\"message\":\"b\"}}", MESSAGE_ERROR },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = ERR_INIT;
        CLEANUP(message_done) struct message m = { 0 };
        CHECK(read_text(rows[i].text, &m, &err) == 0);
        CHECK(m.type == rows[i].type);
    }
}

TEST(invoke)
{
    struct err err = ERR_INIT;
    CLEANUP(message_done) struct message m = { 0 };
    CHECK(read_text(
              "{\"type\":\"invokefunction\",\"invocation_id\":\"7A1E9C30-0B54-4D92-8F6E-2C5D7E8F9A01\",\"function_id\":"
              "\"f\","
              "\"data\":null,\"action\":{\"type\":\"enqueue\",\"queue\":\"q\"},\"metadata\":[1],\"traceparent\":\"t\"}",
              &m, &err) == 0);
    CHECK(m.type == MESSAGE_INVOKE && m.action == MESSAGE_ENQUEUE);
    CHECK(strcmp(m.queue, "q") == 0 && strcmp(m.function_id, "f") == 0 && strcmp(m.uuid, UUID) == 0);
    CHECK(json_is_null(m.data) && json_array_size(m.metadata) == 1);
    CHECK(strcmp(m.traceparent, "t") == 0 && !m.baggage && !m.namespace);
}

TEST(invoke_without_answer)
{
    struct err err = ERR_INIT;
    CLEANUP(message_done) struct message m = { 0 };
    CHECK(read_text("{\"type\":\"invokefunction\",\"function_id\":\"f\",\"action\":{\"type\":\"void\"}}", &m, &err) ==
          0);
    CHECK(m.action == MESSAGE_VOID && !m.invocation_id && !*m.uuid && !m.data);
}

TEST(result)
{
    struct err err = ERR_INIT;
    CLEANUP(message_done) struct message m = { 0 };
    CHECK(read_text("{\"type\":\"invocationresult\",\"invocation_id\":\"" UUID "\",\"result\":[1],\"error\":null}", &m,
                    &err) == 0);
    CHECK(m.type == MESSAGE_RESULT && json_array_size(m.result) == 1 && !m.error);
}

TEST(refused)
{
    static const char *const rows[] = {
        "{",
        "[]",
        "{}",
        "{\"type\":1}",
        "{\"type\":\"registerfunction\"}",
        "{\"type\":\"registerfunction\",\"id\":\" \"}",
        "{\"type\":\"registerfunction\",\"id\":\"a\\u0000b\"}",
        "{\"type\":\"registerfunction\",\"id\":\"a\",\"namespace\":7}",
        "{\"type\":\"invokefunction\"}",
        "{\"type\":\"invokefunction\",\"function_id\":\"f\",\"invocation_id\":\"x\"}",
        "{\"type\":\"invokefunction\",\"function_id\":\"f\",\"action\":{\"type\":\"fly\"}}",
        "{\"type\":\"invokefunction\",\"function_id\":\"f\",\"action\":{\"type\":\"enqueue\"}}",
        "{\"type\":\"invokefunction\",\"function_id\":\"f\",\"action\":7}",
        "{\"type\":\"invocationresult\",\"function_id\":\"f\"}",
        "{\"type\":\"invocationresult\",\"invocation_id\":\"" UUID "\",\"error\":{\"code\":1,\"message\":\"m\"}}",
        "{\"type\":\"invocationresult\",\"invocation_id\":\"" UUID "\",\"error\":{\"code\":\"c\"}}",
        "{\"type\":\"registertrigger\",\"id\":\"a\",\"trigger_type\":\"t\"}",
        "{\"type\":\"reattach\",\"previous_worker_id\":\"a\"}",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = ERR_INIT;
        struct message m = { 0 };
        CHECK(read_text(rows[i], &m, &err) < 0);
        CHECK(err.code == ERR_INVALID && *err.msg && !m.body);
    }
}

TEST(longest_id)
{
    struct err err = ERR_INIT;
    for (int extra = 0; extra < 2; extra++) {
        CLEANUP(buf_done) struct buf text = BUF_INIT(4096);
        CLEANUP(message_done) struct message m = { 0 };
        (void)buf_add_str(&text, "{\"type\":\"registerfunction\",\"id\":\"");
        for (int i = 0; i < MESSAGE_ID_MAX + extra; i++)
            (void)buf_add_char(&text, 'x');
        (void)buf_add_str(&text, "\"}");
        CHECK((message_read(text.data, text.len, &m, &err) == 0) == !extra);
    }
}

TEST(error_body_has_no_null)
{
    JSON_OWNED with = message_error_body("c", "m", "s");
    JSON_OWNED without = message_error_body("c", "m", NULL);
    CHECK(json_object_size(with) == 3 && json_object_size(without) == 2);
}

TEST(clean_text)
{
    CLEANUP(free_p)
    char *clean = message_clean_text("a\x01\x7f"
                                     "b\xe2\x80\xae"
                                     "c\xc2\x9b"
                                     "d\xff"
                                     "é\xe2\x81\xa6",
                                     100);
    CHECK(strcmp(clean, "abcdé") == 0);
    CLEANUP(free_p) char *cut = message_clean_text("éééé", 2);
    CHECK(strcmp(cut, "éé") == 0);
}

TEST(uuids)
{
    char out[UUID_MAX];
    uuid_new(out);
    CHECK(strlen(out) == 36 && out[14] == '4' && strchr("89ab", out[19]));
    CHECK(uuid_parse("7A1E9C300B544D928F6E2C5D7E8F9A01", out) && strcmp(out, UUID) == 0);
    CHECK(uuid_parse("{" UUID "}", out) && uuid_parse("urn:uuid:" UUID, out) && strcmp(out, UUID) == 0);
    CHECK(!uuid_parse("", out) && !uuid_parse("7a1e9c30-0b54-4d92-8f6e-2c5d7e8f9a0", out));
    CHECK(!uuid_parse("7a1e9c30x0b54-4d92-8f6e-2c5d7e8f9a01", out) &&
          !uuid_parse("ga1e9c300b544d928f6e2c5d7e8f9a01", out));
}

int main(void)
{
    RUN(types);
    RUN(invoke);
    RUN(invoke_without_answer);
    RUN(result);
    RUN(refused);
    RUN(longest_id);
    RUN(error_body_has_no_null);
    RUN(clean_text);
    RUN(uuids);
    return tap_done();
}
