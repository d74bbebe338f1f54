#include "agent/box.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/vm_channel.h"

static void set_hostname(struct agent_reply *r, struct proto_reader *in)
{
    const char *name = proto_get_str(in, PROTO_REQUEST_MAX);
    size_t len = strlen(name);

    if (len < 1 || len > 64) {
        agent_reply_error(r, EINVAL, "host name of %zu bytes (1 to 64)", len);
        return;
    }
    int result = r->agent->vm ? agent_vm_channel_set_name(r->agent->vm, name) : sethostname(name, len) < 0 ? -errno : 0;
    agent_reply_result(r, result, "set host name", name);
}

/* In a container the clock is the host's: the kernel refuses to step it, and there is no need to. Only a restored VM
 * has a stale clock. Small differences are left to the guest's own time synchronization. */
static void step_clock(uint64_t wall_us)
{
    struct timespec now,
        want = { .tv_sec = (time_t)(wall_us / 1000000u), .tv_nsec = (long)(wall_us % 1000000u) * 1000 };

    if (wall_us == 0 || clock_gettime(CLOCK_REALTIME, &now) < 0)
        return;
    time_t apart = want.tv_sec > now.tv_sec ? want.tv_sec - now.tv_sec : now.tv_sec - want.tv_sec;
    if (apart > 1)
        (void)clock_settime(CLOCK_REALTIME, &want);
}

static void entropy_add(struct agent_reply *r, struct proto_reader *in)
{
    uint64_t wall_us = proto_get_u64(in);
    size_t len;
    const uint8_t *seed = proto_get_rest(in, &len);
    int fd = open("/dev/urandom", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (!r->agent->vm)
        step_clock(wall_us);
    else if (wall_us)
        (void)agent_vm_channel_set_clock(r->agent->vm, wall_us); /* a VM has its own clock, and it was paused */
    if (fd < 0) {
        agent_reply_error(r, errno, "open /dev/urandom");
        return;
    }
    ssize_t n = write(fd, seed, len);
    int error = n < 0 ? errno : 0;
    (void)close(fd);
    agent_reply_result(r, -error, "write", "/dev/urandom");
}

static void reply_usage(struct agent_reply *r)
{
    uint8_t frame[PROTO_HEADER + 32];
    struct proto_writer w;
    struct vm_usage used;
    int result = r->agent->vm ? agent_vm_channel_usage(r->agent->vm, &used) : -ENOSYS;

    if (result < 0) {
        agent_reply_error(r, -result, "count what the VM uses");
        return;
    }
    proto_frame_begin(&w, frame, sizeof(frame));
    proto_put_u32(&w, used.pids);
    proto_put_u64(&w, used.memory_bytes);
    proto_put_u64(&w, used.oom_kills);
    agent_reply_frame(r, frame, (size_t)proto_frame_end(&w, r->stream, PROTO_USAGE_REPLY, 0));
}

void agent_box_request(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len)
{
    struct proto_reader in;

    proto_reader_init(&in, data, len);
    if (type == PROTO_USAGE)
        reply_usage(r);
    else if (type == PROTO_HOSTNAME)
        set_hostname(r, &in);
    else
        entropy_add(r, &in);
}
