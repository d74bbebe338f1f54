/* The stages, and why in this order:
 *  1. folders, control groups: need root, read no untrusted data;
 *  2. the keeper: forked before any untrusted byte was read, with a fixed list of jobs;
 *  3. the data folder is handed over (ownership.c): needs root, comes last because it names the user;
 *  4. landlock while paths can still be opened, then identity and capabilities, then the system call filter, which
 *     forbids the calls that the other two need. */
#include "main/privilege/privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "image/docker_credentials.h"
#include "image/image.h"
#include "main/backends.h"
#include "main/privilege/ownership.h"
#include "main/privilege/run_as.h"
#include "main/tls_ports.h"
#include "os/confine.h"
#include "runtime/native/native.h"

/* What image_limits_load(), the client of registries and docker_credentials.c read. */
#define IMAGES_KEPT                                                                                             \
    KEEPER_KEPT, "III_IMAGE_*", "III_DISK_RESERVE_MB", "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", \
        "ALL_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_*", "CURL_CA_BUNDLE", "DOCKER_CONFIG", "HOME"
/* What programs behind `docker login` read, where the operator uses one. */
#define CREDENTIALS_KEPT \
    "AWS_*", "AZURE_*", "CLOUDSDK_*", "GOOGLE_*", "XDG_*", "DBUS_SESSION_BUS_ADDRESS", "GNUPGHOME", "PASSWORD_STORE_*"
#define CARRIED_MAX (1u << 20) /* bytes of a file with certificates */

static int start_keeper(const struct settings *s, const char *data_dir, const char *config, const struct run_as *who,
                        struct privilege *p, struct err *err)
{
    char uid[24], gid[24], connections[24];
    (void)snprintf(connections, sizeof(connections), "%lld", (long long)s->ssh_connections);
    (void)snprintf(uid, sizeof(uid), "%u", (unsigned)who->uid);
    (void)snprintf(gid, sizeof(gid), "%u", (unsigned)who->gid);
    CLEANUP(free_p) char *images = xasprintf("%s/images", data_dir);
    const struct native_options native = { .data_dir = data_dir,
                                           .image_dir = images,
                                           .prepared_pool = (unsigned)s->blank_pool,
                                           .boxes_max = (unsigned)s->max_sandboxes };
    struct native_job launcher;
    native_job(&native, &launcher);
    static const char *const for_vms[] = { KEEPER_KEPT, NULL }, *const for_images[] = { IMAGES_KEPT, NULL };
    static const char *const for_credentials[] = { IMAGES_KEPT, CREDENTIALS_KEPT, NULL };
    const struct keeper_job jobs[] = {
        [PRIVILEGE_LAUNCHER] = launcher.job,
        [PRIVILEGE_IMAGES] = { .args = { "--image-tool", data_dir },
                               .kept = docker_credentials_has_helper() ? for_credentials : for_images },
        [PRIVILEGE_VM] = { .args = { "--vm-tool", data_dir, images, s->vm_firecracker, s->vm_libkrun, s->vm_jailer },
                           .is_many = true,
                           .kept = for_vms },
        [PRIVILEGE_LISTENER] = { .args = { tls_ports_is_wanted(s) ? "--tls-listener" : NULL, s->tls_cert, s->tls_key,
                                           s->tls_client_ca, s->tls_client_auth },
                                 .is_many = true },
        [PRIVILEGE_ARCHIVE] = { .args = { "--archive-tool", data_dir, uid, gid }, .is_many = true },
        [PRIVILEGE_SSH] = { .args = { *s->ssh ? "--ssh-listener" : NULL, data_dir, s->ssh_host_key, connections } },
        [PRIVILEGE_CONFIG] = { .args = { config ? "--config-reader" : NULL, config, data_dir, uid, gid } },
    };
    int r = keeper_new(jobs, sizeof(jobs) / sizeof(*jobs), &p->keeper, err);
    native_job_done(&launcher);
    return r;
}

