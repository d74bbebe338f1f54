#include "runtime/native/wire.h"

#include <errno.h>

#include "os/filter.h"

static bool is_ended(const char *s, size_t size)
{
    return memchr(s, '\0', size) != NULL;
}

bool wire_is_name(const char *s)
{
    size_t n = strspn(s, "0123456789abcdef");
    return n == WIRE_NAME_MAX - 4 && s[n] == '\0';
}

bool wire_is_id(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    return n > 0 && n < IDENT_MAX && s[n] == '\0';
}

static int field_error(struct err *err, const char *what)
{
    return err_set(err, ERR_INTERNAL, EBADMSG, "launcher request: bad %s", what);
}

int wire_request_check(const struct wire_request *q, size_t len, struct err *err)
{
    if (len < sizeof(*q) || q->version != WIRE_VERSION)
        return field_error(err, "size or version");
    if (q->op <= WIRE_OVERUSE || q->op >= WIRE_OPS)
        return field_error(err, "operation");
    if (q->extra_len > WIRE_EXTRA_MAX || len != sizeof(*q) + q->extra_len)
        return field_error(err, "length");
    if (!is_ended(q->name, sizeof(q->name)) || !is_ended(q->id, sizeof(q->id)) ||
        !is_ended(q->hostname, sizeof(q->hostname)) || !is_ended(q->workdir, sizeof(q->workdir)) ||
        !is_ended(q->object, sizeof(q->object)))
        return field_error(err, "text");
    bool is_new = q->op == WIRE_CREATE, is_sweep = q->op == WIRE_SWEEP;
    bool has_name = is_new ? q->is_kept : q->op < WIRE_VOLUME_REMOVE;
    if (has_name ? !wire_is_name(q->name) : q->name[0] != '\0')
        return field_error(err, "name");
    bool has_id = is_new || q->op == WIRE_ADOPT || q->op == WIRE_HALT;
    if ((has_id || q->id[0]) && !wire_is_id(q->id))
        return field_error(err, "sandbox id");
    if (q->is_kept && !is_new && !is_sweep)
        return field_error(err, "request for kept files");
    if (is_new && (q->workdir[0] != '/' || q->hostname[0] == '\0' || strchr(q->hostname, '\n')))
        return field_error(err, "hostname or working folder");
    /* Volumes and networks. The daemon chooses where in the box a volume is mounted; opening the mount point ensures
     * that it stays in the box. */
    bool is_mount = q->op == WIRE_MOUNT || q->op == WIRE_UNMOUNT;
    bool is_veth = q->op == WIRE_NET_JOIN || q->op == WIRE_NET_LEAVE;
    bool has_object = is_mount || is_veth || (q->op >= WIRE_VOLUME_REMOVE && q->op <= WIRE_NET_REMOVE);
    if (has_object ? !wire_is_id(q->object) : q->object[0] != '\0')
        return field_error(err, "volume or network");
    if (is_mount && (q->workdir[0] != '/' || q->workdir[strspn(q->workdir, "/")] == '\0'))
        return field_error(err, "place to mount on"); /* the root itself: the box would lose its files */
    if (is_veth && (q->address == 0 || q->prefix < 8 || q->prefix > 30 || q->subnet >= WIRE_SUBNETS))
        return field_error(err, "address");
    if (q->net_kbps && q->op != WIRE_NET_JOIN)
        return field_error(err, "network rate");
    bool is_disk = is_new || q->op == WIRE_GROW;
    if ((!is_disk && ((q->disk_mb && q->op != WIRE_MOUNT) || q->inodes)) || (!is_new && (q->nofile || q->shm_mb)))
        return field_error(err, "limit");
    if (q->disk_mb > WIRE_DISK_MB || (q->disk_mb && q->disk_mb < LIMIT_MIN(DISK_MB)))
        return field_error(err, "size of a disk");
    if (is_disk && (q->inodes > WIRE_INODES || (q->disk_mb == 0) != (q->inodes == 0) || (!is_new && !q->disk_mb)))
        return field_error(err, "disk");
    if (is_new && (q->nofile == 0 || q->nofile > WIRE_NOFILE || q->shm_mb == 0 || q->shm_mb > WIRE_SHM_MB))
        return field_error(err, "number of descriptors or size of shared memory");
    if (q->seccomp >= (is_new ? FILTER_PROFILES : 1))
        return field_error(err, "system call filter");
    if (q->op == WIRE_ADOPT && q->pid <= 1)
        return field_error(err, "pid");
    if (q->extra_len && !is_new && !is_sweep && q->op != WIRE_PROMOTE)
        return field_error(err, "length");
    if (q->extra_len && ((const char *)(q + 1))[q->extra_len - 1] != '\0')
        return field_error(err, "end of the list");
    return 0;
}

int wire_reply_check(const struct wire_reply *p, size_t len, struct err *err)
{
    if (len != sizeof(*p) || p->version != WIRE_VERSION || p->op >= WIRE_OPS)
        return err_set(err, ERR_INTERNAL, EBADMSG, "launcher reply of the wrong size or version");
    if (!is_ended(p->text, sizeof(p->text)) || !is_ended(p->name, sizeof(p->name)) ||
        !is_ended(p->cgroup, sizeof(p->cgroup)) || !is_ended(p->folder, sizeof(p->folder)) || p->code >= ERR_COUNT)
        return err_set(err, ERR_INTERNAL, EBADMSG, "launcher reply with bad text");
    return 0;
}
