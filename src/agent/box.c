#include "agent/box.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/vm_channel.h"

void agent_box_set_name(struct agent_reply *r, const uint8_t *data, size_t len)
{
    struct proto_reader in;

    proto_reader_init(&in, data, len);
    const char *name = proto_get_str(&in, PROTO_REQUEST_MAX);
    size_t name_len = strlen(name);
    if (name_len < 1 || name_len > 64) {
        agent_reply_error(r, EINVAL, "host name of %zu bytes (1 to 64)", name_len);
        return;
    }
    int result = r->agent->vm                      ? agent_vm_channel_set_name(r->agent->vm, name)
                 : sethostname(name, name_len) < 0 ? -errno
                                                   : 0;
    agent_reply_result(r, result, "set host name", name);
}

void agent_box_reseed(struct agent_reply *r, const uint8_t *data, size_t len)
{
    struct proto_reader in;
    struct timespec now;

    proto_reader_init(&in, data, len);
    uint64_t wall_us = proto_get_u64(&in);
    const uint8_t *seed = proto_get_rest(&in, &len);
    /* A VM has its own clock, and it was paused. In a container the clock is the host's: the kernel refuses to step it,
     * and there is no need to. Small differences are left to the guest's own time synchronization. */
    if (wall_us && r->agent->vm) {
        (void)agent_vm_channel_set_clock(r->agent->vm, wall_us);
    } else if (wall_us && clock_gettime(CLOCK_REALTIME, &now) == 0) {
        struct timespec want = { .tv_sec = (time_t)(wall_us / 1000000u), .tv_nsec = (long)(wall_us % 1000000u) * 1000 };
        time_t apart = want.tv_sec > now.tv_sec ? want.tv_sec - now.tv_sec : now.tv_sec - want.tv_sec;
        if (apart > 1)
            (void)clock_settime(CLOCK_REALTIME, &want);
    }
    int fd = open("/dev/urandom", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        agent_reply_error(r, errno, "open /dev/urandom");
        return;
    }
    ssize_t n = write(fd, seed, len);
    int error = n < 0 ? errno : 0;
    (void)close(fd);
    agent_reply_result(r, -error, "write", "/dev/urandom");
}

void agent_box_usage(struct agent_reply *r)
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
