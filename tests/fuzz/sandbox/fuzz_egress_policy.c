/* Egress policies as clients send them, and the verdicts that come out; image allow-lists; names and places that rules
 * are about. The first byte picks the reader. */
#include "../feed.h"

#include "base/cleanup.h"
#include "sandbox/exec/git.h"
#include "sandbox/exec/interpreter.h"
#include "sandbox/net/egress_policy.h"
#include "sandbox/net/hosts.h"
#include "sandbox/storage/image_allowlist.h"
#include "sandbox/storage/volumes.h"

static enum egress_policy_verdict judge(const struct egress_policy *p, uint32_t address, uint16_t port,
                                        const char *name)
{
    const char *const names[] = { name };
    return egress_policy_judge(p, &(struct egress_policy_target){ address, port, names, name ? 1 : 0 });
}

static bool all_name_a_domain(const json_t *rules)
{
    for (size_t i = 0; i < json_array_size(rules); i++)
        if (!json_get_str(json_array_get(rules, i), "domain", NULL))
            return false;
    return true;
}

static void try_policy(const char *bytes, size_t len)
{
    static const uint32_t addresses[] = { 0x08080808, 0x0a000001, 0x7f000001, 0xa9fea9fe, 0xc0a80101, 0 };
    CLEANUP(egress_policy_free_p) struct egress_policy *p = NULL;
    CLEANUP(egress_policy_free_p) struct egress_policy *again = NULL;
    JSON_OWNED json = NULL;
    struct err err = ERR_INIT;
    if (json_read(bytes, len, &json, NULL) < 0)
        return;
    if (egress_policy_new(json, &p, &err) < 0) {
        MUST(err.code == ERR_INVALID);
        return;
    }
    MUST(egress_policy_new(egress_policy_json(p), &again, &err) == 0);
    MUST(json_equal(egress_policy_json(p), egress_policy_json(again))); /* the normal form is one */
    for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
        uint32_t a = addresses[i];
        MUST(judge(p, a, 443, "a.example.org") == judge(again, a, 443, "a.example.org"));
        if (a >> 24 == 127 || a >> 16 == 0xa9fe || a >> 24 == 0)
            MUST(judge(p, a, 80, NULL) == EGRESS_POLICY_DENY && judge(p, a, 80, "x") == EGRESS_POLICY_DENY);
    }
    /* Rules about names say nothing about an address that has none. */
    bool is_deny = strcmp(json_get_str(egress_policy_json(p), "default", ""), "deny") == 0;
    if (all_name_a_domain(json_get(egress_policy_json(p), "rules")))
        MUST(judge(p, 0x08080808, 443, NULL) == (is_deny ? EGRESS_POLICY_DENY : EGRESS_POLICY_ALLOW));
    (void)egress_policy_may_resolve(p, "a.example.org");
}

static void try_hosts(const char *bytes, size_t len)
{
    CLEANUP(buf_done) struct buf once = BUF_INIT(2 * HOSTS_MAX);
    CLEANUP(buf_done) struct buf twice = BUF_INIT(2 * HOSTS_MAX);
    CLEANUP(buf_done) struct buf none = BUF_INIT(2 * HOSTS_MAX);
    CLEANUP(buf_done) struct buf empty = BUF_INIT(2 * HOSTS_MAX);
    static const char block[] = "10.0.0.2\tother\n";
    if (hosts_merge(bytes, len, block, &once) < 0)
        return;
    MUST(hosts_merge(buf_text(&once), once.len, block, &twice) == 0);
    MUST(once.len == twice.len && memcmp(buf_text(&once), buf_text(&twice), once.len) == 0); /* twice is once */
    MUST(strstr(buf_text(&once), "other") || memchr(bytes, '\0', len));
    MUST(hosts_merge(buf_text(&once), once.len, "", &none) == 0 && hosts_merge(bytes, len, "", &empty) == 0);
    MUST(none.len == empty.len && memcmp(buf_text(&none), buf_text(&empty), none.len) == 0); /* nothing stays behind */
}

static void try_words(const char *bytes, size_t len)
{
    CLEANUP(free_p) char *text = feed_text(bytes, len);
    char path[256], again[256];
    struct err err = ERR_INIT;
    if (git_check_url(text, &err) == 0)
        MUST(text[0] != '-');
    if (hosts_is_name(text))
        MUST(text[0] && !strpbrk(text, " \t\n\r#/"));
    if (interpreter_is_package(text))
        MUST(text[0] != '-' && !strpbrk(text, " \t\n\r"));
    if (volumes_path(text, path, sizeof(path), &err) == 0)
        MUST(path[0] == '/' && path[1] && !strstr(path, "//") && !strstr(path, "/../") &&
             volumes_path(path, again, sizeof(again), &err) == 0 && strcmp(path, again) == 0);
}

static void try_list(const char *bytes, size_t len)
{
    CLEANUP(free_p) char *text = feed_text(bytes, len);
    char *rest = text;
    const char *image = feed_line(&rest), *list = rest ? rest : "";
    struct err err = ERR_INIT;
    bool is_in = image_allowlist_check(list, image, &err) == 0;
    MUST(is_in || err.code == ERR_FORBIDDEN);
    if (*image && !strpbrk(image, ", \t*")) /* a name allows itself, whatever its form */
        MUST(image_allowlist_check(image, image, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const char *, size_t) = { try_policy, try_hosts, try_words, try_list };
    if (size < 1 || size > HOSTS_MAX)
        return 0;
    CLEANUP(free_p) char *bytes = feed_bytes(data + 1, size - 1);
    readers[data[0] % 4](bytes, size - 1);
    return 0;
}
