/* Who sees what, what a tenant has, and its ceilings. */
#include <errno.h>

#include "base/alloc.h"
#include "base/map.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/lifecycle/tenant.h"
#include "tap.h"

static struct settings settings;
static struct manager m;

static void start(void)
{
    settings_init(&settings);
    m = (struct manager){
        .settings = &settings, .worker_id = (char *)(uintptr_t) "w", .tenants = tenant_set_new(), .sandboxes = map_new()
    };
}

static void stop(void)
{
    for (struct map_iter it = map_iter(m.sandboxes); map_next(&it);)
        sandbox_unref(it.value);
    map_free(m.sandboxes);
    tenant_set_free(m.tenants);
    settings_done(&settings);
}

static struct sandbox *make(const char *id, const char *tenant, int memory, double cpu)
{
    struct sandbox *s = sandbox_new(&m, id);
    free(s->tenant);
    s->tenant = xstrdup(tenant);
    s->config.memory_mb = memory;
    s->config.cpu = cpu;
    return s;
}

TEST(a_view_is_of_one_tenant_and_of_what_is_shared)
{
    const struct tenant_by bound = { .tenant = "a", .view = "a" }, free_one = { .tenant = "a" };
    CHECK(tenant_sees(&bound, "a") && tenant_sees(&bound, TENANT_SHARED));
    CHECK(!tenant_sees(&bound, "b") && !tenant_sees(&bound, "") && !tenant_sees(&bound, NULL));
    CHECK(tenant_sees(&free_one, "b") && tenant_sees(NULL, "b") && !tenant_sees(NULL, NULL));
    CHECK_STR(tenant_of(&bound), "a");
    CHECK_STR(tenant_of(NULL), "");
    JSON_OWNED record = json_object();
    CHECK(tenant_sees_record(&free_one, record) && !tenant_sees_record(&bound, record)); /* nobody's */
    tenant_mark(NULL, record);
    tenant_mark(&(struct tenant_by){ .tenant = "" }, record);
    CHECK(!json_get(record, "tenant"));
    tenant_mark(&bound, record);
    CHECK_STR(json_get_str(record, "tenant", ""), "a");
    CHECK(tenant_sees_record(&bound, record));
}

TEST(use_is_what_runs_and_what_is_being_made)
{
    start();
    struct sandbox *s = make("sbx_1", "a", 100, 0.5), *other = make("sbx_2", "b", 7, 1);
    struct sandbox *coming = make("sbx_3", "a", 30, 2), *nobodys = make("sbx_4", "", 1, 1);
    map_set(m.sandboxes, "sbx_1", s);
    map_set(m.sandboxes, "sbx_2", other);
    tenant_making(&m, coming, 1);
    tenant_making(&m, nobodys, 1);
    CHECK(tenant_usage(&m, "a", QUOTA_SANDBOXES) == 2 && tenant_usage(&m, "b", QUOTA_SANDBOXES) == 1);
    CHECK(tenant_usage(&m, "a", QUOTA_MEMORY_MB) == 130 && tenant_usage(&m, "a", QUOTA_CPUS) == 2.5);
    CHECK(tenant_usage(&m, "", QUOTA_SANDBOXES) == 0 && tenant_usage(&m, "a", QUOTA_PORTS) == 0);
    tenant_making(&m, coming, -1);
    CHECK(tenant_usage(&m, "a", QUOTA_SANDBOXES) == 1 && tenant_usage(&m, "a", QUOTA_MEMORY_MB) == 100);
    CHECK(tenant_usage(&m, "a", QUOTA_CPUS) == 0.5);
    sandbox_unref(coming);
    sandbox_unref(nobodys);
    stop();
}

TEST(events_count_for_the_tenant_alone)
{
    start();
    tenant_count(&m, "a", TENANT_CREATED);
    tenant_count(&m, "a", TENANT_CREATED);
    tenant_count(&m, "a", TENANT_KILLED);
    tenant_count(&m, "", TENANT_CREATED);
    CHECK_INT(tenant_counted(&m, "a", TENANT_CREATED), 2);
    CHECK_INT(tenant_counted(&m, "a", TENANT_KILLED), 1);
    CHECK_INT(tenant_counted(&m, "a", TENANT_EXPIRED), 0);
    CHECK_INT(tenant_counted(&m, "b", TENANT_CREATED), 0);
    CHECK_INT(tenant_counted(&m, "", TENANT_CREATED), 0);
    stop();
}

TEST(a_ceiling_is_reached_and_not_passed)
{
    start();
    struct err err = ERR_INIT;
    struct sandbox *s = make("sbx_1", "a", 100, 1), *next = make("sbx_2", "a", 50, 1);
    map_set(m.sandboxes, "sbx_1", s);
    struct tenant_by by = { .tenant = "a", .view = "a" };
    CHECK_INT(tenant_check_sandbox(&m, &by, next, &err), 0); /* no ceiling */
    CHECK_INT(tenant_check_sandbox(&m, NULL, next, &err), 0);
    by.quota.set = 1u << QUOTA_MEMORY_MB;
    by.quota.max[QUOTA_MEMORY_MB] = 150;
    CHECK_INT(tenant_check_sandbox(&m, &by, next, &err), 0);
    by.quota.max[QUOTA_MEMORY_MB] = 149;
    CHECK_INT(tenant_check_sandbox(&m, &by, next, &err), -EAGAIN);
    CHECK(err.code == ERR_RATE_LIMITED && strstr(err.msg, "memoryMb"));
    by.quota = (struct quota){ .set = 1u << QUOTA_CPUS, .max = { [QUOTA_CPUS] = 1.5 } };
    CHECK_INT(tenant_check_sandbox(&m, &by, next, &err), -EAGAIN);
    by.quota = (struct quota){ .set = 1u << QUOTA_SANDBOXES, .max = { [QUOTA_SANDBOXES] = 1 } };
    CHECK_INT(tenant_check_sandbox(&m, &by, next, &err), -EAGAIN);
    CHECK_INT(tenant_check(&m, &by, QUOTA_SANDBOXES, 0, &err), 0);
    sandbox_unref(next);
    stop();
}

int main(void)
{
    RUN(a_view_is_of_one_tenant_and_of_what_is_shared);
    RUN(use_is_what_runs_and_what_is_being_made);
    RUN(events_count_for_the_tenant_alone);
    RUN(a_ceiling_is_reached_and_not_passed);
    return tap_done();
}
