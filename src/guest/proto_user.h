/* User strings of exec and chmod: "uid", "uid:gid", "name", "name:group" and mixes, parsed strictly. Compiled into
 * the agent and the host. May include: libc only. Invariant: a string is accepted completely or rejected; a number
 * never turns into another number or into root. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTO_USER_MAX_BYTES 128 /* of the whole string, without its NUL */
#define PROTO_USER_NAME_MAX  64  /* of one name, with its NUL */

struct proto_user {
    bool is_numeric;                  /* uid holds the user, else name does */
    bool has_group, is_group_numeric; /* has_group: a part after ':' was given */
    uint32_t uid, gid;
    char name[PROTO_USER_NAME_MAX], group[PROTO_USER_NAME_MAX];
};

/* 0, or -EINVAL with *ret unchanged: empty parts, signs, leading zeros, numbers above 4294967294, other bytes. */
int proto_user_parse(const char *text, struct proto_user *ret);

/* One decimal id without sign or leading zero, whole string; 4294967295 (the kernel's "unchanged") is rejected. */
int proto_user_id(const char *text, size_t len, uint32_t *ret);

/* Finds a user in the text of a passwd file. home may be NULL; at most home_size bytes with the NUL. -ENOENT: none. */
int proto_user_passwd(const char *file, const char *name, uint32_t *ret_uid, uint32_t *ret_gid, char *home,
                      size_t home_size);
/* The same by uid: its group and name (name_size bytes with the NUL). */
int proto_user_passwd_uid(const char *file, uint32_t uid, uint32_t *ret_gid, char *name, size_t name_size);
int proto_user_group(const char *file, const char *name, uint32_t *ret_gid);
int proto_user_group_gid(const char *file, uint32_t gid, char *name, size_t name_size);
/* Groups that list name as a member, at most max. Returns how many. */
size_t proto_user_members(const char *file, const char *name, uint32_t *ret_gids, size_t max);
