#include "sandbox/lifecycle/idle.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/lifecycle/policy.h"
#include "sandbox/observe/sandbox_usage.h"

#define BARE_PACKET 66    /* bytes of Ethernet, IP and TCP headers with a time stamp: a packet without data */
#define GRACE_MS    60000 /* beyond the longest command, for a sandbox whose command never ends */

struct idle {
    struct manager *manager;
    struct timer *timer;
};

void idle_touch(struct sandbox *s)
{
    s->idle.used_us = clock_mono_us();
}

void idle_command(struct sandbox *s, int64_t longest_ms)
{
    if (s->idle.commands++ == 0 || s->idle.command_ms < longest_ms)
        s->idle.command_ms = longest_ms;
    idle_touch(s);
}

void idle_command_done(struct sandbox *s)
{
    s->idle.commands--;
    idle_touch(s);
}

/* Whether data went over its network or its egress relay since the last scan. */
static bool has_traffic(struct sandbox *s)
{
    struct box_stats st = { 0 };
    if (!s->config.has_network || sandbox_usage_get(s, &st, NULL) < 0)
        return false;
    uint64_t relayed = s->relayed[0] + s->relayed[1];
    uint64_t bytes = st.rx_bytes + st.tx_bytes - relayed, packets = st.rx_packets + st.tx_packets;
    bool has_data = bytes > s->idle.bytes && bytes - s->idle.bytes > (packets - s->idle.packets) * BARE_PACKET;
    bool has_more = has_data || relayed > s->idle.relayed;
    s->idle.relayed = relayed;
    s->idle.bytes = bytes;
    s->idle.packets = packets;
    return has_more;
}

static bool is_idle(struct sandbox *s, int64_t now_us)
{
    int64_t limit_ms = s->config.idle_timeout_s * 1000;
    int64_t longest_ms = s->manager->settings->fn_max_exec_ms;
    if (!(s->config.given & SANDBOX_CONFIG_IDLE_TIMEOUT) || !s->box) /* without a box it is being adopted */
        return false;
    int64_t used_us = s->link ? guest_link_used_ms(s->link) * 1000 : 0;
    if (used_us > s->idle.used_us)
        s->idle.used_us = used_us;
    if (has_traffic(s))
        s->idle.used_us = now_us;
    if (s->idle.commands && s->idle.command_ms > longest_ms)
        longest_ms = s->idle.command_ms;
    if (s->idle.commands || (s->link && guest_link_is_busy(s->link)))
        limit_ms += longest_ms + GRACE_MS;
    return (now_us - s->idle.used_us) / 1000 > limit_ms;
}

static void scan(void *arg)
{
    const struct idle *i = arg;
    int64_t now_us = clock_mono_us();
    for (struct map_iter it = map_iter(i->manager->sandboxes); map_next(&it);) {
        struct sandbox *s = it.value;
        struct err err = ERR_INIT;
        if (!s->is_ending && !is_idle(s, now_us))
            continue;
        if (!s->is_ending && !policy_kills(s->config.on_idle)) {
            if (s->status == SANDBOX_RUNNING)
                policy_sleep(s, s->config.on_idle, "idle");
            continue;
        }
        s->is_ending = true; /* also when it cannot be removed now: the next scan tries again */
        if (manager_kill(i->manager, s, "sandbox.expired", &err) < 0)
            log_event(LOG_ERROR, "sandbox.idle", "id", it.key, "error", err.msg, NULL);
    }
}

struct idle *idle_new(struct manager *m)
{
    struct idle *i = xzalloc(sizeof(*i));
    i->manager = m;
    i->timer = timer_new(m->loop, m->settings->fn_idle_scan_ms, m->settings->fn_idle_scan_ms, scan, i);
    return i;
}

struct idle *idle_free(struct idle *i)
{
    if (i)
        timer_free(i->timer);
    free(i);
    return NULL;
}

void idle_scan_every(struct idle *i, int64_t scan_ms)
{
    timer_set(i->timer, scan_ms, scan_ms);
}
