#include "api/access.h"

#include <string.h>

#include "sandbox/exec/background.h"
#include "sandbox/exec/queue.h"
#include "sandbox/lifecycle/templates.h"
#include "sandbox/net/networks.h"
#include "sandbox/net/ssh_keys.h"
#include "sandbox/observe/alerts.h"
#include "sandbox/observe/webhooks.h"
#include "sandbox/storage/snapshots.h"
#include "sandbox/storage/volumes.h"

static int need_role(const struct caller *who, bool is_write, bool is_admin, const char *what, struct err *err)
{
    if (who->role == TOKEN_FILE_ADMIN)
        return 0;
    if (is_admin)
        return err_set(err, ERR_FORBIDDEN, 0, "%s needs an admin token: the token \"%s\" has the role %s", what,
                       who->name, token_file_role_name(who->role));
    if (is_write && who->role == TOKEN_FILE_READONLY)
        return err_set(err, ERR_FORBIDDEN, 0, "%s changes something: the token \"%s\" is read-only", what, who->name);
    return 0;
}

int access_need(const struct caller *who, bool is_write, bool is_admin, const char *what, struct err *err)
{
    if (who && (*who->operations || *who->sandbox))
        return err_set(err, ERR_FORBIDDEN, 0, "%s: the token \"%s\" is only for operations of the API", what,
                       who->name);
    return who ? need_role(who, is_write, is_admin, what, err) : 0;
}

int access_need_admin(const struct caller *who, const char *what, struct err *err)
{
    return who ? need_role(who, true, true, what, err) : 0;
}

/* Whether all that the row names is one sandbox or of one, so that access_ids() can bind it to that. */
static bool is_of_a_sandbox(const struct op *op)
{
    bool names_one = false;
    for (const struct field *f = op->fields; f->name; f++)
        switch (f->ref) {
        case REF_SANDBOX:
        case REF_SANDBOX_FILTER:
        case REF_SNAPSHOT:
        case REF_JOB:
        case REF_EXEC:
        case REF_ALERT:
        case REF_WEBHOOK:
            names_one = true;
            break;
        case REF_NONE:
        case REF_INNER:
        case REF_FILTER:
            break;
        case REF_NETWORK:
        case REF_VOLUME:
        case REF_TEMPLATE:
        case REF_TEMPLATE_NAME:
        case REF_SSH_KEY:
        case REF_SHARED:
            return false;
        }
    return (names_one && !(op->flags & OP_SPAWNS)) || op->flags & OP_SANDBOXES;
}

int access_role(const struct caller *who, const struct op *op, struct err *err)
{
    if (!who)
        return 0;
    if (*who->operations && !spec_op_in(op, who->operations))
        return err_set(err, ERR_FORBIDDEN, 0, "%s is not among the operations of the token \"%s\": %.200s", op->fn,
                       who->name, who->operations);
    if (*who->sandbox && !is_of_a_sandbox(op))
        return err_set(err, ERR_FORBIDDEN, 0, "%s is about more than one sandbox: the token \"%s\" is for %s alone",
                       op->fn, who->name, who->sandbox);
    bool is_watcher = who->role == TOKEN_FILE_READONLY && !who->by.view;
    bool is_admin = op->flags & OP_ADMIN && !(op->flags & OP_WATCH && is_watcher);
    return need_role(who, op->flags & OP_MUTATES, is_admin, op->fn, err);
}

const struct tenant_by *access_by(const struct caller *who)
{
    return who ? &who->by : NULL;
}

static const char
    *const words[] = { /* for messages */
                       [REF_SANDBOX] = "sandbox", [REF_SNAPSHOT] = "snapshot",      [REF_NETWORK] = "network",
                       [REF_VOLUME] = "volume",   [REF_TEMPLATE] = "template",      [REF_TEMPLATE_NAME] = "template",
                       [REF_JOB] = "job",         [REF_EXEC] = "command",           [REF_ALERT] = "alert",
                       [REF_WEBHOOK] = "webhook", [REF_SANDBOX_FILTER] = "sandbox", [REF_SSH_KEY] = "SSH key"
    };

