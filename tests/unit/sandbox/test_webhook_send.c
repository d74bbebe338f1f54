/* What a message to a webhook carries and how long its retries wait: signatures (the convention's own example), the
 * pauses, Retry-After, and which URLs pass. */
#include <errno.h>
#include <string.h>

#include "base/settings.h"
#include "http/url.h"
#include "sandbox/observe/webhook_queue.h"
#include "sandbox/observe/webhook_send.h"
#include "tap.h"

TEST(the_signature_is_that_of_the_convention)
{
    static const char body[] = "{\"test\": 2432232314}", id[] = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    char got[WEBHOOK_SEND_SIGNATURE_MAX], key[WEBHOOK_SEND_KEY_MAX], other[WEBHOOK_SEND_KEY_MAX];
    CHECK_INT(webhook_send_sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", id, 1614265330, body, strlen(body), got), 0);
    CHECK_STR(got, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    CHECK_INT(webhook_send_sign("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", id, 1, body, 1, got), -EINVAL);
    CHECK_INT(webhook_send_sign("whsec_?", id, 1, body, 1, got), -EINVAL);
    webhook_send_new_key(key);
    webhook_send_new_key(other);
    CHECK(strcmp(key, other) != 0);
    CHECK_INT(webhook_send_sign(key, id, 1, body, 1, got), 0);
}

TEST(the_pause_grows_and_is_capped)
{
    CHECK_INT(webhook_queue_pause(5000, 1), 5000);
    CHECK_INT(webhook_queue_pause(5000, 2), 15000);
    CHECK_INT(webhook_queue_pause(5000, 4), 135000);
    CHECK_INT(webhook_queue_pause(5000, 10), WEBHOOK_QUEUE_PAUSE_MAX_MS);
    CHECK_INT(webhook_queue_pause(10, INT64_MAX), WEBHOOK_QUEUE_PAUSE_MAX_MS);
    CHECK_INT(webhook_queue_pause(10, 0), 10);
}

TEST(retry_after_is_seconds_or_a_date)
{
    int64_t at = 784111777000; /* Sun, 06 Nov 1994 08:49:37 GMT */
    CHECK_INT(webhook_send_wait(NULL, at), 0);
    CHECK_INT(webhook_send_wait("0", at), 0);
    CHECK_INT(webhook_send_wait("120", at), 120000);
    CHECK_INT(webhook_send_wait("86400", at), 86400000);
    CHECK_INT(webhook_send_wait("86401", at), WEBHOOK_SEND_WAIT_MAX_MS);
    CHECK_INT(webhook_send_wait("99999999999999999999999999", at), WEBHOOK_SEND_WAIT_MAX_MS);
    CHECK_INT(webhook_send_wait("Sun, 06 Nov 1994 08:50:37 GMT", at), 60000);
    CHECK_INT(webhook_send_wait("Sun, 06 Nov 1994 08:48:37 GMT", at), 0);
    static const char *const none[] = { "", "-1", "+5", "1.5", "5 ", "soon", "Sun, 06 Nov 1994 08:50:37 GMTx", "\xff" };
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        CHECK_INT(webhook_send_wait(none[i], at), 0);
}

TEST(urls_are_judged_by_their_text)
{
    char listed[] = "10.0.0.1:8443";
    struct settings s = { .webhook_private_hosts = listed };
    struct err err = ERR_INIT;
    char host[URL_HOST_MAX];
    CHECK_INT(webhook_send_check(&s, "https://a.example:8443/x?y=z", host, &err), 0);
    CHECK_STR(host, "a.example");
    CHECK_INT(webhook_send_check(&s, "https://10.0.0.1:8443/", host, &err), 0);
    static const struct {
        const char *url;
        enum err_code code;
    } bad[] = { { "http://a.example/", ERR_INVALID },      { "https://a.example/\r\nX: y", ERR_INVALID },
                { "https://u@a.example/", ERR_INVALID },   { "", ERR_INVALID },
                { "https://10.0.0.1/", ERR_FORBIDDEN },    { "https://127.1/", ERR_FORBIDDEN },
                { "https://a.localhost/", ERR_FORBIDDEN }, { "https://[fe80::1]/", ERR_FORBIDDEN },
                { "https://169.254.1.1/", ERR_FORBIDDEN } };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK(webhook_send_check(&s, bad[i].url, host, &err) < 0);
        CHECK_INT(err.code, bad[i].code);
    }
    s.webhook_plain = true;
    CHECK_INT(webhook_send_check(&s, "http://a.example/", host, &err), 0);
}

int main(void)
{
    RUN(the_signature_is_that_of_the_convention);
    RUN(the_pause_grows_and_is_capped);
    RUN(retry_after_is_seconds_or_a_date);
    RUN(urls_are_judged_by_their_text);
    return tap_done();
}
