#include "runtime/native/cpu_priority.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define BUSY_LOOK_US 150000
#define IDLE_LOOK_US 500000 /* reads one small file */
#define COST_FACTOR  40     /* sampling takes at most 1/40 of the time, however many boxes there are */
/* Thousandths of a CPU: */
#define IDLE_MILLI  50  /* all boxes together: below it no box needs to be sampled */
#define HEAVY_MILLI 150 /* a box below it never disturbs others */
#define ALONE_MILLI 850
#define QUIET_MILLI 100 /* below it for QUIET_US, a box is light again */
#define LIGHT_PART  40  /* percent of the CPU time available to boxes, for all light ones together */
#define REST_PART   15  /* percent for all but the biggest: below it that one is effectively alone */
/* On a host that is busy itself both bounds are smaller, as a fraction of what is available: there all boxes use
 * little. */
#define HEAVY_PARTS 10
#define HEAVY_LOW   50
#define QUIET_PARTS 20
#define QUIET_LOW   20
#define QUIET_US    1000000
#define HOST_PART   60 /* percent of all CPU time: a host that uses more itself gets no precedence */

static bool is_looked_at(const struct native_box *c)
{
    return c->state == NATIVE_BOX_RUNNING && c->has_cgroup && !c->is_paused;
}

int native_cpu_priority_wait_ms(struct cpu_priority *y, const struct native_box *box_list)
{
    while (box_list && !is_looked_at(box_list))
        box_list = box_list->next;
    if (!box_list) {
        y->next_us = 0;
        return -1;
    }
    int64_t now = clock_mono_us();
    if (y->next_us == 0)
        y->next_us = now + BUSY_LOOK_US;
    return y->next_us <= now ? 0 : (int)((y->next_us - now + 999) / 1000);
}

static unsigned milli_of(uint64_t used_us, int64_t span_us)
{
    return span_us > 0 ? (unsigned)(used_us * 1000 / (uint64_t)span_us) : 0;
}

/* The usual bound, or on a busy host a fraction of the time available to boxes, but not less than low. */
static unsigned bound_of(unsigned usual, unsigned part, unsigned low)
{
    unsigned b = part < usual ? part : usual;
    return b > low ? b : low;
}

/* CPU use since the last sample, in thousandths of a CPU. */
static unsigned box_measure(struct native_box *c, int64_t now)
{
    struct native_box_share *s = &c->share;
    uint64_t used = cgroup_cpu_used_us(&c->cgroup);
    unsigned last = 0;
    if (s->looked_us == 0) { /* new or adopted: an earlier launcher may have left it heavy */
        s->is_heavy = cgroup_is_yielding(&c->cgroup);
        s->quiet_since_us = now;
    } else {
        last = milli_of(used > s->used_us ? used - s->used_us : 0, now - s->looked_us);
        s->milli = (s->milli + last) / 2;
    }
    s->used_us = used;
    s->looked_us = now;
    return last;
}

static bool is_light(const struct native_box *c)
{
    return is_looked_at(c) && !c->share.is_heavy;
}

/* The light boxes use too much of the time available to boxes: the biggest become heavy, with those of about the
 * same size, so that equal ones are treated alike. When the other light ones use little, the biggest stays light as
 * long as it sometimes rests: it disturbs nobody. */
static void make_room(struct native_box *box_list, unsigned available)
{
    for (;;) {
        unsigned all = 0, biggest = 0; /* use of all light boxes together, and of the biggest */
        for (const struct native_box *c = box_list; c; c = c->next) {
            unsigned milli = is_light(c) ? c->share.milli : 0;
            all += milli;
            biggest = milli > biggest ? milli : biggest;
        }
        bool is_alone = (all - biggest) * 100 < available * REST_PART;
        unsigned least = is_alone ? ALONE_MILLI : bound_of(HEAVY_MILLI, available / HEAVY_PARTS, HEAVY_LOW);
        if (biggest < least || all <= available * LIGHT_PART / 100)
            return;
        for (struct native_box *c = box_list; c; c = c->next) {
            if (!is_light(c) || c->share.milli * 4 < biggest * 3)
                continue;
            c->share.quiet_since_us = c->share.looked_us;
            c->share.is_heavy = cgroup_yield(&c->cgroup, true) == 0;
            if (!c->share.is_heavy)
                c->share.milli = 0; /* it has just ended, or this kernel cannot: skip it for now */
        }
    }
}

