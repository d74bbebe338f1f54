/* Stands where libkrun.so.1 would: the functions that we call, with libkrun's prototypes (libkrun.h), which take only
 * what is right, once, in an order that the library allows. What was called is written to stdout; the machine "runs" by
 * exiting with 0. KRUN_FAIL: the name of a function that fails. Built with -DOLD it lacks what came with 1.17; with
 * -DGUEST="path" that script (fcprogram.py) is in it and plays the guest, of any size. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef GUEST
#define HAS_GUEST 1
#else
#define HAS_GUEST 0
#endif
#define CTX 41

static unsigned done; /* one bit for each call that was taken */
enum {
    LOG = 1,
    CREATE = 2,
    CONFIG = 4,
    KERNEL = 8,
    BASE = 16,
    DISK = 32,
    NO_VSOCK = 64,
    VSOCK = 128,
    PORT = 256,
    NO_CONSOLE = 512,
    CONSOLE = 1024
};

static int32_t take(const char *name, unsigned bit, unsigned needs, bool is_right)
{
    const char *fail = getenv("KRUN_FAIL");
    printf("%s\n", name);
    fflush(stdout);
    if (fail && strcmp(fail, name) == 0)
        return -EPERM;
    if (!is_right || (done & bit) || (done & needs) != needs) {
        fprintf(stderr, "stand-in: %s: wrong %s\n", name, is_right ? "order" : "arguments");
        return -EINVAL;
    }
    done |= bit;
    return 0;
}

static bool is(const char *text, const char *wanted)
{
    return text && strcmp(text, wanted) == 0;
}

int32_t krun_set_log_level(uint32_t level);
int32_t krun_set_log_level(uint32_t level)
{
    return take("krun_set_log_level", LOG, 0, level == 1);
}

int32_t krun_create_ctx(void);
int32_t krun_create_ctx(void)
{
    int32_t r = take("krun_create_ctx", CREATE, 0, true);
    return r < 0 ? r : CTX;
}

int32_t krun_set_vm_config(uint32_t ctx, uint8_t cpus, uint32_t ram_mib);
int32_t krun_set_vm_config(uint32_t ctx, uint8_t cpus, uint32_t ram_mib)
{
    return take("krun_set_vm_config", CONFIG, CREATE, ctx == CTX && (HAS_GUEST || (cpus == 3 && ram_mib == 640)));
}

int32_t krun_set_kernel(uint32_t ctx, const char *kernel, uint32_t format, const char *initramfs, const char *line);
int32_t krun_set_kernel(uint32_t ctx, const char *kernel, uint32_t format, const char *initramfs, const char *line)
{
    return take(
        "krun_set_kernel", KERNEL, CONFIG,
        ctx == CTX && is(kernel, "/kernel") && format == 1 && is(initramfs, "/initramfs") &&
            (HAS_GUEST ? strstr(line, " iii.channel=vsock") != NULL : is(line, "console=ttyS0 iii.channel=vsock")));
}

int32_t krun_add_disk(uint32_t ctx, const char *id, const char *path, bool is_readonly);
int32_t krun_add_disk(uint32_t ctx, const char *id, const char *path, bool is_readonly)
{
    if (!(done & BASE))
        return take("krun_add_disk", BASE, CONFIG, ctx == CTX && is(id, "base") && is(path, "/base") && is_readonly);
    return take("krun_add_disk", DISK, BASE, ctx == CTX && is(id, "disk") && is(path, "/disk") && !is_readonly);
}

int32_t krun_add_vsock_port2(uint32_t ctx, uint32_t port, const char *path, bool is_listening);
int32_t krun_add_vsock_port2(uint32_t ctx, uint32_t port, const char *path, bool is_listening)
{
    return take("krun_add_vsock_port2", PORT, VSOCK,
                ctx == CTX && port == 52 && is(path, "/box/vsock.sock") && is_listening);
}

int32_t krun_disable_implicit_console(uint32_t ctx);
int32_t krun_disable_implicit_console(uint32_t ctx)
{
    return take("krun_disable_implicit_console", NO_CONSOLE, CREATE, ctx == CTX);
}

int32_t krun_add_serial_console_default(uint32_t ctx, int input, int output);
int32_t krun_add_serial_console_default(uint32_t ctx, int input, int output)
{
    return take("krun_add_serial_console_default", CONSOLE, NO_CONSOLE, ctx == CTX && input == 0 && output == 1);
}

#ifndef OLD
int32_t krun_disable_implicit_vsock(uint32_t ctx);
int32_t krun_disable_implicit_vsock(uint32_t ctx)
{
    return take("krun_disable_implicit_vsock", NO_VSOCK, CREATE, ctx == CTX);
}

/* A second device is refused: the implicit one must have been disabled before. No feature of the guest's sockets. */
int32_t krun_add_vsock(uint32_t ctx, uint32_t tsi_features);
int32_t krun_add_vsock(uint32_t ctx, uint32_t tsi_features)
{
    return take("krun_add_vsock", VSOCK, NO_VSOCK, ctx == CTX && tsi_features == 0);
}
#endif

#ifdef GUEST
__asm__(".section .rodata\nguest_begin: .incbin \"" GUEST "\"\nguest_end: .previous\n");
extern const char guest_begin[] __attribute__((visibility("hidden")));
extern const char guest_end[] __attribute__((visibility("hidden")));

/* The library never comes back from a machine either. */
static void become_guest(void)
{
    FILE *f = fopen("/box/guest", "w");
    if (!f || fwrite(guest_begin, (size_t)(guest_end - guest_begin), 1, f) != 1 || fclose(f) != 0)
        exit(1);
    execl("/usr/bin/python3", "python3", "/box/guest", "--krun-guest", (char *)NULL);
    exit(1);
}
#endif

int32_t krun_start_enter(uint32_t ctx);
int32_t krun_start_enter(uint32_t ctx)
{
    int32_t r = take("krun_start_enter", 0, KERNEL | BASE | DISK | PORT | CONSOLE, ctx == CTX);
    if (r < 0)
        return r;
#ifdef GUEST
    become_guest();
#endif
    exit(0); /* as the library does when the guest shuts down */
}
