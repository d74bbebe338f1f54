/* The kept inputs of fuzz_signature are good signatures, some made by cosign 2.6.1; every change of them must be
 * noticed. */
#include <string.h>

#include "base/alloc.h"
#include "docfile.h"
#include "image/signature.h"
#include "tap.h"

static json_t *load(const char *name)
{
    CLEANUP(free_p) char *file = xasprintf("tests/corpus/fuzz_signature/%s", name);
    CLEANUP(free_p) char *path = docfile_path(file);
    return json_load_file(path, 0, NULL);
}

static int check(const json_t *doc, struct err *err)
{
    char by[SIGNATURE_BY] = "";
    int r = signature_check(json_get(doc, "rule"), json_get(doc, "digests"), json_get(doc, "evidence"), by, err);
    CHECK(r < 0 || *by);
    CHECK(r == 0 || err->code == ERR_FORBIDDEN);
    return r;
}

TEST(good_ones_are_accepted)
{
    static const char *const names[] = { "key", "keyless", "bundle", "cosign_key", "cosign_bundle" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        JSON_OWNED doc = load(names[i]);
        struct err err = ERR_INIT;
        CHECK_INT(signature_rule_check(json_get(doc, "rule"), &err), 0);
        CHECK_INT(check(doc, &err), 0);
        (void)json_object_set_new(doc, "digests",
                                  json_pack("[s]", "sha256:"
                                                   "00"));
        CHECK(check(doc, &err) < 0 && strstr(err.msg, "another image"));
    }
}

/* Changes one byte in the middle of each text below j, one after the other; root must then be refused. */
static size_t damage_each(json_t *root, json_t *j, const char *place)
{
    const char *name;
    json_t *value;
    void *next;
    size_t accepted = 0, at;
    json_object_foreach_safe(j, next, name, value)
    {
        char where[256];
        (void)snprintf(where, sizeof(where), "%s.%s", place, name);
        accepted += damage_each(root, value, where);
    }
    json_array_foreach(j, at, value) accepted += damage_each(root, value, place);
    if (!json_is_string(j) || !json_string_length(j))
        return accepted;
    char *was = strdup(json_string_value(j)), *changed = strdup(was);
    size_t middle = strlen(was) / 2;
    while (changed[middle] == '\n' || changed[middle] == '-')
        middle++;
    changed[middle] = changed[middle] == 'A' ? 'B' : 'A';
    struct err err = ERR_INIT;
    (void)json_string_set(j, changed);
    if (check(root, &err) == 0) {
        printf("# %s is not noticed\n", place);
        accepted++;
    }
    (void)json_string_set(j, was);
    free(was);
    free(changed);
    return accepted;
}

TEST(every_change_of_the_evidence_is_noticed)
{
    /* How many texts do not count: of a bundle its media type, the name of the entry's kind and its version, the hint
     * which key it is. */
    static const struct {
        const char *name;
        size_t ignored;
    } cases[] = { { "key", 0 }, { "keyless", 0 }, { "bundle", 3 }, { "cosign_key", 0 }, { "cosign_bundle", 2 } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        JSON_OWNED doc = load(cases[i].name);
        CHECK_INT(damage_each(doc, json_get(doc, "evidence"), cases[i].name), cases[i].ignored);
    }
}

TEST(a_certificate_is_worth_nothing_without_the_log)
{
    JSON_OWNED doc = load("keyless");
    struct err err = ERR_INIT;
    (void)json_object_del(json_get(doc, "evidence"), "bundle");
    CHECK(check(doc, &err) < 0 && strstr(err.msg, "transparency-log"));
    JSON_OWNED bundle = load("bundle");
    json_t *entry = json_array_get(
        json_get(json_get(json_get(json_get(bundle, "evidence"), "sigstore"), "verificationMaterial"), "tlogEntries"),
        0);
    (void)json_object_del(entry, "inclusionPromise"); /* a proof of inclusion does not say when */
    CHECK(check(bundle, &err) < 0 && strstr(err.msg, "timestamp"));
}

TEST(a_rule_with_keys_alone_does_not_take_certificates)
{
    JSON_OWNED doc = load("keyless");
    JSON_OWNED other = load("key");
    struct err err = ERR_INIT;
    (void)json_object_set(doc, "rule", json_get(other, "rule"));
    CHECK(check(doc, &err) < 0 && strstr(err.msg, "not configured"));
}

int main(void)
{
    RUN(good_ones_are_accepted);
    RUN(every_change_of_the_evidence_is_noticed);
    RUN(a_certificate_is_worth_nothing_without_the_log);
    RUN(a_rule_with_keys_alone_does_not_take_certificates);
    return tap_done();
}
