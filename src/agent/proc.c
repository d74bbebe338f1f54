#include "agent/proc.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/exec.h"
#include "agent/file.h"
#include "agent/service.h"
#include "agent/user_names.h"
#include "os/proc.h"

/* Field numbers of /proc/PID/stat, as in proc(5). */
enum {
    STAT_STATE = 3,
    STAT_PPID = 4,
    STAT_UTIME = 14,
    STAT_STIME = 15,
    STAT_START = 22,
    STAT_VSIZE = 23,
    STAT_RSS = 24
};

struct listing {
    struct agent_reply *reply;
    struct agent_user_names names;
    struct proto_writer frame;
    uint8_t *mem;
    uint64_t total_kb;
    double uptime; /* seconds */
    uint32_t n;
};

static void listing_begin_frame(struct listing *l)
{
    proto_frame_begin(&l->frame, l->mem, PROTO_FRAME_MAX);
    proto_put_u64(&l->frame, l->total_kb);
}

static void send_frame(struct listing *l, uint16_t flags)
{
    int len = proto_frame_end(&l->frame, l->reply->stream, PROTO_PROC_LIST_REPLY, flags);

    assert(len > 0);
    agent_reply_frame(l->reply, l->mem, (size_t)len);
}

/* The arguments joined by spaces; a kernel thread or zombie has none and gets its name in brackets. */
static void read_command(int proc, const char *pid, const char *name, char *command, size_t size)
{
    char path[32];

    (void)snprintf(path, sizeof(path), "%.10s/cmdline", pid);
    int n = agent_file_proc(proc, path, command, size);
    while (n > 0 && command[n - 1] == '\0')
        n--;
    if (n <= 0) {
        (void)snprintf(command, size, "[%s]", name);
        return;
    }
    for (int i = 0; i < n; i++)
        if (command[i] == '\0')
            command[i] = ' ';
    command[n] = '\0';
}

static uint32_t cpu_centi(const struct listing *l, unsigned long long ticks, unsigned long long start_ticks)
{
    double hz = (double)sysconf(_SC_CLK_TCK);
    double lived = l->uptime - (double)start_ticks / hz;
    double percent = lived > 0.01 ? 100.0 * ((double)ticks / hz) / lived : 0;

    return percent > 1e6 ? 100000000u : (uint32_t)(percent * 100.0);
}

static uint64_t stat_number(const char *text, int field)
{
    const char *at = proc_stat_field(text, field);

    return at ? strtoull(at, NULL, 10) : 0;
}

static void listing_add_process(struct listing *l, int proc, const char *pid)
{
    char path[32], text[1024], command[PROTO_COMMAND_MAX];
    struct proto_process p = { .pid = (uint32_t)strtoul(pid, NULL, 10) };
    struct stat st;

    (void)snprintf(path, sizeof(path), "%.10s/stat", pid);
    if (fstatat(proc, pid, &st, 0) < 0 || agent_file_proc(proc, path, text, sizeof(text)) <= 0)
        return;
    char *name = strchr(text, '('), *after = strrchr(text, ')');
    if (!name || !after || after < name)
        return;
    if (!proc_stat_field(text, STAT_RSS))
        return;
    p.state = *proc_stat_field(text, STAT_STATE);
    p.ppid = (uint32_t)stat_number(text, STAT_PPID);
    unsigned long long ticks = stat_number(text, STAT_UTIME) + stat_number(text, STAT_STIME);
    unsigned long long start = stat_number(text, STAT_START);
    p.vsz_kb = stat_number(text, STAT_VSIZE) / 1024;
    p.rss_kb = stat_number(text, STAT_RSS) * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
    *after = '\0';
    read_command(proc, pid, name + 1, command, sizeof(command));
    p.user = agent_user_names_user(&l->names, st.st_uid);
    p.command = command;
    p.cpu_centi = cpu_centi(l, ticks, start);
    proto_put_process(&l->frame, &p);
    l->n++;
    if (!l->frame.is_full)
        return;
    l->frame.is_full = false;
    send_frame(l, PROTO_MORE);
    listing_begin_frame(l);
    proto_put_process(&l->frame, &p);
}

