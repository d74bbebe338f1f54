/* User strings and the passwd and group files behind them. */
#include <errno.h>
#include <stdint.h>

#include "guest/proto_user.h"
#include "tap.h"

static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\n"
                             "broken line\n"
                             "bad:x:01:5::/:\n"
                             "app:x:1000:1001:App:/home/app:/bin/sh\n"
                             "short:x:7:8\n"
                             "huge:x:4294967296:5::/:\n"
                             "last:x:9:10::/last:/bin/sh";
static const char groups[] = "root:x:0:\nwheel:x:10:root,app\naudio:x:29:application,app\nnone:x:30:\nbad:x:a:app\n";

TEST(takes_numbers_and_names)
{
    struct proto_user u;

    CHECK_INT(proto_user_parse("1", &u), 0);
    CHECK(u.is_numeric && u.uid == 1 && !u.has_group);
    CHECK_INT(proto_user_parse("0:0", &u), 0);
    CHECK(u.is_numeric && u.uid == 0 && u.has_group && u.is_group_numeric && u.gid == 0);
    CHECK_INT(proto_user_parse("4294967294:7", &u), 0);
    CHECK(u.uid == 4294967294u && u.gid == 7);
    CHECK_INT(proto_user_parse("www-data:adm", &u), 0);
    CHECK(!u.is_numeric && !u.is_group_numeric);
    CHECK_STR(u.name, "www-data");
    CHECK_STR(u.group, "adm");
    CHECK_INT(proto_user_parse("_apt:12", &u), 0);
    CHECK(u.is_group_numeric && u.gid == 12);
}

TEST(refuses_everything_that_is_not_wholly_a_user)
{
    static const char *const bad[] = {
        "",    ":",     "1:",     ":1",    "01",          "1:01",  "00",         "-1",         "+1",           " 1",
        "1 ",  "1\n",   "root\n", "1:2:3", "1a",          "a b",   "4294967295", "4294967296", "1:4294967295", "0x0",
        "1.5", "ro/ot", "a:b:c",  "-name", "99999999999", "root:", ":root",      ".x",         "na\xc3\xafve",
    };
    struct proto_user u = { .uid = 77 };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK_INT(proto_user_parse(bad[i], &u), -EINVAL);
        CHECK_INT(u.uid, 77);
    }
}

TEST(refuses_names_at_the_limit)
{
    char text[PROTO_USER_MAX_BYTES + 8];
    struct proto_user u;

    memset(text, 'a', sizeof(text));
    text[PROTO_USER_NAME_MAX - 1] = '\0';
    CHECK_INT(proto_user_parse(text, &u), 0);
    text[PROTO_USER_NAME_MAX - 1] = 'a';
    text[PROTO_USER_NAME_MAX] = '\0';
    CHECK_INT(proto_user_parse(text, &u), -EINVAL);
    text[PROTO_USER_NAME_MAX] = 'a';
    text[PROTO_USER_MAX_BYTES + 1] = '\0';
    CHECK_INT(proto_user_parse(text, &u), -EINVAL);
}

TEST(finds_users_and_skips_broken_lines)
{
    uint32_t uid = 99, gid = 99;
    char home[32], name[8];

    CHECK_INT(proto_user_passwd(passwd, "app", &uid, &gid, home, sizeof(home)), 0);
    CHECK(uid == 1000 && gid == 1001);
    CHECK_STR(home, "/home/app");
    CHECK_INT(proto_user_passwd(passwd, "short", &uid, &gid, home, sizeof(home)), 0);
    CHECK_STR(home, "");
    CHECK_INT(proto_user_passwd(passwd, "last", &uid, &gid, NULL, 0), 0);
    CHECK_INT(uid, 9);
    uid = 99;
    CHECK_INT(proto_user_passwd(passwd, "bad", &uid, &gid, NULL, 0), -ENOENT);
    CHECK_INT(proto_user_passwd(passwd, "huge", &uid, &gid, NULL, 0), -ENOENT);
    CHECK_INT(proto_user_passwd(passwd, "ap", &uid, &gid, NULL, 0), -ENOENT);
    CHECK_INT(proto_user_passwd("", "root", &uid, &gid, NULL, 0), -ENOENT);
    CHECK_INT(uid, 99);
    CHECK_INT(proto_user_passwd(passwd, "app", &uid, &gid, home, 5), 0);
    CHECK_STR(home, ""); /* a cut path would be another directory */
    CHECK_INT(proto_user_passwd_uid(passwd, 1000, &gid, name, sizeof(name)), 0);
    CHECK_STR(name, "app");
    CHECK_INT(proto_user_passwd_uid(passwd, 5, &gid, name, sizeof(name)), -ENOENT);
}

TEST(finds_groups_and_members)
{
    uint32_t gid = 99, gids[2];
    char name[16];

    CHECK_INT(proto_user_group(groups, "audio", &gid), 0);
    CHECK_INT(gid, 29);
    CHECK_INT(proto_user_group(groups, "bad", &gid), -ENOENT);
    CHECK_INT(proto_user_group_gid(groups, 10, name, sizeof(name)), 0);
    CHECK_STR(name, "wheel");
    CHECK_INT(proto_user_group_gid(groups, 11, name, sizeof(name)), -ENOENT);
    CHECK_INT(proto_user_members(groups, "app", gids, 2), 2);
    CHECK(gids[0] == 10 && gids[1] == 29);
    CHECK_INT(proto_user_members(groups, "app", gids, 1), 1);
    CHECK_INT(proto_user_members(groups, "applic", gids, 2), 0);
}

int main(void)
{
    RUN(takes_numbers_and_names);
    RUN(refuses_everything_that_is_not_wholly_a_user);
    RUN(refuses_names_at_the_limit);
    RUN(finds_users_and_skips_broken_lines);
    RUN(finds_groups_and_members);
    return tap_done();
}
