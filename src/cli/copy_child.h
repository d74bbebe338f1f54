/* The process that packs or unpacks for `iii cp`, beside the request. Untrusted: the archive that it unpacks. May
 * include: base/, os/, tar/, cli/. */
#pragma once
#include <sys/types.h>

#include "cli/display.h"
#include "tar/tar_pack.h"
#include "tar/tar_unpack.h"

/* What it did, in memory that both processes share. */
struct copy_child {
    struct display_bar bar; /* of an upload; copy_child_join() takes it from the terminal */
    int error;              /* errno */
    struct tar_packed packed;
    struct tar_unpacked unpacked;
};

struct copy_child *copy_child_new(void); /* NULL: errno says why */
struct copy_child *copy_child_free(struct copy_child *k);

/* Sends what `from` has, or with tree, its path, the folder as an archive. *ret_fd is what yields it: to be read until
 * its end, or until it fails because the bytes are not whole. The process, or -1 with errno. */
pid_t copy_child_feed(struct copy_child *k, int from, const char *tree, int *ret_fd);
/* Unpacks what is written to *ret_fd. The process, or -1 with errno. */
pid_t copy_child_unpack(struct copy_child *k, int folder, bool is_old, int *ret_fd);
void copy_child_join(struct copy_child *k, pid_t pid); /* waits for its end */