static void proc_list(struct agent_reply *r)
{
    static const char label[] = "MemTotal:"; /* starts the first line of the file */
    char text[512];
    struct listing l = { .reply = r, .mem = malloc(PROTO_FRAME_MAX) };

    if (agent_file_proc(-1, "/proc/meminfo", text, sizeof(text)) > 0 && strncmp(text, label, strlen(label)) == 0)
        l.total_kb = strtoull(text + strlen(label), NULL, 10);
    if (agent_file_proc(-1, "/proc/uptime", text, sizeof(text)) > 0)
        l.uptime = strtod(text, NULL);
    DIR *dir = opendir("/proc");
    if (!dir || !l.mem) {
        agent_reply_error(r, dir ? ENOMEM : errno, "list /proc");
    } else {
        listing_begin_frame(&l);
        for (struct dirent *d; l.n < PROTO_PROC_MAX && (d = readdir(dir));)
            if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
                listing_add_process(&l, dirfd(dir), d->d_name);
        send_frame(&l, 0);
    }
    if (dir)
        (void)closedir(dir);
    free(l.mem);
    agent_user_names_done(&l.names);
}

static void proc_kill(struct agent_reply *r, const uint8_t *data, size_t len)
{
    struct proto_reader in;

    proto_reader_init(&in, data, len);
    uint32_t pid = proto_get_u32(&in), signo = proto_get_u32(&in);
    if (pid <= 1 || pid > INT32_MAX || pid == (uint32_t)getpid())
        agent_reply_error(r, EPERM, "kill process %u: it is the sandbox's agent", pid);
    else if (signo < 1 || signo > 64)
        agent_reply_error(r, EINVAL, "signal %u (1 to 64)", signo);
    else if (kill((pid_t)pid, (int)signo) < 0)
        agent_reply_error(r, errno, "kill process %u", pid);
    else
        agent_reply_done(r);
}

/* --- the end of all --- */

static void reply_synced(struct agent_reply *r, void *arg)
{
    (void)arg;
    sync();
    agent_reply_done(r);
}

void agent_proc_ended(struct agent *a)
{
    struct agent_reply r = { .agent = a, .pipe_fd = -EBADF, .stream = a->end.stream };

    a->end.stream = 0;
    r.conn = r.stream ? agent_conn_by_serial(a, a->end.conn_serial) : NULL;
    if (r.conn && a->vm) /* its kernel ends with us, and has not written everything yet */
        agent_reply_work(&r, reply_synced, NULL);
    else if (r.conn)
        agent_reply_done(&r);
}

static void proc_end(struct agent_reply *r, const uint8_t *data, size_t len)
{
    struct proto_reader in;

    proto_reader_init(&in, data, len);
    uint32_t signo = proto_get_u32(&in);
    if (getpid() != 1 || signo < 1 || signo > 64) { /* other processes of our pid namespace would be the host's */
        agent_reply_error(r, getpid() == 1 ? EINVAL : EPERM, "send signal %u to all processes", signo);
        return;
    }
    agent_service_halt(r->agent);
    agent_proc_ended(r->agent); /* an earlier request is answered now: one waits at a time */
    r->agent->end.conn_serial = agent_conn_serial(r->conn);
    r->agent->end.stream = r->stream;
    (void)kill(-1, (int)signo); /* all but us; ESRCH: there is none */
    (void)kill(-1, SIGCONT);    /* a stopped process would never see the signal */
    agent_exec_reap(r->agent);  /* calls agent_proc_ended() when there was none */
}

void agent_proc_request(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len)
{
    if (type == PROTO_PROC_LIST) {
        proc_list(r);
    } else if (type == PROTO_PROC_KILL) {
        proc_kill(r, data, len);
    } else if (type == PROTO_PROC_END) {
        proc_end(r, data, len);
    } else {
        agent_exec_interrupt(r->agent);
        agent_reply_done(r);
    }
}
