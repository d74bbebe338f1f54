/* Images: names, the content-addressed store, import, and how a name becomes a list of layer folders.
 * Layout below DIR (0700): layers/<digest>/ (unpacked once, read-only, shared), images/<name key>.json, pins/<owner>,
 * host.json, lock, tmp/ (half-made things, removed at open). Untrusted: archives. May include: base/, os/, loop/,
 * http/, store/. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/json.h"

struct image_store;
struct image_policy;

/* Whose images a name stands for. Every tenant has names of its own; images without a tenant are the operator's. NULL
 * where one is asked for: the operator, who finds the operator's own. */
struct image_scope {
    const char *tenant; /* its own come first; "": the operator */
    bool has_shared;    /* then the operator's */
    bool has_all;       /* lists: those of all tenants as well */
};

#define IMAGE_NAME_MAX   255
#define IMAGE_LAYERS_MAX 256

/* A resolved image: what a sandbox is made of. */
struct image {
    char *name;     /* as asked for */
    char *resolved; /* what that name stands for: the canonical reference of a stored image, or "host" */
    char *version;  /* of a preset's program in the host's view: "Python 3.11.2"; NULL: none is known */
    char *id;       /* "sha256:…", or "host" */
    char *tenant;   /* whose it is; "": the operator's. NULL of an image that a backend keeps */
    char **layers;  /* layer folders, absolute, lowest first; n_layers of them */
    size_t n_layers;
    int64_t *layer_bytes; /* size of each */
    bool is_host;         /* the host's own /usr is mounted read-only on top of the layers */
    char **env;           /* "KEY=value", NULL-terminated; may be NULL */
    char **entrypoint;    /* NULL-terminated or NULL */
    char **cmd;
    char *user;    /* "" or "uid[:gid]" or a name */
    char *workdir; /* "" when the image has none */
    int64_t size_bytes;
    json_t *more;                /* its record's config, for what no sandbox needs: labels, ports, …; may be NULL */
    struct image_helper *helper; /* image_stack_layer(): the helper process that did it, or NULL */
};
struct image *image_free(struct image *i);
struct image *image_copy(const struct image *i); /* without the helper; caller frees */
DEFINE_CLEANUP(struct image *, image_free)

/* Creates dir when missing. is_rootless: layers are unpacked with our own uid as owner. */
int image_store_open(const char *dir, struct image_store **ret, struct err *err);
/* The store DATA_DIR/images for an unprivileged server: it reads records and keeps pins itself, and delegates
 * everything else to the image tool (image_tool_main()), job of keeper k. What is said below about blocking holds for
 * both. */
struct keeper;
int image_store_attach(const char *data_dir, struct keeper *k, unsigned job, struct image_store **ret, struct err *err);
struct image_store *image_store_close(struct image_store *s);
DEFINE_CLEANUP(struct image_store *, image_store_close)
void image_store_allow_host(struct image_store *s, bool is_allowed); /* default: true */
/* image_resolve() then denies what does not satisfy the policy. Borrowed; NULL: none. */
void image_store_use_policy(struct image_store *s, const struct image_policy *policy);
/* Free space of the store's file system for an unprivileged user, MB; -1 when statvfs() fails. Does not block. */
int64_t image_store_free_mb(const struct image_store *s);

int64_t image_store_disk_mb(const struct image_store *s); /* its size; the same */

/* Name rules of the REST contract: not empty, at most IMAGE_NAME_MAX bytes, no "..", no "$", no control bytes. */
int image_name_check(const char *name, struct err *err);

/* Resolves locally, whatever the spelling (reference_canonical()). A preset (preset.h) is its image when the store has
 * it, else the host's view when the host has the program and image_store_allow_host() does not forbid it. ERR_NOT_FOUND
 * names what is here and what to do next. Quick: no unpacking. */
int image_resolve(struct image_store *s, const char *name, struct image **ret, struct err *err);
/* The same for a tenant: what belongs to others is as if it did not exist. */
int image_resolve_for(struct image_store *s, const struct image_scope *scope, const char *name, struct image **ret,
                      struct err *err);

/* Rootfs tar, docker-save tar or OCI-layout tar, plain, gzip or zstd. Blocking; runs on a worker or in the CLI, also
 * while a server uses the same folder (file locks). An incomplete image is never visible. */
int image_import(struct image_store *s, const char *tar_path, const char *name, struct image **ret, struct err *err);
int image_import_for(struct image_store *s, const char *tenant, const char *tar_path, const char *name,
                     struct image **ret, struct err *err);
/* [{name,id,size,layers,createdAt,source,tenant,signedBy}] by name; host presets included with source "host". tenant
 * and signedBy are left out when there is none. Caller owns. */
