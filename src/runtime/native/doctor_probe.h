/* The single probes of the native driver's doctor. Each runs in its own child process, which may change its
 * namespaces and never returns to the caller's work. May include: base/, os/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define DOCTOR_DETAIL 400

struct doctor_env {
    const char *data_dir;
    const char *scratch; /* an empty folder on the data folder's disk, made and removed by the caller; "" = none */
    bool is_root;
    unsigned boxes, pids; /* that are to run at the same time, and the processes of each */
};

/* 0, or -errno; detail (size bytes, "" before) is filled in both cases when there is something to report. */
typedef int doctor_probe_fn(const struct doctor_env *env, char *detail, size_t size);

doctor_probe_fn doctor_probe_kernel;
doctor_probe_fn doctor_probe_root;
doctor_probe_fn doctor_probe_userns;
doctor_probe_fn doctor_probe_clone;
doctor_probe_fn doctor_probe_proc;
doctor_probe_fn doctor_probe_netns;
doctor_probe_fn doctor_probe_tun;
doctor_probe_fn doctor_probe_veth;
doctor_probe_fn doctor_probe_idmap;
doctor_probe_fn doctor_probe_overlay;
doctor_probe_fn doctor_probe_overlay_userns;
doctor_probe_fn doctor_probe_seccomp;
doctor_probe_fn doctor_probe_landlock;
doctor_probe_fn doctor_probe_idrange;
doctor_probe_fn doctor_probe_tools;
doctor_probe_fn doctor_probe_data_dir;
doctor_probe_fn doctor_probe_state;
doctor_probe_fn doctor_probe_disk;
doctor_probe_fn doctor_probe_files;
doctor_probe_fn doctor_probe_maxima;
