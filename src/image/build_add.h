/* What ADD does and COPY does not: files of http and https addresses, and archives, which are unpacked. May include:
 * base/, archive/, image/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "image/layout.h"

bool build_add_is_url(const char *source);
/* The last part of the address's path, without its query; caller frees. ERR_INVALID: it has none. */
int build_add_url_name(const char *url, char **ret, struct err *err);
/* Downloads the address into the new file name of dir_fd. The rules of registries hold: https, plain HTTP only to
 * loopback and III_PLAIN_REGISTRIES, no way from https to http, nothing with III_PULL=never; at most
 * III_IMAGE_MAX_BYTES. ERR_UPSTREAM, ERR_FORBIDDEN, ERR_TOO_LARGE. */
int build_add_fetch(const struct image_store *s, const char *url, int dir_fd, const char *name, struct err *err);
/* 1: the file is a tar archive, plain, gzip or zstd. 0: another file. ERR_INVALID: one packed in a way that cannot be
 * unpacked here. path: for errors. */
int build_add_is_archive(const struct image_store *s, int fd, const char *path, struct err *err);
/* Unpacks it into the empty folder root_fd. */
int build_add_unpack(const struct image_store *s, int fd, int root_fd, struct err *err);
