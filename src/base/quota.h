/* What one tenant may have: a ceiling for each kind of thing. A struct of zeros has no ceiling at all.
 * May include: base/. */
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
    QUOTA_REQUESTS_PER_MINUTE,
    QUOTA_KINDS
};

struct quota {
    unsigned set; /* bit 1 << kind: max[kind] counts */
    double max[QUOTA_KINDS];
};

const char *quota_name(enum quota_kind k); /* "memoryMb" */
/* Reads {"sandboxes": 3, …}. NULL and {} mean no ceiling. -EINVAL names the member and its range. */
int quota_read(const json_t *j, struct quota *ret, struct err *err);
json_t *quota_json(const struct quota *q); /* only what is set; caller owns */
/* 0 when have + more stays within; else -EAGAIN, ERR_RATE_LIMITED (429) with the kind, the limit and what is used. */
int quota_check(const struct quota *q, enum quota_kind k, double have, double more, struct err *err);
