/* Texts that name files, modes and users, and the passwd and group files of an image. The first byte picks the reader;
 * its pieces are divided by newlines. */
#include "../feed.h"

#include "base/cleanup.h"
#include "guest/proto_glob.h"
#include "guest/proto_mode.h"
#include "guest/proto_user.h"

static void try_glob(char *text)
{
    const char *pattern = feed_line(&text), *path = text ? text : "";
    bool fits = proto_glob_match(pattern, path);
    const char *last = strrchr(path, '/');
    if (!strpbrk(pattern, "*?")) /* without wildcards it is a comparison */
        MUST(fits == (strcmp(pattern, strchr(pattern, '/') || !last ? path : last + 1) == 0));
    if (strcmp(pattern, "**") == 0)
        MUST(fits);
    MUST(proto_glob_match("**/*", path) || !*path || path[strlen(path) - 1] == '/');
}

static void try_mode(char *text)
{
    static const uint32_t modes[] = { 0100644, 0100755, 0040700, 0100000, 0107777 };
    struct proto_mode m;
    if (proto_mode_parse(text, &m) < 0)
        return;
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        uint32_t once = proto_mode_apply(&m, modes[i]);
        MUST((once & ~07777u) == 0);
        MUST(m.has_cap_x || proto_mode_apply(&m, (modes[i] & ~07777u) | once) == once); /* twice is once */
        MUST(m.is_octal || ((once ^ modes[i]) & 06000) == 0); /* no letters for set-uid and set-gid */
    }
}

static void try_user(char *text)
{
    struct proto_user u, again;
    if (proto_user_parse(text, &u) < 0)
        return;
    MUST(strlen(text) <= PROTO_USER_MAX_BYTES && strlen(u.name) < PROTO_USER_NAME_MAX &&
         strlen(u.group) < PROTO_USER_NAME_MAX);
    char user[PROTO_USER_NAME_MAX + 16], group[PROTO_USER_NAME_MAX + 16] = "", printed[256];
    if (u.is_numeric)
        (void)snprintf(user, sizeof(user), "%u", u.uid);
    else
        (void)snprintf(user, sizeof(user), "%s", u.name);
    if (u.has_group && u.is_group_numeric)
        (void)snprintf(group, sizeof(group), ":%u", u.gid);
    else if (u.has_group)
        (void)snprintf(group, sizeof(group), ":%s", u.group);
    (void)snprintf(printed, sizeof(printed), "%s%s", user, group);
    MUST(strcmp(printed, text) == 0); /* taken whole: no sign, zero or blank is lost */
    MUST(proto_user_parse(printed, &again) == 0);
}

static void try_files(char *text)
{
    const char *name = feed_line(&text), *file = text ? text : "";
    uint32_t uid = 7, gid = 7, gids[4], uid_gid = 0;
    char home[16], found[PROTO_USER_NAME_MAX];
    if (proto_user_passwd(file, name, &uid, &gid, home, sizeof(home)) == 0) {
        MUST(strlen(home) < sizeof(home) && uid != UINT32_MAX && gid != UINT32_MAX);
        MUST(proto_user_passwd_uid(file, uid, &uid_gid, found, sizeof(found)) == 0 || strlen(name) >= sizeof(found));
    }
    if (proto_user_group(file, name, &gid) == 0)
        MUST(gid != UINT32_MAX);
    if (proto_user_group_gid(file, gid, found, sizeof(found)) == 0)
        MUST(strlen(found) < sizeof(found));
    MUST(proto_user_members(file, name, gids, 4) <= 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(char *) = { try_glob, try_mode, try_user, try_files };
    if (size < 1 || size > 4096)
        return 0;
    CLEANUP(free_p) char *text = feed_text(data + 1, size - 1);
    readers[data[0] % 4](text);
    return 0;
}
