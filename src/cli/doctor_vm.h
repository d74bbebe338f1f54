/* `iii doctor --vm`: a VM of the chosen backend from end to end: boot, command, file, pause, snapshot with a running
 * process, restore, fork, end; each a line of the report with its time. Starts a private server in a temporary folder,
 * and leaves nothing. May include: base/, cli/. */
#pragma once
#include <stddef.h>

#include "base/json.h"

struct doctor_vm_parts {
    const char *data_dir; /* its kernel is used when it has one; may be missing */
    const void *program;  /* a static program that can keep running: the only file of the image */
    size_t program_len;
    /* What this backend requires of the host: rows as of doctor_print(). Caller owns. */
    json_t *(*needs)(const void *arg, const char *data_dir, const char *backend);
    const void *needs_arg;
};

/* argv[0] is the verb. Options: --vm, --backend NAME, --json, --help. Exit code as doctor_print(). */
int doctor_vm_main(const struct doctor_vm_parts *parts, int argc, char **argv);