json_t *image_list(struct image_store *s, const struct image_scope *scope);
/* Bytes of the layers that images of this tenant have and no other image. */
int64_t image_tenant_bytes(struct image_store *s, const char *tenant);
/* ERR_NOT_FOUND when unknown. Layers no other image uses are removed too; those a live sandbox uses (see image_pin)
 * stay until unpinned. */
int image_remove(struct image_store *s, const struct image_scope *scope, const char *name, struct err *err);
/* Checks the stored signature of an image again: {name, verified, required, signedBy, pattern, digest}. ERR_FORBIDDEN:
 * the policy denies the image. Caller owns *ret. */
int image_verify(struct image_store *s, const struct image_scope *scope, const char *name, json_t **ret,
                 struct err *err);
/* Registers a folder made by a runtime driver (a captured writable layer) as the top layer over base. The folder is
 * moved into the store. The new image gets the name, and the tenant of base. */
int image_add_layer(struct image_store *s, const struct image *base, const char *folder, const char *name,
                    struct image **ret, struct err *err);

/* The same without a name: only the pin of owner keeps the new image, and removing the pin removes it. layer: the
 * folder's destination, from image_layer_path(); when the destination exists already (a crash came between the move and
 * its record), folder is not used. Quick: nothing is read or counted (size_bytes counts base only), nothing waits for
 * the disk. */
int image_stack_layer(struct image_store *s, const struct image *base, const char *folder, const char *layer,
                      const char *owner, struct image **ret, struct err *err);
char *image_layer_path(struct image_store *s); /* a new one; caller frees */

/* Keeps the layers of an image (struct image's folders) while owner, a sandbox or snapshot id ([A-Za-z0-9_.-], up to
 * 128), lives; a later pin of the same owner replaces the earlier. Quick (no unpacking, no disk flush). ERR_GONE when a
 * layer was removed meanwhile. */
int image_pin(struct image_store *s, const struct image *i, const char *owner, struct err *err);
/* Unknown owner is fine. Removes layers that nothing else uses (slow for big ones: run it off the loop, or call
 * image_unpin_lazy and image_collect from a worker). */
int image_unpin(struct image_store *s, const char *owner, struct err *err);
int image_unpin_lazy(struct image_store *s, const char *owner,
                     struct err *err); /* leaves the layers to the next image_collect */
int image_collect(struct image_store *s,
                  struct err *err); /* removes every layer that no image, pin or host view uses */
/* Drops the pins of owners for which is_alive returns false: left by a killed daemon. */
int image_sweep_pins(struct image_store *s, bool (*is_alive)(void *arg, const char *owner), void *arg, struct err *err);

/* A process that has moved a layer into the store and waits for more calls about it, which saves one fork for each.
 * Ends with the last reference. For one thread at a time. NULL is fine everywhere. */
struct image_helper *image_helper_ref(struct image_helper *h);
struct image_helper *image_helper_unref(struct image_helper *h);

/* The checksum of layers and their size in bytes (layer_digest.h). Both block. */
int image_sum(struct image_store *s, char *const *layers, struct image_helper *helper, const atomic_bool *stop,
              char ret[DIGEST_HEX], struct err *err);
int64_t image_bytes(struct image_store *s, char *const *layers, struct image_helper *helper);
/* Removes a captured folder that is not needed. Blocks. */
void image_discard(struct image_store *s, const char *folder);

/* The stored record: {name,id,source,createdAt,size,rootless,layers:[{digest,size}],config:{…}}. The config has env,
 * entrypoint, cmd, user, workdir and what else the image states: labels, exposedPorts, volumes, healthcheck,
 * stopSignal, shell, onBuild, author, created, history. Caller owns *ret. */
int image_inspect(struct image_store *s, const struct image_scope *scope, const char *name, json_t **ret,
                  struct err *err);
/* fn is called on the importing thread, with bytes of the archive read so far and its size. */
void image_on_progress(struct image_store *s, void (*fn)(void *arg, int64_t done_bytes, int64_t total_bytes),
                       void *arg);

/* --- builds --- */
/* Stores an image with the layers, the configuration and the tenant of like under name and replaces an existing one. */
int image_compose(struct image_store *s, const struct image *like, const char *name, struct err *err);
/* The layers that owner's pin holds, with the configuration of base. ERR_NOT_FOUND: no such pin. */
int image_from_pin(struct image_store *s, const char *owner, const struct image *base, struct image **ret,
                   struct err *err);
/* Build steps are cached under this name and the digest of everything that led to them, until image_forget_builds(). */
#define IMAGE_BUILD_CACHE "build-cache/"
int image_forget_builds(struct image_store *s, struct err *err);