/* Idle time of the whole host: the fourth and fifth number of "cpu user nice system idle iowait". */
static uint64_t host_idle_us(void)
{
    char text[256];
    uint64_t ticks = 0;
    CLEANUP(close_fd_p) int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n < 4)
        return 0;
    text[n] = '\0';
    char *at = text + 3;
    for (int i = 1; i <= 5; i++) {
        uint64_t value = strtoull(at, &at, 10);
        ticks += i >= 4 ? value : 0;
    }
    return ticks * (1000000u / (unsigned)sysconf(_SC_CLK_TCK));
}

static bool has_heavy(const struct native_box *box_list)
{
    while (box_list && !(is_looked_at(box_list) && box_list->share.is_heavy))
        box_list = box_list->next;
    return box_list != NULL;
}

static unsigned host_capacity(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n * 1000 : 1000;
}

/* others: CPU use of the host besides the boxes. Written at each sample, because other servers share the parent
 * group. */
static void host_precede(struct cpu_priority *y, const struct native_box_site *site, const struct native_box *box_list,
                         unsigned others)
{
    unsigned capacity = host_capacity();
    bool is_host_first = has_heavy(box_list) && others * 100 < capacity * HOST_PART;
    if (is_host_first || y->is_host_first)
        cgroup_host_yield(&site->cgroups, is_host_first);
    y->is_host_first = is_host_first;
}

bool native_cpu_priority_step(struct cpu_priority *y, const struct native_box_site *site, struct native_box *box_list)
{
    int64_t now = clock_mono_us(), span = now - y->looked_us;
    if (y->next_us == 0 || now < y->next_us)
        return false;
    uint64_t all = cgroup_host_cpu_used_us(&site->cgroups), idle = host_idle_us();
    bool is_first = y->looked_us == 0;
    unsigned boxes = is_first ? 0 : milli_of(all - y->all_us, span);
    bool is_quiet = !is_first && boxes < IDLE_MILLI;
    unsigned available = is_first || idle < y->idle_us ? 0 : milli_of(idle - y->idle_us, span);
    unsigned mine = boxes + available, capacity = host_capacity();
    y->all_us = all;
    y->idle_us = idle;
    y->looked_us = now;
    unsigned others = mine < capacity ? capacity - mine : 0;
    if (is_quiet && !has_heavy(box_list)) {
        host_precede(y, site, box_list, others);
        y->next_us = now + IDLE_LOOK_US;
        return true;
    }
    for (struct native_box *c = box_list; c; c = c->next)
        if (is_looked_at(c))
            available += box_measure(c, now);
    unsigned quiet = bound_of(QUIET_MILLI, available / QUIET_PARTS, QUIET_LOW);
    for (struct native_box *c = box_list; c; c = c->next) {
        struct native_box_share *s = &c->share;
        if (!is_looked_at(c) || !s->is_heavy)
            continue;
        if (s->milli >= quiet)
            s->quiet_since_us = s->looked_us;
        if (s->looked_us - s->quiet_since_us >= QUIET_US)
            s->is_heavy = cgroup_yield(&c->cgroup, false) < 0; /* on failure tried again at the next sample */
    }
    make_room(box_list, available);
    host_precede(y, site, box_list, others);
    int64_t cost = (clock_mono_us() - now) * COST_FACTOR;
    y->next_us = now + (cost > BUSY_LOOK_US ? cost : BUSY_LOOK_US);
    return true;
}
