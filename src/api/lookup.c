#include "api/lookup.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/ident.h"
#include "base/map.h"
#include "http/url.h"
#include "sandbox/lifecycle/templates.h"
#include "sandbox/net/networks.h"
#include "sandbox/storage/snapshots.h"
#include "sandbox/storage/volumes.h"

enum { SHOWN_MAX = 5, DIGITS_MAX = 32 };

/* What was found; the first few for the message. */
struct found {
    size_t n;
    char ids[SHOWN_MAX][IDENT_MAX];
};
struct search {
    const char *given;
    const struct tenant_by *by;
    struct found named, begun;
};

static void found_add(struct found *f, const char *id)
{
    if (f->n < SHOWN_MAX)
        (void)snprintf(f->ids[f->n], IDENT_MAX, "%s", id);
    f->n++;
}

/* Whether given is the beginning of the id, with or without its prefix ("sbx_"), or of its UUID. Hyphens are those of a
 * UUID; digits are all of the object's, which may be more than its id shows. */
static bool is_beginning(const char *given, const char *id, const char *digits)
{
    size_t prefix = strcspn(id, "_") + 1, n = 0;
    if (strncmp(given, id, prefix) == 0)
        given += prefix;
    for (; *given; given++) {
        if (*given == '-' && n)
            continue;
        while (*digits == '-')
            digits++;
        if (!isxdigit((unsigned char)*given) || tolower((unsigned char)*given) != *digits++)
            return false;
        n++;
    }
    return n >= LOOKUP_DIGITS_MIN;
}

static void search_see(struct search *s, const char *id, const char *digits, const char *name, const char *owner)
{
    if (strcmp(name, s->given) == 0 && strcmp(owner, tenant_of(s->by)) == 0)
        found_add(&s->named, id);
    else if (is_beginning(s->given, id, digits))
        found_add(&s->begun, id);
}

static void search_sandboxes(struct search *s, struct manager *m)
{
    for (struct map_iter it = map_iter(m->sandboxes); map_next(&it);) {
        const struct sandbox *box = it.value;
        if (tenant_sees_of(s->by, box->tenant, box->id))
            search_see(s, box->id, box->uuid, box->name, box->tenant);
    }
}

/* Records as their list shows them, to the caller. */
static void search_records(struct search *s, json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *record = json_array_get(list, i);
        const char *id = json_get_str(record, "id", ""), *line = strchr(id, '_');
        search_see(s, id, line ? line + 1 : "", json_get_str(record, "name", ""), json_get_str(record, "tenant", ""));
    }
    json_decref(list);
}

/* The kind's name for messages; NULL: its ids are looked up nowhere else, or given is one. */
static const char *search_run(struct search *s, struct manager *m, enum field_ref ref)
{
    switch (ref) {
    case REF_SANDBOX:
    case REF_SANDBOX_FILTER:
        if (manager_owner(m, s->given))
            return NULL;
        search_sandboxes(s, m);
        return "sandbox";
    case REF_SNAPSHOT:
        if (snapshots_owner(m->snapshots, s->given, NULL))
            return NULL;
        search_records(s, snapshots_list(m->snapshots, s->by, NULL));
        return "snapshot";
    case REF_VOLUME:
        if (volumes_owner(m->volumes, s->given))
            return NULL;
        search_records(s, volumes_list(m->volumes, s->by));
        return "volume";
    case REF_NETWORK:
        if (networks_owner(m->networks, s->given))
            return NULL;
        search_records(s, networks_list(m->networks, s->by));
        return "network";
    case REF_TEMPLATE:
        if (templates_owner(m->templates, s->given))
            return NULL;
        search_records(s, templates_list(m->templates, s->by));
        return "template";
    case REF_NONE:
    case REF_TEMPLATE_NAME: /* finds names itself */
    case REF_JOB:
    case REF_EXEC:
    case REF_ALERT:
    case REF_WEBHOOK:
    case REF_SSH_KEY:
    case REF_INNER:
    case REF_FILTER:
    case REF_SHARED:
        break;
    }
    return NULL;
}

static int say_unclear(const struct op *op, const char *kind, const struct search *s, struct err *err)
{
    const struct found *f = s->named.n ? &s->named : &s->begun;
    char list[SHOWN_MAX * (IDENT_MAX + 2) + 1] = "";
    for (size_t i = 0, len = 0; i < f->n && i < SHOWN_MAX; i++)
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "", f->ids[i]);
    return err_set(err, op->flags & OP_FUNCTION ? ERR_INVALID : ERR_CONFLICT, 0, "%s \"%.64s\" is ambiguous: %s%s; %s",
                   kind, s->given, list, f->n > SHOWN_MAX ? ", …" : "",
                   s->named.n ? "several have this name, give an id" : "give more digits");
}

int lookup_ids(struct manager *m, const struct caller *who, const struct op *op, json_t *params, struct err *err)
{
    for (const struct field *f = op->fields; who && f->name; f++) {
        const json_t *value = f->ref == REF_NONE ? NULL : json_object_get(params, f->name);
        const char *given = json_is_string(value) ? json_string_value(value) : "";
        CLEANUP(buf_done) struct buf plain = BUF_INIT(LIMIT_MAX(NAME_BYTES));
        if (!*given || strlen(given) != json_string_length(value))
            continue;
        /* A part of a path comes as it was written; a name may need escapes there, an id does not. */
        bool is_escaped = f->flags & FIELD_PATH && strchr(given, '%') &&
                          url_decode(given, strlen(given), &plain) == 0 && !memchr(plain.data, '\0', plain.len);
        struct search s = { .given = is_escaped ? buf_text(&plain) : given, .by = &who->by };
        const char *kind = search_run(&s, m, f->ref);
        const struct found *best = s.named.n ? &s.named : &s.begun;
        if (!kind || best->n == 0)
            continue;
        if (best->n > 1)
            return say_unclear(op, kind, &s, err);
        (void)json_object_set_new(params, f->name, json_string(best->ids[0]));
    }
    return 0;
}
