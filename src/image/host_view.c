/* The host's own /usr as an image. The layer built here holds everything except /usr: top-level links, a generated /etc
 * and the few public files of the host's /etc listed in `copied`. The runtime mounts /usr read-only on top. The layer's
 * digest is computed over its entries in a fixed order, so hosts with the same files share a layer. A fingerprint of
 * the `watched` paths tells whether the layer is stale; host.json remembers the fingerprint and the layer, struct
 * image_store caches both under host_mutex. An unprivileged server asks the image tool to build it. A file that cannot
 * be read is left out; any other failure leaves the previous layer in place. */
#include "image/host_view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/digest.h"
#include "image/image_remote.h"
#include "image/layer_tree.h"
#include "os/host_usr.h"
#include "os/program.h"
#include "os/write_all.h"

#define SKELETON_VERSION "2" /* increase it when the generated content below changes */
#define VERSIONS_FILE    "host-versions.json"
#define PATHS            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/iii/bin"
#define COPY_FILE_MAX    (16 << 20)
#define COPY_TOTAL_MAX   (128 << 20)
#define COPY_ENTRIES_MAX 20000
#define COPY_DEPTH_MAX   8

struct builder {
    int root_fd;
    struct digest digest;
    int64_t bytes, entries;
};

static const struct {
    const char *path;
    mode_t mode;
} folders[] = {
    { "usr", 0755 },  { "etc", 0755 },       { "root", 0700 },    { "tmp", 01777 },    { "workspace", 0755 },
    { "var", 0755 },  { "var/tmp", 01777 },  { "var/lib", 0755 }, { "var/log", 0755 }, { "var/cache", 0755 },
    { "home", 0755 }, { "home/user", 0755 }, { "opt", 0755 },     { "opt/iii", 0755 }, { "opt/iii/bin", 0755 },
    { "run", 0755 },  { "dev", 0755 },       { "proc", 0555 },    { "sys", 0555 },     { "mnt", 0755 },
    { "srv", 0755 },
};

static const struct {
    const char *path, *text;
} files[] = {
    { "etc/passwd",
      "root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
      "user:x:1000:1000:user:/home/user:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n" },
    { "etc/group", "root:x:0:\ndaemon:x:1:\ntty:x:5:\nusers:x:100:\nuser:x:1000:\nnogroup:x:65534:\n" },
    { "etc/shadow", "root:*:19000:0:99999:7:::\nuser:*:19000:0:99999:7:::\n" },
    { "etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
                           "protocols: files\nservices: files\n" },
    { "etc/hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost\n" },
    { "etc/hostname", "sandbox\n" },
    { "etc/resolv.conf", "" },
    { "etc/machine-id", "" },
    { "etc/fstab", "" },
    { "etc/environment", "PATH=" PATHS "\nLANG=C.UTF-8\n" },
    { "etc/profile", "export PATH=${PATH:-" PATHS "}\n"
                     "export LANG=${LANG:-C.UTF-8}\n" },
    { "etc/shells", "/bin/sh\n/bin/bash\n" },
};

/* From the host's /etc: what the programs in /usr need to run at all. No site settings: those may hold secrets. */
static const char *const copied[] = {
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ld-musl-x86_64.path",
    "ld-musl-aarch64.path",
    "alternatives",
    "ssl/certs",
    "ssl/openssl.cnf",
    "pki/tls/certs",
    "pki/ca-trust/extracted",
    "ca-certificates.conf",
    "localtime",
    "timezone",
    "os-release",
    "debian_version",
    "mime.types",
    "protocols",
    "services",
    "rpc",
    "host.conf",
    "gai.conf",
    "inputrc",
    "bash.bashrc",
    "terminfo",
    "magic",
    "python3",
    "perl",
    "fonts",
};

static const char *const top_links[] = { "bin", "sbin", "lib", "lib32", "lib64", "libx32" };