/* Begins a build in the image tool, for an attached store; request: see image_tool_build.h, and "op": "build". fds:
 * read end of a pipe with the context, and one end of a SEQPACKET socket; both stay the caller's. Over the socket come
 * messages of JSON: {event: {…}}, {find: NAME}, {run: {layers, isHost, command, env, user, cwd}} and {taken: true}.
 * find and run are answered with {…} or {error: {code, msg}}; run with {owner}, of a pin, which taken releases.
 * *ret_sock is readable when the build is over (image_build_end()); a byte sent to it, or its close, ends it. */
int image_build_begin(struct image_store *s, json_t *request, const int fds[2], int *ret_sock, struct err *err);
/* The outcome, once sock is readable. 1: not yet. */
int image_build_end(int sock, struct err *err);
#define IMAGE_BUILD_MESSAGE (512u * 1024u) /* longest message */
/* The layers that are named by digest, lowest first, as an image; ERR_GONE when one is missing. *ret: caller frees. */
int image_of_layers(struct image_store *s, const json_t *digests, bool is_host, struct image **ret, struct err *err);

/* --- from a registry --- */
struct image_pull_options {
    const char *mirrors, *plain_hosts, *private_hosts, *closed_ports, *docker_config; /* see registry_client.h; NULL:
                                                                      none, and for the last Docker's own path */
    bool is_terse;                                                                    /* see registry_client.h */
    int64_t disk_bytes; /* image_evict() after the pull; 0: no cap */
    const char *tenant; /* owns the image, and reuses only layers that it sees; NULL: the operator */
    bool has_shared;    /* it sees those of the operator */
    const json_t *rule; /* of the policy, see image_policy.h: nothing is stored without this signature; NULL: none */
};
/* Progress of a pull: any thread may read it while the pull runs. Zero before the first use. */
struct image_pull_state {
    atomic_llong done_bytes, total_bytes; /* packed bytes of the layers that are not in the store yet */
    atomic_int layers_done, layers;
    atomic_bool is_cancelled, is_stopped; /* private: image_pull_cancel() */
};
void image_pull_cancel(struct image_pull_state *state); /* the pull then ends within about a second */
/* Pulls NAME ("[oci:][HOST/]PATH[:TAG][@sha256:…]") and stores it under that name, also when it is there already.
 * Blocks: run it on a worker or in the CLI. An incomplete image is never visible; downloaded bytes are kept for the
 * next attempt when the network fails or the process dies. ERR_NOT_FOUND: unknown, access denied, or its registry is
 * unreachable; ERR_UPSTREAM: the registry's reply is unusable; ERR_TOO_LARGE, ERR_NO_SPACE. */
int image_pull(struct image_store *s, const char *name, const struct image_pull_options *options,
               struct image_pull_state *state, struct image **ret, struct err *err);

/* Removes pulled images that no sandbox uses, least recently used first, until the store's layers have at most
 * max_bytes. keep: a name that stays (may be NULL). Imported and captured images stay: they cannot be pulled again.
 * ret_removed (may be NULL): number of images removed. */
int image_evict(struct image_store *s, int64_t max_bytes, const char *keep, size_t *ret_removed, struct err *err);

/* Writes the image as an OCI-layout tar that `docker load` takes, too. Layers are packed again, so their digests differ
 * from the registry's; the rest of the configuration is the same. */
int image_export(struct image_store *s, const struct image_scope *scope, const char *name, const char *tar_path,
                 struct err *err);

/* Writes an image (its name and tenant are looked at) into out_fd, a pipe, for a container engine: a stored one as
 * image_export() does, with tag as the
 * name that `docker load` gives it; the host's view (image->id is "host") as the tar of one root file system. Blocks.
 * state: bytes written so far. */
int image_send(struct image_store *s, const struct image *of, const char *tag, int out_fd,
               struct image_pull_state *state, struct err *err);
/* Changes with the image's content. Of the host's view: with what is installed, as far as a few stat calls show it. */
void image_content_key(const struct image *image, char ret[DIGEST_HEX]);

/* Checks every record, layer and pin: {records, layers, partial, problems:[text]}; is_repair: removes what is damaged
 * or unreferenced. Caller owns *ret. */
int image_fsck(struct image_store *s, bool is_repair, json_t **ret, struct err *err);
/* image_collect(), and removes cached build steps and interrupted downloads. */
int image_prune(struct image_store *s, struct err *err);

/* main() of the process that image_store_attach() starts: `iii --image-tool DATA_DIR`, its socket on descriptor 3. */
int image_tool_main(int argc, char **argv);

/* iii image import|ls|rm …; argv[0] is "image". Returns the exit code. */
int image_cli(int argc, char **argv);
