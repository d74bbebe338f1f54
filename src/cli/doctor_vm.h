/* `iii doctor --vm`: a machine of the chosen backend from end to end: boot, command, file, pause, snapshot with a
 * running process, restore, fork, end; each a line of the report with its time. Starts a server of its own in a folder
 * of its own, and leaves nothing. May include: base/, cli/. */
#pragma once
#include <stddef.h>

#include "base/json.h"

struct doctor_vm_parts {
    const char *data_dir; /* whose kernel is used when it has one; may be missing */
    const void *program;  /* a static program that stays when asked to: the image is that and nothing else */
    size_t program_len;
    /* What this backend needs of the host before anything is tried: rows as of doctor_print(). Caller owns. */
    json_t *(*needs)(const void *arg, const char *data_dir, const char *backend);
    const void *needs_arg;
};

/* argv[0] is the verb. Options: --vm, --backend NAME, --json, --help. Exit code as doctor_print(). */
int doctor_vm_main(const struct doctor_vm_parts *parts, int argc, char **argv);