/* A change of any of these makes the layer stale. */
static const char *const watched[] = {
    "/bin",           "/lib64",         "/etc/ld.so.cache", "/etc/ld.so.conf.d", "/etc/alternatives",
    "/etc/ssl/certs", "/etc/localtime", "/etc/os-release",  "/usr/bin",          "/usr/local/bin",
};

static void hash_entry(struct builder *b, const char *kind, const char *path, mode_t mode, const void *data, size_t len)
{
    char head[64];
    int n = snprintf(head, sizeof(head), "%s %o %zu ", kind, (unsigned)mode, len);
    digest_add(&b->digest, head, (size_t)n);
    digest_add(&b->digest, path, strlen(path) + 1);
    digest_add(&b->digest, data, len);
}

static int add_folder(struct builder *b, const char *path, mode_t mode)
{
    if (mkdirat(b->root_fd, path, 0700) < 0)
        return errno == EEXIST ? 0 : -errno;
    hash_entry(b, "d", path, mode, "", 0);
    return fchmodat(b->root_fd, path, mode, 0) < 0 ? -errno : 0;
}

static int add_file(struct builder *b, const char *path, mode_t mode, const char *data, size_t len)
{
    CLEANUP(close_fd_p) int fd = openat(b->root_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? 0 : -errno; /* our own file takes precedence */
    int r = write_all_write(fd, data, len);
    if (r < 0)
        return r;
    b->bytes += (int64_t)len;
    hash_entry(b, "f", path, mode, data, len);
    return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int add_link(struct builder *b, const char *path, const char *target)
{
    if (symlinkat(target, b->root_fd, path) < 0)
        return errno == EEXIST ? 0 : -errno;
    hash_entry(b, "l", path, 0777, target, strlen(target));
    return 0;
}

/* An unreadable, private or too large file is left out: the view works without it. */
static int copy_file(struct builder *b, const char *from, const char *path)
{
    CLEANUP(close_fd_p) int fd = open(from, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & S_IROTH) || st.st_size > COPY_FILE_MAX ||
        b->bytes + st.st_size > COPY_TOTAL_MAX)
        return 0;
    CLEANUP(free_p) char *data = try_alloc((size_t)st.st_size + 1);
    if (!data)
        return -ENOMEM;
    size_t len = 0;
    ssize_t n;
    while (len < (size_t)st.st_size && (n = read(fd, data + len, (size_t)st.st_size - len)) > 0)
        len += (size_t)n;
    return add_file(b, path, st.st_mode & 0111 ? 0755 : 0644, data, len);
}

static int skip_dots(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* the same order in every locale: the digest depends on it */
}

/* Keeps a link that leads into /usr or stays in a copied folder; replaces any other by its target. */
static int copy_link(struct builder *b, const char *from, const char *path)
{
    char target[4096];
    ssize_t n = readlink(from, target, sizeof(target) - 1);
    if (n <= 0)
        return 0;
    target[n] = '\0';
    CLEANUP(free_p) char *real = realpath(from, NULL);
    if (!real)
        return 0; /* dangling on the host too */
    if (strncmp(real, "/usr/", 5) == 0 || (target[0] != '/' && !strchr(target, '/')))
        return add_link(b, path, target);
    return copy_file(b, real, path);
}

static int copy_entry(struct builder *b, const char *from, const char *path, int depth)
{
    struct stat st;
    if (depth > COPY_DEPTH_MAX || ++b->entries > COPY_ENTRIES_MAX || lstat(from, &st) < 0)
        return 0;
    if (S_ISLNK(st.st_mode))
        return copy_link(b, from, path);
    if (!S_ISDIR(st.st_mode))
        return copy_file(b, from, path);
    if (!(st.st_mode & S_IXOTH))
        return 0;
    struct dirent **list = NULL;
    int r = add_folder(b, path, 0755);
    int n = r < 0 ? 0 : scandir(from, &list, skip_dots, by_bytes);
    for (int i = 0; i < n; i++) {
        CLEANUP(free_p) char *sub_from = xasprintf("%s/%s", from, list[i]->d_name);
        CLEANUP(free_p) char *sub_path = xasprintf("%s/%s", path, list[i]->d_name);
        if (r == 0)
            r = copy_entry(b, sub_from, sub_path, depth + 1);
        free(list[i]);
    }
    free(list);
    return r;
}

/* A file or folder of /etc, with the folders above it. */
static int copy_etc(struct builder *b, const char *name)
{
    CLEANUP(free_p) char *from = xasprintf("/etc/%s", name);
    CLEANUP(free_p) char *path = xasprintf("etc/%s", name);
    int r = 0;
    for (const char *at = access(from, F_OK) < 0 ? NULL : strchr(path, '/'); at && r == 0; at = strchr(at + 1, '/')) {
        CLEANUP(free_p) char *parent = xstrndup(path, (size_t)(at - path));
        r = add_folder(b, parent, 0755);
    }
    return r < 0 ? r : copy_entry(b, from, path, 0);
}

static int add_top_links(struct builder *b, struct err *err)
{
    for (size_t i = 0; i < sizeof(top_links) / sizeof(top_links[0]); i++) {
        char from[32], target[256];
        struct stat st;
        (void)snprintf(from, sizeof(from), "/%s", top_links[i]);
        if (lstat(from, &st) < 0)
            continue;
        ssize_t n = S_ISLNK(st.st_mode) ? readlink(from, target, sizeof(target) - 1) : 0;
        if (n <= 0)
            return err_set(
                err, ERR_UNSUPPORTED, 0,
                "this host's %s is not a link into /usr, so its programs cannot be shared: import an image instead",
                from);
        target[n] = '\0';
        int r = add_link(b, top_links[i], target);
        if (r < 0)
            return err_set(err, err_from_errno(-r), -r, "host view: %s", top_links[i]);
    }
    return 0;
}

/* Where the sandbox will find it: in /usr, which is all of the host that a sandbox sees. Caller frees; NULL: nowhere.
 */
static char *program_path(const char *name)
{
    static const char *const places[] = { "/usr/local/bin", "/usr/bin" };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        CLEANUP(free_p) char *path = xasprintf("%s/%s", places[i], name);
        CLEANUP(free_p) char *real = realpath(path, NULL);
        if (real && strncmp(real, "/usr/", 5) == 0 && access(real, X_OK) == 0)
            return STEAL(path);
    }
    return NULL;
}

