/* Limits of one tenant: a maximum for each kind of resource. A struct of zeros has no limits. May include: base/. */
#pragma once
#include "base/err.h"
#include "base/json.h"

enum quota_kind {
    QUOTA_SANDBOXES,
    QUOTA_MEMORY_MB, /* of all its sandboxes together */
    QUOTA_CPUS,
    QUOTA_VOLUMES,
    QUOTA_SNAPSHOTS,
    QUOTA_PORTS,
    QUOTA_WEBHOOKS,
    QUOTA_DISK_MB, /* sandboxes, volumes and snapshots, as last counted */
    QUOTA_REQUESTS_PER_MINUTE,
    QUOTA_KINDS
};

struct quota {
    unsigned set; /* bit 1 << kind: max[kind] applies */
    double max[QUOTA_KINDS];
};

const char *quota_name(enum quota_kind k); /* "memoryMb" */
/* Reads {"sandboxes": 3, …}. NULL and {} mean no limit. -EINVAL names the member and its range. */
int quota_read(const json_t *j, struct quota *ret, struct err *err);
json_t *quota_json(const struct quota *q); /* only what is set; caller owns */
/* 0 when have + more is within the limit; otherwise -EAGAIN, ERR_RATE_LIMITED (429) with the kind, the limit and the
 * current use. */
int quota_check(const struct quota *q, enum quota_kind k, double have, double more, struct err *err);
