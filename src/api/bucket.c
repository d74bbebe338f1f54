#include "api/bucket.h"

#include <stdlib.h>

#include "base/alloc.h"

#define TOKEN 60000000u /* one token in parts, so that rate per minute x microseconds needs no division */

struct bucket {
    uint64_t last_us;
    uint64_t credit, cap; /* parts */
    uint32_t per_minute;
};

int bucket_new(uint32_t per_minute, uint32_t burst, struct bucket **ret, struct err *err)
{
    if (per_minute == 0 || burst == 0)
        return err_set(err, ERR_INVALID, 0, "rate %u/min, burst %u: both must be at least 1", per_minute, burst);

    struct bucket *b = xzalloc(sizeof(*b));
    b->per_minute = per_minute;
    b->cap = b->credit = (uint64_t)burst * TOKEN;
    *ret = b;
    return 0;
}

struct bucket *bucket_free(struct bucket *b)
{
    free(b);
    return NULL;
}

bool bucket_take(struct bucket *b, uint64_t now_us)
{
    uint64_t idle_us = now_us > b->last_us ? now_us - b->last_us : 0;
    uint64_t room = b->cap - b->credit;

    /* Compare by dividing: idle x rate overflows for a client that slept long enough. */
    b->credit = idle_us > room / b->per_minute ? b->cap : b->credit + idle_us * b->per_minute;
    b->last_us += idle_us;

    if (b->credit < TOKEN)
        return false;
    b->credit -= TOKEN;
    return true;
}

uint64_t bucket_wait_us(const struct bucket *b)
{
    return b->credit >= TOKEN ? 0 : (TOKEN - b->credit + b->per_minute - 1) / b->per_minute;
}

uint64_t bucket_last_us(const struct bucket *b)
{
    return b->last_us;
}