static int add_generated(struct builder *b)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(folders) / sizeof(folders[0]); i++)
        r = add_folder(b, folders[i].path, folders[i].mode);
    for (size_t i = 0; r == 0 && i < sizeof(files) / sizeof(files[0]); i++)
        r = add_file(b, files[i].path, strcmp(files[i].path, "etc/shadow") == 0 ? 0640 : 0644, files[i].text,
                     strlen(files[i].text));
    if (r == 0)
        r = add_link(b, "etc/mtab", "/proc/self/mounts");
    if (r == 0)
        r = add_link(b, "var/run", "/run");
    /* Images call it "python"; many hosts only have "python3". */
    CLEANUP(free_p) char *python = program_path("python");
    CLEANUP(free_p) char *python3 = program_path("python3");
    if (r == 0 && !python && python3)
        r = add_link(b, "opt/iii/bin/python", python3);
    if (r == 0 && geteuid() == 0 && fchownat(b->root_fd, "home/user", 1000, 1000, AT_SYMLINK_NOFOLLOW) < 0)
        r = -errno;
    return r;
}

static void add_print(struct buf *text, const char *path)
{
    struct stat st = { 0 };
    (void)lstat(path, &st); /* an absent path is part of the fingerprint too */
    (void)buf_addf(text, ";%llu.%lld.%ld.%lld", (unsigned long long)st.st_ino, (long long)st.st_mtim.tv_sec,
                   st.st_mtim.tv_nsec, (long long)st.st_size);
}

