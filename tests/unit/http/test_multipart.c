/* Forms: boundaries, names, and contents that look like boundaries. */
#include <errno.h>

#include "base/buf.h"
#include "http/multipart.h"
#include "tap.h"

static struct buf seen;
static size_t room;
static int part_result, end_result;

static int on_part(void *arg, const char *name, const char *filename)
{
    (void)arg;
    (void)buf_addf(&seen, "[%s %s:", name, filename ? filename : "-");
    return part_result;
}

static size_t on_data(void *arg, const char *data, size_t len)
{
    size_t n = len < room ? len : room;
    (void)arg;
    (void)buf_add(&seen, data, n);
    return n;
}

static int on_part_end(void *arg)
{
    (void)arg;
    if (end_result == 0)
        (void)buf_add_str(&seen, "]");
    return end_result;
}

static const struct multipart_events events = { on_part, on_data, on_part_end, NULL };

static struct multipart *begin(void)
{
    buf_done(&seen);
    buf_init(&seen, 65536);
    room = SIZE_MAX;
    part_result = end_result = 0;
    return multipart_new("bb", &events);
}

/* What is seen of a body, or the error. */
static const char *parse(const char *body)
{
    size_t used;
    struct multipart *m = begin();
    int r = multipart_feed(m, body, strlen(body), &used);
    bool is_whole = multipart_is_whole(m);
    (void)multipart_free(m);
    return r < 0 ? strerror(-r) : is_whole ? buf_text(&seen) : "not whole";
}

#define HEAD(rest) "--bb\r\nContent-Disposition: form-data; " rest "\r\n\r\n"

TEST(a_boundary_is_taken_from_the_content_type)
{
    static const struct {
        const char *type, *boundary; /* NULL: none */
    } cases[] = {
        { "multipart/form-data; boundary=abc", "abc" },
        { "Multipart/Form-Data;BOUNDARY=abc; charset=x", "abc" },
        { "multipart/form-data; charset=\"a;boundary=no\"; boundary=\"a b\"", "a b" },
        { "multipart/form-data", NULL },
        { "multipart/form-data; boundary=", NULL },
        { "multipart/form-data; boundary=\"abc", NULL },
        { "multipart/form-data; boundary=\"abc \"", NULL },
        { "multipart/form-data; boundary=\"a\tb\"", NULL },
        { "multipart/form-datax; boundary=abc", NULL },
        { "multipart/mixed; boundary=abc", NULL },
        { "multipart/form-data; boundary=0123456789012345678901234567890123456789012345678901234567890123456789",
          "0123456789012345678901234567890123456789012345678901234567890123456789" },
        { "multipart/form-data; boundary=01234567890123456789012345678901234567890123456789012345678901234567890",
          NULL },
    };
    char out[MULTIPART_BOUNDARY_MAX + 1];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        bool has = multipart_boundary(cases[i].type, out);
        CHECK_INT(has, cases[i].boundary != NULL);
        if (has && cases[i].boundary)
            CHECK_STR(out, cases[i].boundary);
    }
    CHECK(!multipart_is_form(NULL) && multipart_is_form("multipart/form-data"));
}

TEST(parts_are_read)
{
    CHECK_STR(parse("--bb--"), "");
    CHECK_STR(parse(HEAD("name=a") "x\r\n--bb--\r\n"), "[a -:x]");
    CHECK_STR(parse("preamble\r\n" HEAD("name=a") "\r\n--bb--epilogue"), "[a -:]");
    CHECK_STR(parse(HEAD("name=a") "--bb--"), "[a -:]");
    CHECK_STR(parse(HEAD("name=\"a\"; filename=\"f\"") "1\r\n" HEAD("name=b") "2\r\n--bb--"), "[a f:1][b -:2]");
    CHECK_STR(parse(HEAD("name=a") "\r\n--b\r\n--bx\r\r\n-\r\n--bb--"), "[a -:\r\n--b\r\n--bx\r\r\n-]");
    CHECK_STR(parse(HEAD("filename=\"a\\\"b%22%0D%0a%20\"; name=a") "\r\n--bb--"), "[a a\"b\"\r\n%20:]");
    CHECK_STR(parse(HEAD("name=a; filename=x; filename*=UTF-8''%C3%BC") "\r\n--bb--"), "[a \303\274:]");
    CHECK_STR(parse(HEAD("name=a; filename=x; filename*=UTF-8''%00y") "\r\n--bb--"), "[a x:]");
    CHECK_STR(parse(HEAD("name=a; filename=x; filename*=latin1''y") "\r\n--bb--"), "[a x:]");
}

TEST(what_is_not_a_form_is_refused)
{
    const char *bad = strerror(EBADMSG);
    CHECK_STR(parse("--bbx"), "not whole");
    CHECK_STR(parse("--bbxx"), bad);
    CHECK_STR(parse("--bb\r\n\r\n"), bad);
    CHECK_STR(parse("--bb\r\nContent-Type: a\r\n\r\n"), bad);
    CHECK_STR(parse(HEAD("filename=x")), bad);
    CHECK_STR(parse(HEAD("name=a") "x\r\n--bb"), "not whole");
    CHECK_STR(parse("no boundary at all"), "not whole");
    static char body[MULTIPART_HEAD_MAX + 20];
    memset(body, 'h', sizeof(body) - 1);
    memcpy(body, "--bb\r\n", 6);
    CHECK_STR(parse(body), bad);
}

TEST(a_receiver_stops_the_feed)
{
    static const char body[] = HEAD("name=a; filename=f") "12\r\n--b3\r\n--bb--";
    struct multipart *m = begin();
    size_t at = 0, used;
    int turns = 0;
    end_result = -EAGAIN;
    for (room = 1; at < strlen(body) && turns < 100; at += used, turns++) {
        CHECK_INT(multipart_feed(m, body + at, strlen(body) - at, &used), 0);
        if (turns == 50)
            end_result = 0;
    }
    CHECK_STR(buf_text(&seen), "[a f:12\r\n--b3]");
    CHECK(multipart_is_whole(m) && turns > 50);
    (void)multipart_free(m);
    m = begin();
    part_result = -EPERM;
    CHECK_INT(multipart_feed(m, body, strlen(body), &used), -EPERM);
    (void)multipart_free(m);
    buf_done(&seen);
}

int main(void)
{
    RUN(a_boundary_is_taken_from_the_content_type);
    RUN(parts_are_read);
    RUN(what_is_not_a_form_is_refused);
    RUN(a_receiver_stops_the_feed);
    return tap_done();
}