static int copy_to_memory(int from, int to)
{
    char piece[16384];
    for (size_t total = 0; total <= CARRIED_MAX;) {
        ssize_t n = read(from, piece, sizeof(piece));
        if (n <= 0)
            return n < 0 ? -errno : 0;
        if (write(to, piece, (size_t)n) != n)
            return -EIO;
        total += (size_t)n;
    }
    return -EFBIG;
}

/* Carries a file of the operator's that will be out of reach: its bytes go into a sealed memory file. One that cannot
 * be read now keeps its name, and whoever opens it reports the error. */
static int carry_file(char **path, const struct run_as *who, struct err *err)
{
    CLEANUP(close_fd_p) int from = *path && **path ? open(*path, O_RDONLY | O_CLOEXEC) : NO_FD;
    if (from < 0)
        return 0;
    CLEANUP(close_fd_p) int to = memfd_create("carried", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int r = to < 0 ? -errno : copy_to_memory(from, to);
    if (r == 0 && (fchmod(to, 0400) < 0 || (geteuid() == 0 && fchown(to, who->uid, who->gid) < 0) ||
                   fcntl(to, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0))
        r = -errno;
    if (r < 0)
        return err_set(err, err_from_errno(-r), -r, "read %s", *path);
    free(*path);
    *path = xasprintf("/proc/self/fd/%d", steal_fd(&to)); /* open for the life of the process */
    return 0;
}

int privilege_prepare(struct settings *s, const char *data_dir, const char *config, struct privilege *ret,
                      struct err *err)
{
    struct run_as who;
    CLEANUP(free_p) char *images = xasprintf("%s/images", data_dir);
    struct image_store *store = NULL;
    int r = run_as_pick(s->run_as, &who, err);
    if (r == 0)
        r = image_store_open(images, &store, err); /* makes its folders, and removes what a killed process left there */
    image_store_close(store);
    if (r == 0)
        r = start_keeper(s, data_dir, config, &who, ret, err);
    if (r == 0)
        r = cgroup_host_init(&ret->cgroups, NULL, err);
    if (r < 0)
        return r;
    if (who.uid != 0 && geteuid() == 0 && !run_as_can_enter(data_dir, &who)) {
        log_event(
            LOG_WARN, "server.user", "user", "root", "why",
            "only root can enter a folder above the data folder: give the server a --data-dir that others may enter "
            "(like /var/lib/iii-sandbox) and it runs as its own user",
            NULL);
        who = (struct run_as){ 0 };
    }
    ret->who = (struct confine_who){ .uid = who.uid, .gid = who.gid };
    ret->who.has_group = backends_group(s, &ret->who.group);
    backends_tls(s->docker_cert_path, &ret->docker_tls);
    char **const files[] = { &s->ca_cert,         &s->client_cert,       &s->client_key,      &s->oidc_jwks,
                             &ret->docker_tls.ca, &ret->docker_tls.cert, &ret->docker_tls.key };
    for (size_t i = 0; r == 0 && i < sizeof(files) / sizeof(*files); i++)
        r = carry_file(files[i], &who, err);
    return r == 0 && geteuid() == 0 ? ownership_run(data_dir, who.uid, who.gid, err) : r;
}

/* What the server opens besides its data folder: names, certificates, the C library's modules, statistics of boxes.
 * Folders where possible, since a replaced file is another file. */
static const struct confine_place places[] = {
    { "/run/systemd/resolve", CONFINE_READ },
    { "/usr", CONFINE_READ },
    { "/lib", CONFINE_READ },
    { "/lib64", CONFINE_READ },
    { "/proc", CONFINE_READ },
    { "/dev/null", CONFINE_WRITE },
    { "/dev/urandom", CONFINE_READ },
    { "/sys/fs/cgroup", CONFINE_READ },
};

static const struct confine_place own_places[] = {
    { "/etc", CONFINE_READ },
    { "/run/NetworkManager", CONFINE_READ },
    { "/run/resolvconf", CONFINE_READ },
    { "/var/run/netconfig", CONFINE_READ },
};

/* uid 0 may read all of /etc, so it gets single files. A replacement of one of them is not seen before the next
 * start. */
static const struct confine_place root_places[] = {
    { "/etc/ssl", CONFINE_READ },         { "/etc/pki", CONFINE_READ },       { "/etc/ca-certificates", CONFINE_READ },
    { "/etc/resolv.conf", CONFINE_READ }, { "/etc/hosts", CONFINE_READ },     { "/etc/nsswitch.conf", CONFINE_READ },
    { "/etc/host.conf", CONFINE_READ },   { "/etc/gai.conf", CONFINE_READ },  { "/etc/services", CONFINE_READ },
    { "/etc/ld.so.cache", CONFINE_READ }, { "/etc/localtime", CONFINE_READ },
};

#define SCHED_RESET_FLAG 1u /* SCHED_FLAG_RESET_ON_FORK */
#define DAEMON_NICE      (-5)
#define DAEMON_TURN_NS   500000
#define COUNT(list)      (sizeof(list) / sizeof(*(list)))

/* 0 when this kernel has no landlock. */
static int confine_to_folder(const char *data_dir, bool is_root, struct err *err)
{
    const struct confine_place *more = is_root ? root_places : own_places;
    size_t n = COUNT(places), n_more = is_root ? COUNT(root_places) : COUNT(own_places);
    CLEANUP(free_p) struct confine_place *all = xzalloc((n + n_more + 1) * sizeof(*all));
    memcpy(all, places, n * sizeof(*all));
    memcpy(all + n, more, n_more * sizeof(*all));
    all[n + n_more] = (struct confine_place){ .path = data_dir, .may = CONFINE_WRITE };
    int r = confine_files(all, n + n_more + 1, err);
    if (r != -EOPNOTSUPP)
        return r;
    log_event(LOG_WARN, "server.landlock", "state", "off", "why",
              "this kernel has no landlock: the server may open every file that its user may", NULL);
    return 0;
}

/* Every request and reply passes the daemon, and it needs little CPU time: it gets priority over busy sandboxes, and
 * asks for short time slices (Linux 6.12), which come sooner. Its threads do not inherit this. */
static void raise_priority(void)
{
    struct { /* the kernel's struct sched_attr: its header and the C library's conflict */
        uint32_t size, sched_policy;
        uint64_t sched_flags;
        int32_t sched_nice;
        uint32_t sched_priority;
        uint64_t sched_runtime, sched_deadline, sched_period;
    } attr = { .size = sizeof(attr),
               .sched_policy = SCHED_OTHER,
               .sched_flags = SCHED_RESET_FLAG,
               .sched_nice = DAEMON_NICE,
               .sched_runtime = DAEMON_TURN_NS };
    (void)syscall(SYS_sched_setattr, 0, &attr, 0); /* best effort: denied to an unprivileged user */
}

int privilege_drop(const struct privilege *p, const char *data_dir, struct err *err)
{
    char who[24], version[24];
    (void)setenv("SQLITE_TMPDIR", data_dir, 1); /* /var/tmp is out of reach from now on */
    raise_priority();
    int landlock = confine_to_folder(data_dir, p->who.uid == 0, err);
    int r = landlock < 0 ? landlock : confine_identity(&p->who, 0, err);
    if (r < 0)
        return r;
    r = confine_calls(err);
    if (r == -EINVAL || r == -ENOSYS) { /* a kernel without the filter: sandboxes need it, and report it */
        log_event(LOG_WARN, "server.seccomp", "state", "off", "why", err->msg, NULL);
        *err = (struct err)ERR_INIT;
    } else if (r < 0) {
        return r;
    }
    (void)snprintf(who, sizeof(who), "%u:%u", (unsigned)p->who.uid, (unsigned)p->who.gid);
    (void)snprintf(version, sizeof(version), "%d", landlock);
    log_event(LOG_INFO, "server.confined", "user", who, "landlock", landlock ? version : "off", NULL);
    return 0;
}

void privilege_done(struct privilege *p)
{
    cgroup_host_done(&p->cgroups);
    backends_tls_done(&p->docker_tls);
    p->keeper = keeper_free(p->keeper);
}
