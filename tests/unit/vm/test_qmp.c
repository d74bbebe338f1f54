/* QEMU's control protocol with a monitor that a guest has taken over: garbage, lines without end, answers that nobody
 * asked for, silence, an end at every point. Whoever waits is told once, and whoever closes hears nothing any more. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loopturn.h"
#include "os/unixsock.h"
#include "tap.h"
#include "vm/vmm/qmp.h"

#define HANDSHAKE "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n"
#define DONE      "{\"return\": {}}\r\n"

static struct loop *loop;
static struct qmp *qmp;
static int vmm = NO_FD; /* our end of the connection */
static int lost, answered, failed, events;
static char said[512];

static void on_lost(void *arg)
{
    (void)arg;
    lost++;
}

static void on_event(void *arg, const char *name, json_t *data)
{
    (void)arg;
    (void)data;
    CHECK(*name != '\0');
    events++;
}

static void on_answer(void *arg, json_t *value, const struct err *err)
{
    CHECK((value == NULL) == (err != NULL));
    answered++;
    failed += err != NULL;
    (void)snprintf(said, sizeof(said), "%s", err ? err->msg : "");
    if (arg)
        qmp = qmp_close(qmp);
}

static void say(const char *text)
{
    CHECK(loopturn_say(loop, vmm, text));
}

