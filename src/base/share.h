/* One bounded table, and how much of it each tenant holds, so that none can use it up. A tenant is who owns a token
 * with limited rights, or what the auth function of a listener says about a worker; "" is the operator, whom only the
 * table's own limit binds. May include: base/.
 *
 * A tenant may hold a quarter of the table, and never more than is left free: however many tenants take all they may,
 * there is room for another. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define SHARE_TENANT_MAX 40
#define SHARE_PARTS      4 /* a tenant may hold one of this many parts of a table */

struct share;

struct share *share_new(size_t table_max);
struct share *share_ref(struct share *s);
struct share *share_free(struct share *s); /* gives back one reference */
/* False: the tenant would hold more than its share, and nothing changed. The operator's is never refused here. */
bool share_take(struct share *s, const char *tenant, size_t n);
void share_add(struct share *s, const char *tenant, size_t n); /* the same without asking */
void share_give(struct share *s, const char *tenant, size_t n);
bool share_has_room(const struct share *s, const char *tenant, size_t n); /* the operator's: room in the table */
size_t share_held(const struct share *s, const char *tenant);
size_t share_max(const struct share *s, const char *tenant); /* what it may hold at most */

/* For tables that take everything and remove the oldest: over the limit of the table, rows go of those who hold more
 * than the level, the operator included. So whoever holds little keeps it, however much others add. */
bool share_is_over(const struct share *s);
size_t share_level(const struct share *s); /* the largest that fits when nobody holds more */
