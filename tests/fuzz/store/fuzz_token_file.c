/* The file of API tokens and the secrets that clients show: a file is read whole or refused, what was read is within
 * its limits and written and read again says the same; a secret is of our form or not, and never found by half. */
#include "../feed.h"

#include <stdio.h>

#include "store/token_file.h"

static void check_row(const struct token_file_token *t)
{
    MUST(ident_is("tok", t->id) && t->role < TOKEN_FILE_ROLES);
    MUST(strlen(t->name) <= TOKEN_FILE_NAME_MAX && strlen(t->tenant) <= TOKEN_FILE_TENANT_MAX);
    MUST(t->role == TOKEN_FILE_ADMIN ? !*t->sandbox : *t->tenant || *t->sandbox);
    MUST(!*t->sandbox || ident_is("sbx", t->sandbox));
    MUST(memchr(t->operations, '\0', sizeof(t->operations)));
    for (int k = 0; k < QUOTA_KINDS; k++)
        MUST(!(t->quota.set & 1u << k) || t->quota.max[k] >= 0);
    JSON_OWNED shown = token_file_json(t);
    JSON_OWNED quota = quota_json(&t->quota);
    struct quota again;
    MUST(shown && !json_get(shown, "hash") && quota_read(quota, &again, NULL) == 0 && again.set == t->quota.set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct token_file f = TOKEN_FILE_INIT;
    struct err err = ERR_INIT;
    if (size > 65536)
        return 0;
    char *text = malloc(size + 1);
    MUST(text);
    memcpy(text, data, size);
    text[size] = '\0';
    if (token_file_parse(text, size, &f, &err) == 0) {
        MUST(f.n <= TOKEN_FILE_MAX);
        for (size_t i = 0; i < f.n; i++)
            check_row(&f.rows[i]);
        for (size_t i = 0; i < f.n; i++)
            MUST(token_file_find(&f, f.rows[i].id, &err));
    } else {
        MUST(err.code == ERR_INVALID);
    }
    if (token_file_is_secret(text))
        MUST(strlen(text) == TOKEN_FILE_SECRET_MAX - 4 && strncmp(text, "iii_", 4) == 0);
    token_file_done(&f);
    free(text);
    return 0;
}
