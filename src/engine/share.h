/* One bounded table, and how much of it each tenant holds, so that none can use it up. A tenant is a token with limited
 * rights, or what the auth function of a listener says about a worker (session_tenant()); "" is the operator, whom only
 * the table's own limit binds. Private to engine/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define SHARE_TENANT_MAX 40
#define SHARE_PARTS      4 /* a tenant may hold one of this many parts of a table */

struct share;

struct share *share_new(size_t table_max);
struct share *share_free(struct share *s);
/* False: the tenant would hold more than its share, and nothing changed. */
bool share_take(struct share *s, const char *tenant, size_t n);
void share_give(struct share *s, const char *tenant, size_t n);
