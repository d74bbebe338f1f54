#include "api/access.h"

#include <string.h>

#include "sandbox/exec/background.h"
#include "sandbox/exec/queue.h"
#include "sandbox/lifecycle/templates.h"
#include "sandbox/net/networks.h"
#include "sandbox/observe/alerts.h"
#include "sandbox/storage/snapshots.h"
#include "sandbox/storage/volumes.h"

int access_need(const struct caller *who, bool is_write, bool is_admin, const char *what, struct err *err)
{
    if (!who || who->role == TOKEN_FILE_ADMIN)
        return 0;
    if (is_admin)
        return err_set(err, ERR_FORBIDDEN, 0, "%s needs an admin token: the token \"%s\" has the role %s", what,
                       who->name, token_file_role_name(who->role));
    if (is_write && who->role == TOKEN_FILE_READONLY)
        return err_set(err, ERR_FORBIDDEN, 0, "%s changes something: the token \"%s\" is read-only", what, who->name);
    return 0;
}

int access_role(const struct caller *who, const struct op *op, struct err *err)
{
    bool is_watcher = who && who->role == TOKEN_FILE_READONLY && !who->by.view;
    bool is_admin = op->flags & OP_ADMIN && !(op->flags & OP_WATCH && is_watcher);
    return access_need(who, op->flags & OP_MUTATES, is_admin, op->fn, err);
}

const struct tenant_by *access_by(const struct caller *who)
{
    return who ? &who->by : NULL;
}

static const char
    *const words[] = { /* for messages */
                       [REF_SANDBOX] = "sandbox", [REF_SNAPSHOT] = "snapshot", [REF_NETWORK] = "network",
                       [REF_VOLUME] = "volume",   [REF_TEMPLATE] = "template", [REF_TEMPLATE_NAME] = "template",
                       [REF_JOB] = "job",         [REF_EXEC] = "command",      [REF_ALERT] = "alert"
    };

/* The tenant that owns an object; NULL: there is no such object. */
static const char *owner_of(struct manager *m, const struct caller *who, const struct field *f, const char *id)
{
    switch (f->ref) {
    case REF_SANDBOX:
        return manager_owner(m, id);
    case REF_SNAPSHOT:
        return snapshots_owner(m->snapshots, id);
    case REF_NETWORK:
        return networks_owner(m->networks, id);
    case REF_VOLUME:
        return volumes_owner(m->volumes, id);
    case REF_TEMPLATE:
        return templates_owner(m->templates, id);
    case REF_TEMPLATE_NAME:
        return templates_owner_named(m->templates, &who->by, id);
    case REF_JOB:
        return queue_owner(m->queue, id);
    case REF_EXEC:
        return background_owner(m->background, id);
    case REF_ALERT:
        return alerts_owner(m->alerts, id);
    case REF_INNER:
    case REF_FILTER:
    case REF_SHARED:
        return TENANT_SHARED;
    case REF_NONE: /* a path field without a mark: fails closed */
        return f->flags & FIELD_PATH ? NULL : TENANT_SHARED;
    }
    return NULL;
}

int access_ids(struct manager *m, const struct caller *who, const struct op *op, const json_t *params, struct err *err)
{
    if (!who || !who->by.view)
        return 0; /* the handlers find out what does not exist */
    for (const struct field *f = op->fields; f->name; f++) {
        const json_t *value = json_get(params, f->name);
        if (!value || (f->ref == REF_NONE && !(f->flags & FIELD_PATH)))
            continue;
        const char *id = json_is_string(value) ? json_string_value(value) : "";
        if (!tenant_sees(&who->by, owner_of(m, who, f, id))) {
            const char *word = f->ref < sizeof(words) / sizeof(words[0]) ? words[f->ref] : NULL;
            return err_set(err, ERR_NOT_FOUND, 0, "%s not found: %.64s", word ? word : "path", id);
        }
    }
    return 0;
}

struct sandbox *access_sandbox(struct manager *m, const struct caller *who, const char *id, struct err *err)
{
    struct sandbox *s = manager_find(m, id, err);
    if (s && !tenant_sees(access_by(who), s->tenant)) {
        (void)err_set(err, ERR_NOT_FOUND, 0, "sandbox not found: %.64s", id);
        return NULL;
    }
    return s;
}
