#include "base/quota.h"

#include <math.h>

#include "base/limits.h"

static const struct {
    const char *name;
    double least, most;
} kinds[QUOTA_KINDS] = {
    [QUOTA_SANDBOXES] = { "sandboxes", 0, LIMIT_MAX(SANDBOXES) },
    [QUOTA_MEMORY_MB] = { "memoryMb", 0, 1e9 },
    [QUOTA_CPUS] = { "cpus", 0, 100000 },
    [QUOTA_VOLUMES] = { "volumes", 0, LIMIT_MAX(VOLUMES) },
    [QUOTA_SNAPSHOTS] = { "snapshots", 0, LIMIT_MAX(SNAPSHOTS) },
    [QUOTA_PORTS] = { "ports", 0, LIMIT_MAX(PORT) + 1 },
    [QUOTA_WEBHOOKS] = { "webhooks", 0, LIMIT_MAX(WEBHOOKS) },
    [QUOTA_DISK_MB] = { "diskMb", 0, 1e9 },
    [QUOTA_REQUESTS_PER_MINUTE] = { "requestsPerMinute", LIMIT_MIN(RATE_PM), LIMIT_MAX(RATE_PM) },
};

const char *quota_name(enum quota_kind k)
{
    return kinds[k].name;
}

static int read_one(const char *name, const json_t *value, struct quota *q, struct err *err)
{
    for (int k = 0; k < QUOTA_KINDS; k++) {
        if (strcmp(kinds[k].name, name) != 0)
            continue;
        double n = json_number_value(value);
        if (!json_is_number(value) || n < kinds[k].least || n > kinds[k].most || (k != QUOTA_CPUS && n != floor(n)))
            return err_set(err, ERR_INVALID, 0, "quota.%s: not a%s number from %.0f to %.0f", name,
                           k == QUOTA_CPUS ? "" : " whole", kinds[k].least, kinds[k].most);
        q->set |= 1u << k;
        q->max[k] = n;
        return 0;
    }
    return err_set(err, ERR_INVALID, 0,
                   "quota.%.40s: unknown; quotas are sandboxes, memoryMb, cpus, volumes, snapshots, ports, webhooks, "
                   "diskMb and requestsPerMinute",
                   name);
}

int quota_read(const json_t *j, struct quota *ret, struct err *err)
{
    struct quota q = { 0 };
    const char *name;
    json_t *value;
    int r = 0;
    if (j && !json_is_null(j) && !json_is_object(j))
        return err_set(err, ERR_INVALID, 0, "quota: not an object of numbers");
    json_object_foreach((json_t *)(uintptr_t)j, name, value)
    {
        if (r == 0 && !json_is_null(value))
            r = read_one(name, value, &q, err);
    }
    if (r == 0)
        *ret = q;
    return r;
}

json_t *quota_json(const struct quota *q)
{
    json_t *j = json_object();
    for (int k = 0; k < QUOTA_KINDS; k++)
        if (q->set & 1u << k)
            (void)json_object_set_new(j, kinds[k].name,
                                      k == QUOTA_CPUS ? json_real(q->max[k]) : json_integer((json_int_t)q->max[k]));
    return j;
}

int quota_check(const struct quota *q, enum quota_kind k, double have, double more, struct err *err)
{
    if (!(q->set & 1u << k) || have + more <= q->max[k])
        return 0;
    return err_set(
        err, ERR_RATE_LIMITED, 0,
        "quota %s exceeded: the limit is %g, %g in use, %g more requested; free some, or ask an admin to raise it",
        kinds[k].name, q->max[k], have, more);
}
