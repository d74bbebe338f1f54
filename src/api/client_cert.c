#include "api/client_cert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "spec/spec.h"
#include "tls/tls_peer.h"

#define SETTING   "III_TLS_CLIENT_MAP"
#define RULES_MAX 1000
#define OF_CN     "$CN" /* as tenant: the certificate's CN */

struct client_cert_map {
    json_t *rules; /* {name: {role, tenant, operations, quota}}, checked */
};

bool client_cert_is_wanted(const struct settings *s)
{
    return *s->tls_client_map;
}

/* What a rule says, as for a new token. cn NULL: only the rule is checked. */
static int apply_rule(const json_t *rule, const char *cn, struct token_file_token *ret, struct err *err)
{
    struct token_file_wish wish = { .name = "certificate",
                                    .role = json_get_str(rule, "role", NULL),
                                    .tenant = json_get_str(rule, "tenant", NULL),
                                    .operations = json_get(rule, "operations") };
    if (wish.tenant && strcmp(wish.tenant, OF_CN) == 0)
        wish.tenant = cn ? cn : "x";
    if (!wish.tenant && wish.role && strcmp(wish.role, "admin") != 0)
        return err_set(err, ERR_INVALID, 0, "tenant: a %s needs one", wish.role);
    if (!wish.role)
        return err_set(err, ERR_INVALID, 0, "role: it is missing");
    for (size_t i = 0; i < json_array_size(wish.operations); i++) {
        const char *word = json_string_value(json_array_get(wish.operations, i));
        if (!word || spec_check_words(word, err) < 0)
            return err_set(err, ERR_INVALID, 0, "operations: not a list of operations and groups");
    }
    int r = quota_read(json_get(rule, "quota"), &wish.quota, err);
    return r < 0 ? r : token_file_check(&wish, ret, err);
}

static bool is_name(const char *name)
{
    static const char *const kinds[] = { "subject:", "CN:", "URI:", "DNS:", "email:" };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
            return name[strlen(kinds[i])];
    return false;
}

static int check_rule(const char *name, const json_t *rule, struct err *err)
{
    struct token_file_token ignored = { 0 };
    const char *key;
    json_t *value;
    if (!is_name(name))
        return err_set(err, ERR_INVALID, 0, "it does not begin with subject:, CN:, URI:, DNS: or email:");
    if (!json_is_object(rule))
        return err_set(err, ERR_INVALID, 0, "not an object with role and tenant");
    json_object_foreach((json_t *)(uintptr_t)rule, key, value)
    {
        bool is_text = strcmp(key, "role") == 0 || strcmp(key, "tenant") == 0;
        bool is_list = strcmp(key, "operations") == 0;
        if (!is_text && !is_list && strcmp(key, "quota") != 0)
            return err_set(err, ERR_INVALID, 0, "\"%.40s\" is not one of role, tenant, operations, quota", key);
        if ((is_text && !json_is_string(value)) || (is_list && !json_is_array(value)))
            return err_set(err, ERR_INVALID, 0, "%s: not a %s", key, is_text ? "text" : "list");
    }
    return apply_rule(rule, NULL, &ignored, err);
}

int client_cert_map_new(const struct settings *s, struct client_cert_map **ret, struct err *err)
{
    const char *name;
    json_t *rule;
    *ret = NULL;
    if (!client_cert_is_wanted(s))
        return 0;
    if (!*s->tls_client_ca)
        return err_set(err, ERR_INVALID, 0, SETTING " needs --tls-client-ca: who vouches for the certificates");
    CLEANUP(client_cert_map_free_p) struct client_cert_map *m = xzalloc(sizeof(*m));
    int r = json_read(s->tls_client_map, strlen(s->tls_client_map), &m->rules, err);
    if (r < 0)
        return err_wrap(err, r, SETTING);
    if (!json_is_object(m->rules) || json_object_size(m->rules) > RULES_MAX)
        return err_set(err, ERR_INVALID, 0, SETTING ": not an object with up to %d names", RULES_MAX);
    json_object_foreach(m->rules, name, rule)
    {
        r = check_rule(name, rule, err);
        if (r < 0)
            return err_wrap(err, r, SETTING ": %.100s", name);
    }
    *ret = STEAL(m);
    return 0;
}

struct client_cert_map *client_cert_map_free(struct client_cert_map *m)
{
    if (m)
        json_decref(m->rules);
    free(m);
    return NULL;
}

/* How well a rule fits the name: 0 not at all. */
static size_t fit_of(const char *rule, const char *name, size_t len)
{
    size_t n = strlen(rule);
    if (n == len && memcmp(rule, name, len) == 0)
        return SIZE_MAX;
    return rule[n - 1] == '*' && n - 1 <= len && memcmp(rule, name, n - 1) == 0 ? n : 0;
}

static const json_t *find_rule(const struct client_cert_map *m, const char *names)
{
    const json_t *best = NULL;
    const char *rule, *name;
    json_t *value;
    size_t best_fit = 0, len;
    json_object_foreach(m->rules, rule, value)
    {
        const char *at = names;
        while (tls_peer_next(&at, &name, &len)) {
            size_t fit = fit_of(rule, name, len);
            if (fit > best_fit) {
                best_fit = fit;
                best = value;
            }
        }
    }
    return best;
}

/* The value of the name of this kind ("CN:"); caller owns; NULL: it has none. */
static char *value_of(const char *names, const char *kind)
{
    const char *name;
    size_t len, n = strlen(kind);
    while (tls_peer_next(&names, &name, &len))
        if (len > n && memcmp(name, kind, n) == 0)
            return xstrndup(name + n, len - n);
    return NULL;
}

int client_cert_check(const struct client_cert_map *m, const char *cert, int64_t now_ms, struct identity *ret,
                      struct err *err)
{
    const char *names;
    int64_t until;
    struct err why = ERR_INIT;
    memset(ret, 0, sizeof(*ret));
    if (!tls_peer_parse(cert, &until, ret->key, &names) || until <= now_ms)
        return err_set(err, ERR_FORBIDDEN, 0, "the client certificate has expired");
    CLEANUP(free_p) char *subject = value_of(names, "subject:"), *cn = value_of(names, "CN:");
    const json_t *rule = find_rule(m, names);
    if (!rule)
        return err_set(err, ERR_FORBIDDEN, 0,
                       "no name of the client certificate is in " SETTING "; its subject is \"%.200s\"",
                       subject ? subject : "");
    bool is_plain = cn && strcmp(cn, TOKEN_FILE_ALL) != 0; /* a certificate does not make itself see everything */
    if (apply_rule(rule, is_plain ? cn : "", &ret->token, &why) < 0) /* a CN that is not a tenant's name */
        return err_set(err, ERR_FORBIDDEN, 0, "client certificate: %.200s", why.msg);
    size_t len = subject ? strlen(subject) : 0;
    memcpy(ret->subject, subject ? subject : "", len < IDENTITY_SUBJECT_MAX ? len : IDENTITY_SUBJECT_MAX);
    identity_name(cn ? cn : *ret->subject ? ret->subject : "certificate", ret->token.name);
    ret->token.expires = until;
    return 0;
}
