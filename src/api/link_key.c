#include "api/link_key.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ident.h"
#include "base/limits.h"

#define SCOPE     "preview" /* the first links were those of previews */
#define KEY_BYTES 32

struct link_key {
    struct store *store;
    char key[2 * KEY_BYTES + 1]; /* hex */
};

int link_key_rotate(struct link_key *k, struct err *err)
{
    unsigned char raw[KEY_BYTES];
    char made[sizeof(k->key)];
    ident_random(raw, sizeof(raw));
    ident_hex(raw, sizeof(raw), made);
    JSON_OWNED doc = json_string(made);
    int r = store_put(k->store, SCOPE, "key", doc, err);
    if (r == 0 || !*k->key) /* the first one is used even if it cannot be kept: links then end with this server */
        memcpy(k->key, made, sizeof(k->key));
    return r;
}

struct link_key *link_key_new(struct store *store)
{
    struct link_key *k = xzalloc(sizeof(*k));
    JSON_OWNED doc = NULL;
    k->store = store;
    if (store_get(store, SCOPE, "key", &doc, NULL) == 0 && json_string_length(doc) == 2 * KEY_BYTES)
        memcpy(k->key, json_string_value(doc), sizeof(k->key));
    else
        (void)link_key_rotate(k, NULL);
    return k;
}

struct link_key *link_key_free(struct link_key *k)
{
    free(k);
    return NULL;
}

void link_key_sign(const struct link_key *k, const char *text, size_t len, char ret[DIGEST_HEX])
{
    digest_hmac(k->key, strlen(k->key), text, len, ret);
}

bool link_key_signed(const struct link_key *k, const char *text, size_t len, const char *mac)
{
    char right[DIGEST_HEX];
    link_key_sign(k, text, len, right);
    return strlen(mac) == DIGEST_HEX - 1 && digest_same_secret(right, mac, DIGEST_HEX - 1);
}

void link_key_keep(json_t *links, const char *nonce, int64_t expiry_s)
{
    const char *old;
    json_t *expiry;
    void *next;
    json_object_foreach_safe(links, next, old, expiry)
    {
        if (json_object_size(links) >= LIMIT_MAX(ONCE_LINKS) || json_integer_value(expiry) <= clock_wall_ms() / 1000)
            (void)json_object_del(links, old);
    }
    (void)json_object_set_new(links, nonce, json_integer(expiry_s));
}

bool link_key_spend(struct sandbox *s, json_t *links, const char *nonce)
{
    return json_object_get(links, nonce) && json_object_del(links, nonce) == 0 && sandbox_save(s, NULL) == 0;
}