static char *fingerprint(void)
{
    struct buf text = BUF_INIT(4096);
    (void)buf_add_str(&text, "v" SKELETON_VERSION); /* all of it fits: ten short items */
    for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
        add_print(&text, watched[i]);
    return buf_steal(&text, NULL);
}

void host_view_key(char ret[DIGEST_HEX])
{
    CLEANUP(free_p) char *print = fingerprint();
    char usr[DIGEST_HEX];
    struct digest d;
    host_usr_key(HOST_USR, usr);
    digest_init(&d);
    digest_text(&d, print);
    digest_text(&d, usr);
    digest_end(&d, ret);
}

bool host_view_fits(const struct preset *p)
{
    CLEANUP(free_p) char *path = program_path(p->program);
    return path;
}

/* Only programs that the system installed are run, not those in /usr/local. */
void host_view_probe(struct image_store *s)
{
    CLEANUP(free_p) char *print = fingerprint();
    JSON_OWNED note = json_pack("{s:s, s:{}}", "print", print, "versions");
    JSON_OWNED known = NULL;
    const struct preset *p;
    if (layout_read_json(s->dir_fd, VERSIONS_FILE, &known, NULL) == 0 &&
        strcmp(json_get_str(known, "print", ""), print) == 0)
        return;
    for (size_t i = 0; (p = preset_at(i)); i++) {
        char found[PROGRAM_PATH_MAX];
        CLEANUP(free_p) char *path = p->title ? program_path(p->program) : NULL;
        CLEANUP(buf_done) struct buf out = BUF_INIT(256);
        const char *const argv[] = { p->program, "--version", NULL };
        struct program_call call = { .argv = argv, .cwd = NO_FD, .fd = NO_FD, .limit_ms = 5000, .out = &out };
        if (!path || !program_find(p->program, found) || strcmp(path, found) != 0 || program_run(&call, NULL) < 0)
            continue;
        const char *number = buf_text(&out) + strcspn(buf_text(&out), "0123456789");
        CLEANUP(free_p) char *text = xasprintf("%s %.*s", p->title, (int)strspn(number, "0123456789."), number);
        (void)json_object_set_new(json_object_get(note, "versions"), p->name, json_string(text));
    }
    CLEANUP(close_fd_p) int lock = layout_lock(s, LOCK_EX, NULL);
    if (lock >= 0) /* without the file no version is shown, and the next start tries again */
        (void)layout_write_json(s, s->dir_fd, VERSIONS_FILE, note, false, NULL);
}

char *host_view_version(struct image_store *s, const struct preset *p)
{
    CLEANUP(free_p) char *print = p->title ? fingerprint() : NULL;
    if (!print)
        return NULL;
    (void)pthread_mutex_lock(&s->host_mutex);
    if (strcmp(json_get_str(s->host_versions, "print", ""), print) != 0) {
        json_decref(STEAL(s->host_versions));
        (void)layout_read_json(s->dir_fd, VERSIONS_FILE, &s->host_versions, NULL);
    }
    bool is_current = strcmp(json_get_str(s->host_versions, "print", ""), print) == 0;
    char *version = is_current ? xstrdup(json_get_str(json_get(s->host_versions, "versions"), p->name, NULL)) : NULL;
    (void)pthread_mutex_unlock(&s->host_mutex);
    return version;
}

