/* The engine's messages: bodies of requests, and strict parsers of responses. Untrusted: every response. May
 * include: base/, runtime/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "runtime/runtime.h"

#define DOCKER_MESSAGES_ID_MAX 65      /* 64 hex digits */
#define DOCKER_MESSAGES_GUEST  "/.iii" /* our folder in the container, read-only: the agent and its socket */

/* Labels of our objects in the engine: of which data folder, of which box. */
#define DOCKER_MESSAGES_LABEL      "iii-sandbox"
#define DOCKER_MESSAGES_LABEL_ID   "iii-sandbox-id"
#define DOCKER_MESSAGES_LABEL_DATA "iii-sandbox-data"

struct docker_messages_box {
    const struct box_plan *plan;
    const char *image;  /* of the engine: "sha256:…" or a name */
    const char *folder; /* on the host */
    const char *tag, *runtime;
};
json_t *docker_messages_container(const struct docker_messages_box *box); /* POST /containers/create; caller owns */
json_t *docker_messages_limits(uint32_t memory_mb, uint32_t cpu_milli, uint32_t pids_max);
json_t *docker_messages_filter(const char *tag, const char *more,
                               const char *value); /* selects our own objects; more may be NULL */

/* The 64 hex digits of {"Id":…}, with or without "sha256:". ERR_UPSTREAM when there are none. */
int docker_messages_id(const json_t *body, const char *key, char ret[DOCKER_MESSAGES_ID_MAX], struct err *err);

/* What the engine supports, from GET /info. A rootless engine with cgroup v1 claims limits that it does not enforce;
 * Podman cannot connect a container that was created without a network. */
struct docker_messages_powers {
    bool can_pause, can_memory, can_cpu, can_pids, can_network;
};
struct docker_messages_powers docker_messages_powers(const json_t *info);

struct docker_messages_image {
    struct box_image image; /* its id points to the field id */
    char id[sizeof("docker:sha256:") + DOCKER_MESSAGES_ID_MAX];
};
/* Parses GET /images/NAME/json. ERR_UNSUPPORTED: not for Linux. The architecture is not checked: the agent is a
 * static program, and whether the host can run an image for another architecture is up to the host. The caller frees
 * lists with docker_messages_image_done(). */
int docker_messages_image(const json_t *body, struct docker_messages_image *ret, struct err *err);
void docker_messages_image_done(struct docker_messages_image *i);
json_t *docker_messages_image_list(const json_t *body); /* of GET /images/json; caller owns */

/* Parses {"message":…} of a failed call. 404 is ERR_NOT_FOUND, 409 ERR_CONFLICT, 400 ERR_INVALID, 507 and "no space"
 * ERR_NO_SPACE, others ERR_UPSTREAM. */
void docker_messages_error(const char *what, int status, const char *body, size_t len, struct err *err);
/* The engine cannot be reached: ERR_CAPACITY (503), or ERR_TIMEOUT. */
void docker_messages_unreachable(const char *what, const char *host, const struct err *cause, struct err *err);

/* Progress of a pull, line by line. */
struct docker_messages_pull {
    json_t *layers; /* id -> [done, total, is_complete] */
    int64_t done_bytes, total_bytes;
    int n_done, n;
    struct err err; /* the engine's error, with the code of docker_messages_error() */
};
void docker_messages_pull_init(struct docker_messages_pull *p);
void docker_messages_pull_line(struct docker_messages_pull *p, const char *line, size_t len);
void docker_messages_pull_done(struct docker_messages_pull *p);
/* Splits "NAME[:TAG][@DIGEST]" without "oci:" as the engine needs it. Caller frees both. */
void docker_messages_split(const char *name, char **ret_image, char **ret_tag);