/* Everything that the monitor was told so far. */
static const char *heard(void)
{
    static char text[8192];
    ssize_t n = recv(vmm, text, sizeof(text) - 1, MSG_DONTWAIT);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void begin(void)
{
    struct err err = ERR_INIT;
    char path[64], folder[] = "/tmp/iii-qmp-XXXXXX";
    lost = answered = failed = events = 0;
    CHECK(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof(path), "%s/s", folder);
    int listener = unixsock_listen(path, 0, 1);
    CHECK(listener >= 0);
    CHECK_INT(loop_new(&loop, &err), 0);
    struct qmp_options opt = { .loop = loop, .path = path, .on_event = on_event, .on_lost = on_lost };
    CHECK_INT(qmp_open(&opt, &qmp, &err), 0);
    vmm = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(vmm >= 0);
    (void)close(listener);
    (void)unlink(path);
    (void)rmdir(folder);
}

static void end(void)
{
    qmp = qmp_close(qmp);
    if (vmm >= 0)
        (void)close(vmm);
    vmm = NO_FD;
    loop = loop_free(loop);
}

static void ask(const char *command)
{
    qmp_run(qmp, command, NULL, NO_FD, (struct qmp_then){ .fn = on_answer });
}

static void handshake(void)
{
    say(HANDSHAKE);
    CHECK(strstr(heard(), "\"qmp_capabilities\"") != NULL);
    say(DONE);
}

TEST(commands_go_one_at_a_time_and_in_order)
{
    begin();
    ask("first");
    ask("second");
    loopturn_few(loop);
    CHECK_STR(heard(), ""); /* nothing before the greeting */
    handshake();
    const char *text = heard();
    CHECK(strstr(text, "first") && !strstr(text, "second"));
    say("{\"event\": \"STOP\"}\n");
    CHECK_INT(events, 1);
    CHECK_STR(heard(), ""); /* nothing twice */
    say(DONE);
    CHECK_INT(answered, 1);
    CHECK(strstr(heard(), "second") != NULL);
    say("{\"error\": {\"class\": \"GenericError\", \"desc\": \"no \\u001b[2J such\"}}\r\n");
    CHECK_INT(answered, 2);
    CHECK_INT(failed, 1);
    CHECK_STR(said, "second: no ?[2J such"); /* a terminal that shows it is not moved */
    CHECK_INT(lost, 0);
    end();
}

TEST(a_reply_in_single_bytes)
{
    begin();
    handshake();
    ask("one");
    const char *text = "{\"return\": {\"a\": 1}}\r\n";
    for (size_t i = 0; text[i]; i++) {
        CHECK_INT(answered, 0);
        say((char[]){ text[i], '\0' });
    }
    CHECK_INT(answered, 1);
    CHECK_INT(failed, 0);
    end();
}

/* What it says ends the connection, and both who wait are told once. */
static void expect_loss(const char *text, bool has_handshake)
{
    begin();
    if (has_handshake)
        handshake();
    ask("one");
    ask("two");
    loopturn_few(loop);
    say(text);
    if (lost != 1 || answered != 2 || failed != 2) {
        printf("# %.40s: lost %d times, %d answers, %d of them errors\n", text, lost, answered, failed);
        tap_bad = 1;
    }
    ask("three"); /* also later ones */
    loopturn_few(loop);
    CHECK_INT(failed, 3);
    CHECK_INT(lost, 1);
    end();
}

TEST(garbage_ends_it)
{
    static const char *const texts[] = {
        "garbage\n",  "[]\n",   "5\n",  "{\"return\": {}\n",         "{} {}\n", "{\"a\": 1}\n",
        "\x01\x02\n", "null\n", "{}\n", "{\"QMP\": 1, \"QMP\": 2}\n"
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        expect_loss(texts[i], false);
        expect_loss(texts[i], true);
    }
}

TEST(an_answer_before_the_handshake_ends_it)
{
    expect_loss(DONE, false);
    expect_loss("{\"error\": {}}\n", false);
}

TEST(an_answer_that_nobody_asked_for_ends_it)
{
    begin();
    handshake();
    say(DONE);
    CHECK_INT(lost, 1);
    end();
    begin();
    handshake();
    ask("one");
    say(DONE DONE);
    CHECK_INT(answered, 1);
    CHECK_INT(failed, 0);
    CHECK_INT(lost, 1);
    end();
}

TEST(a_line_without_end_ends_it)
{
    static char block[16385];
    begin();
    handshake();
    ask("one");
    memset(block, 'x', sizeof(block) - 1);
    for (int i = 0; i < 64 && !lost; i++) { /* 1 MB at most */
        (void)send(vmm, block, sizeof(block) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        loopturn_few(loop);
    }
    CHECK_INT(lost, 1);
    CHECK_INT(failed, 1);
    end();
}

TEST(its_end_is_told_at_every_point)
{
    for (int point = 0; point < 4; point++) {
        begin();
        if (point >= 1)
            say(HANDSHAKE);
        if (point >= 2)
            say(DONE);
        ask("one");
        if (point >= 3)
            say("{\"return\": ");
        (void)close(vmm);
        vmm = NO_FD;
        loopturn_few(loop);
        CHECK_INT(lost, 1);
        CHECK_INT(failed, 1);
        end();
    }
}

TEST(who_closes_hears_nothing_more)
{
    begin();
    handshake();
    ask("one");
    qmp = qmp_close(qmp);
    loopturn_few(loop);
    CHECK_INT(answered, 0);
    CHECK_INT(lost, 0);
    end();
}

TEST(closing_from_inside_an_answer)
{
    begin();
    handshake();
    qmp_run(qmp, "one", NULL, NO_FD, (struct qmp_then){ .fn = on_answer, .arg = &answered });
    ask("two");
    loopturn_few(loop);
    say(DONE "{\"event\": \"STOP\"}\n" DONE "garbage\n");
    CHECK_INT(answered, 1);
    CHECK_INT(events, 0);
    CHECK_INT(lost, 0);
    end();
}

TEST(what_belongs_to_a_command_is_freed_with_it)
{
    begin();
    handshake();
    qmp_run(qmp, "one", json_object(), NO_FD, (struct qmp_then){ .arg = malloc(8), .is_owned = true });
    qmp_run(qmp, "two", json_object(), 0, (struct qmp_then){ .arg = malloc(8), .is_owned = true });
    end(); /* the sanitizer sees what stays */
}

int main(void)
{
    RUN(commands_go_one_at_a_time_and_in_order);
    RUN(a_reply_in_single_bytes);
    RUN(garbage_ends_it);
    RUN(an_answer_before_the_handshake_ends_it);
    RUN(an_answer_that_nobody_asked_for_ends_it);
    RUN(a_line_without_end_ends_it);
    RUN(its_end_is_told_at_every_point);
    RUN(who_closes_hears_nothing_more);
    RUN(closing_from_inside_an_answer);
    RUN(what_belongs_to_a_command_is_freed_with_it);
    return tap_done();
}