static int layer_build(struct image_store *s, const char *print, struct layout_layer *ret, struct err *err)
{
    CLEANUP(layout_tmp_done) struct layout_tmp tmp = { 0 };
    int r = layout_tmp_new(s, &tmp, err);
    if (r < 0)
        return r;
    struct builder b = { .root_fd = NO_FD };
    if (mkdirat(tmp.fd, "host", 0755) == 0)
        b.root_fd = openat(tmp.fd, "host", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (b.root_fd < 0)
        return err_set(err, err_from_errno(errno), errno, "make the host view");
    digest_init(&b.digest);
    r = fchmod(b.root_fd, 0755) < 0 ? -errno : add_generated(&b);
    for (size_t i = 0; r == 0 && i < sizeof(copied) / sizeof(copied[0]); i++)
        r = copy_etc(&b, copied[i]);
    /* Versioned folders such as python3.11 and java-17-openjdk: /usr/lib links into them. */
    struct dirent **list = NULL;
    int n = scandir("/etc", &list, skip_dots, by_bytes);
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        if (r == 0 && (strncmp(name, "python3.", 8) == 0 || strncmp(name, "java-", 5) == 0))
            r = copy_etc(&b, name);
        free(list[i]);
    }
    free(list);
    r = r < 0 ? err_set(err, err_from_errno(-r), -r, "make the host view") : add_top_links(&b, err);
    digest_hex(&b.digest, ret->hex);
    digest_done(&b.digest);
    (void)close(b.root_fd);
    if (r < 0)
        return r;
    ret->size_bytes = b.bytes;
    CLEANUP(close_fd_p) int lock = layout_lock(s, LOCK_EX, err);
    if (lock < 0)
        return lock;
    JSON_OWNED note =
        json_pack("{s:s,s:[{s:s,s:I}]}", "print", print, "layers", "digest", ret->hex, "size", (json_int_t)b.bytes);
    r = layout_adopt_layer(s, tmp.fd, "host", ret->hex, err);
    return r < 0 ? r : layout_write_json(s, s->dir_fd, "host.json", note, false, err);
}

/* Finds the layer that another process, or an earlier run, has built. */
static bool find_built(struct image_store *s, const char *print, struct layout_layer *ret)
{
    JSON_OWNED note = NULL;
    if (layout_read_json(s->dir_fd, "host.json", &note, NULL) < 0 ||
        strcmp(json_get_str(note, "print", ""), print) != 0)
        return false;
    const json_t *layer = json_array_get(json_get(note, "layers"), 0);
    const char *hex = json_get_str(layer, "digest", "");
    if (!digest_is_hex(hex) || !layout_has_layer(s, hex))
        return false;
    memcpy(ret->hex, hex, DIGEST_HEX);
    ret->size_bytes = json_get_int(layer, "size", 0);
    return true;
}

int host_view_layer(struct image_store *s, struct layout_layer *ret, struct err *err)
{
    CLEANUP(free_p) char *print = fingerprint();
    int r = 0;

    (void)pthread_mutex_lock(&s->host_mutex);
    if (s->host_print && strcmp(s->host_print, print) == 0 && layout_has_layer(s, s->host_layer.hex)) {
        *ret = s->host_layer;
    } else {
        bool is_built = find_built(s, print, ret);
        if (!is_built && s->remote) { /* rare (a new store, a host that changed): even the event loop may block on it */
            r = image_remote_call(s->remote, json_pack("{s:s}", "op", "host"), NULL, err);
            if (r == 0 && !find_built(s, print, ret))
                r = err_set(err, ERR_CONFLICT, 0, "the host's files changed while its view was created: try again");
        } else if (!is_built) {
            r = layer_build(s, print, ret, err);
        }
        if (r == 0) {
            s->host_layer = *ret;
            free(s->host_print);
            s->host_print = STEAL(print);
        }
    }
    (void)pthread_mutex_unlock(&s->host_mutex);
    return r;
}

void host_view_config(struct manifest_config *ret)
{
    *ret = (struct manifest_config){ .is_host = true };
    /* /usr is read-only: pip falls back to the folders of the user, npm is told. */
    static const char *const env[] = { "PATH=/root/.local/bin:" PATHS, "LANG=C.UTF-8", "NPM_CONFIG_PREFIX=/root/.local",
                                       "NODE_PATH=/root/.local/lib/node_modules" };
    ret->env = xzalloc((sizeof(env) / sizeof(*env) + 1) * sizeof(*ret->env));
    for (size_t i = 0; i < sizeof(env) / sizeof(*env); i++)
        ret->env[i] = xstrdup(env[i]);
    ret->cmd = xzalloc(2 * sizeof(*ret->cmd));
    ret->cmd[0] = xstrdup("/bin/sh");
}