/* Who owns an object. tenant NULL: there is no such object. */
struct owner {
    const char *tenant, *sandbox; /* sandbox: which one it is or is of; NULL: of none */
};

static struct owner owner_of(struct manager *m, const struct caller *who, const struct field *f, const char *id)
{
    struct owner o = { NULL, NULL };
    const struct sandbox *s;
    switch (f->ref) {
    case REF_SANDBOX:
        s = manager_find(m, id, NULL);
        return s ? (struct owner){ s->tenant, s->id } : o;
    case REF_SANDBOX_FILTER: /* it may be gone */
        s = manager_find(m, id, NULL);
        return (struct owner){ TENANT_SHARED, s ? s->id : id };
    case REF_SNAPSHOT:
        o.tenant = snapshots_owner(m->snapshots, id, &o.sandbox);
        break;
    case REF_NETWORK:
        o.tenant = networks_owner(m->networks, id);
        break;
    case REF_VOLUME:
        o.tenant = volumes_owner(m->volumes, id);
        break;
    case REF_TEMPLATE:
        o.tenant = templates_owner(m->templates, id);
        break;
    case REF_TEMPLATE_NAME:
        o.tenant = templates_owner_named(m->templates, &who->by, id);
        break;
    case REF_JOB:
        o.tenant = queue_owner(m->queue, id, &o.sandbox);
        break;
    case REF_EXEC:
        o.tenant = background_owner(m->background, id, &o.sandbox);
        break;
    case REF_ALERT:
        o.tenant = alerts_owner(m->alerts, id, &o.sandbox);
        break;
    case REF_WEBHOOK:
        o.tenant = webhooks_owner(m->webhooks, id, &o.sandbox);
        break;
    case REF_SSH_KEY:
        o.tenant = ssh_keys_owner(m->ssh_keys, id);
        break;
    case REF_INNER:
    case REF_FILTER: /* of the sandbox that another field names, or of the caller's list */
        return (struct owner){ TENANT_SHARED, *who->sandbox ? who->sandbox : NULL };
    case REF_SHARED:
        o.tenant = TENANT_SHARED;
        break;
    case REF_NONE: /* a path field without a mark: fails closed */
        o.tenant = f->flags & FIELD_PATH ? NULL : TENANT_SHARED;
        break;
    }
    return o;
}

int access_ids(struct manager *m, const struct caller *who, const struct op *op, json_t *params, struct err *err)
{
    if (!who || (!who->by.view && !who->by.sandbox))
        return 0; /* the handlers find out what does not exist */
    for (const struct field *f = op->fields; f->name; f++) {
        const json_t *value = json_get(params, f->name);
        if (!value && f->ref == REF_SANDBOX_FILTER && who->by.sandbox && !(op->flags & OP_SANDBOXES))
            (void)json_object_set_new(params, f->name, json_string(who->by.sandbox)); /* narrows the list to its own */
        if (!value || (f->ref == REF_NONE && !(f->flags & FIELD_PATH)))
            continue;
        const char *id = json_is_string(value) ? json_string_value(value) : "";
        struct owner o = owner_of(m, who, f, id);
        if (!tenant_sees_of(&who->by, o.tenant, o.sandbox)) {
            const char *word = f->ref < sizeof(words) / sizeof(words[0]) ? words[f->ref] : NULL;
            return err_set(err, ERR_NOT_FOUND, 0, "%s not found: %.64s", word ? word : "path", id);
        }
    }
    return 0;
}

struct sandbox *access_sandbox(struct manager *m, const struct caller *who, const char *id, struct err *err)
{
    struct sandbox *s = manager_find(m, id, err);
    if (s && !tenant_sees_of(access_by(who), s->tenant, s->id)) {
        (void)err_set(err, ERR_NOT_FOUND, 0, "sandbox not found: %.64s", id);
        return NULL;
    }
    return s;
}
