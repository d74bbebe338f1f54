/* The first process of a guest that was taken over: answers as an agent until its machine is somebody's sandbox, then turns on the host.
 * What it does is the last part of the working folder it is told. For tests; built by vmhostile.py. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "guest/proto.h"
#include "os/vm_handshake.h"

#define REGISTERS  0xfeb00000u /* of the machine's virtio devices */
#define SPAN       (24 * 512)
#define POKES      200000
#define FW_CFG     0x510

static uint64_t state = 88172645463325252u;

static uint32_t chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static void load_modules(void)
{
    static char order[16384];
    char path[256];
    int fd = open("/modules/order", O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, order, sizeof(order) - 1);
    char *rest = order, *name;
    while (n > 0 && (name = strsep(&rest, "\n"))) {
        (void)snprintf(path, sizeof(path), "/modules/%s", name);
        int module = *name ? open(path, O_RDONLY) : -1;
        if (module >= 0)
            (void)syscall(SYS_finit_module, module, "", 0);
    }
}

static int open_port(const char *which)
{
    char path[300];
    for (;; (void)usleep(20000)) {
        DIR *d = opendir("/dev");
        for (struct dirent *e; d && (e = readdir(d));) {
            (void)snprintf(path, sizeof(path), "/dev/%s", e->d_name);
            const char *port = strncmp(e->d_name, "vport", 5) == 0 ? strchr(e->d_name + 5, 'p') : NULL;
            int fd = port && strcmp(port, which) == 0 ? open(path, O_RDWR) : -1;
            if (fd >= 0)
                return fd;
        }
        if (d)
            (void)closedir(d);
    }
}

static void put(int fd, const void *data, size_t len)
{
    const char *at = data;
    while (len) {
        ssize_t n = write(fd, at, len);
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        } else {
            (void)usleep(1000);
        }
    }
}

/* --- what it does --- */

struct __attribute__((packed)) frame {
    uint32_t length, stream;
    uint16_t type, flags;
};

static void say_handshake(int fd)
{
    struct __attribute__((packed)) {
        struct frame head;
        uint32_t magic;
        uint16_t version, oldest;
        uint32_t caps;
    } handshake = { { 12, 0, 1, 0 }, 0x47696969u, 1, 1, 0 };
    put(fd, &handshake, sizeof(handshake));
}

/* Whole frames that mean nothing: the ends of durable commands that nobody started. Nothing in them is against the rules. */
static void flood_frames(int fd)
{
    struct __attribute__((packed)) {
        struct frame head;
        uint32_t n;
        char tag[8];
        uint32_t numbers[3];
        uint64_t figures[4];
    } many[512];
    for (size_t i = 0; i < 512; i++) {
        memset(&many[i], 0, sizeof(many[i]));
        many[i].head = (struct frame){ sizeof(many[i]) - sizeof(struct frame), 0, 39, 0 };
        many[i].n = 7;
        (void)snprintf(many[i].tag, sizeof(many[i].tag), "t%06zu", i);
    }
    for (;;)
        put(fd, many, sizeof(many));
}

static void flood_noise(int fd)
{
    static uint32_t noise[16384];
    for (;;) {
        for (size_t i = 0; i < sizeof(noise) / sizeof(*noise); i++)
            noise[i] = chance();
        put(fd, noise, sizeof(noise));
    }
}

/* Answers to calls that nobody made, and lengths that nothing has. */
static void answer_unasked(int fd)
{
    for (uint32_t id = 1; id < 4096; id++) {
        struct frame done = { 0, id, PROTO_DONE, 0 };
        put(fd, &done, sizeof(done));
    }
}

static void send_huge(int fd)
{
    struct frame huge = { 0xfffffff0u, 1, PROTO_EXEC_OUTPUT, 0 };
    put(fd, &huge, sizeof(huge));
    flood_noise(fd);
}

static void take(int fd, void *data, size_t len)
{
    char *at = data;
    while (len) {
        ssize_t n = read(fd, at, len);
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        } else {
            (void)usleep(1000);
        }
    }
}

/* Every command "runs" and ends twice, every other call is done twice. With is_silent nothing is ever answered. */
static void answer_all(int fd, int is_silent)
{
    static char payload[PROTO_PAYLOAD_MAX];
    struct __attribute__((packed)) {
        struct frame start;
        uint32_t pid;
        struct frame exit;
        uint32_t numbers[3];
        uint64_t figures[4];
    } command;
    for (;;) {
        struct frame h;
        take(fd, &h, sizeof(h));
        take(fd, payload, h.length < sizeof(payload) ? h.length : sizeof(payload));
        if (!h.stream || is_silent || (h.flags & PROTO_MORE))
            continue;
        struct frame done = { 0, h.stream, PROTO_DONE, 0 };
        memset(&command, 0, sizeof(command));
        command.start = (struct frame){ sizeof(command.pid), h.stream, PROTO_EXEC_STARTED, 0 };
        command.pid = 7;
        command.exit = (struct frame){ sizeof(command.numbers) + sizeof(command.figures), h.stream, PROTO_EXEC_EXIT, 0 };
        for (int i = 0; i < 2; i++)
            if (h.type == PROTO_EXEC_START)
                put(fd, &command, sizeof(command));
            else
                put(fd, &done, sizeof(done));
    }
}

/* Whatever drive there is or comes, from its begin: what others would mount. */
static void spoil_drives(void)
{
    static uint32_t noise[65536];
    int console = open("/dev/console", O_WRONLY);
    char path[300];
    for (;; (void)usleep(200000)) {
        DIR *d = opendir("/dev");
        for (struct dirent *e; d && (e = readdir(d));) {
            (void)snprintf(path, sizeof(path), "/dev/%s", e->d_name);
            if (strncmp(e->d_name, "vd", 2) != 0 && strncmp(e->d_name, "sd", 2) != 0)
                continue;
            int fd = open(path, O_WRONLY | O_SYNC);
            for (size_t i = 0; fd >= 0 && i < sizeof(noise) / sizeof(*noise); i++)
                noise[i] = chance();
            ssize_t n = fd < 0 ? -1 : write(fd, noise, sizeof(noise));
            if (n > 0)
                (void)dprintf(console, "hostile: spoiled %s\n", e->d_name);
            if (fd >= 0)
                (void)close(fd);
        }
        if (d)
            (void)closedir(d);
    }
}

/* All memory that it can have, written to. */
static void fill_memory(void)
{
    int console = open("/dev/console", O_WRONLY);
    for (size_t mb = 0;; mb++) {
        char *page = mmap(NULL, 1u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED || mb > 4096)
            break;
        for (size_t i = 0; i < 1u << 20; i += 4096)
            page[i] = (char)chance();
        if (mb % 16 == 0)
            (void)dprintf(console, "hostile: has %zu MB\n", mb);
    }
}

static void flood_console(void)
{
    static char lines[65536];
    for (size_t i = 0; i < sizeof(lines); i++)
        lines[i] = i % 80 == 79 ? '\n' : (char)(chance() % 256);
    int fd = open("/dev/console", O_WRONLY);
    for (;;)
        put(fd, lines, sizeof(lines));
}

/* Drivers let go of the devices, so that their registers are ours. */
static void unbind_all(void)
{
    static const char drivers[] = "/sys/bus/platform/drivers/virtio-mmio";
    char path[256];
    DIR *d = opendir(drivers);
    for (struct dirent *e; d && (e = readdir(d));) {
        (void)snprintf(path, sizeof(path), "%s/unbind", drivers);
        int fd = strchr(e->d_name, ':') || strchr(e->d_name, '.') ? open(path, O_WRONLY) : -1;
        if (fd >= 0)
            (void)!write(fd, e->d_name, strlen(e->d_name));
        if (fd >= 0)
            (void)close(fd);
    }
}

/* Sets up queues wherever it likes and kicks them; values that a driver would never write are the point. */
static void poke_device(volatile uint8_t *device)
{
    static const uint32_t marks[] = { 0, 1, 2, 3, 4, 8, 15, 64, 128, 256, 1024, 0x7fff, 0x8000, 0xffff, 0xfffffffe, 0xffffffff };
    static const uint16_t places[] = { 0x014, 0x020, 0x024, 0x030, 0x038, 0x03c, 0x040, 0x044, 0x050, 0x064, 0x070,
                                       0x080, 0x084, 0x090, 0x094, 0x0a0, 0x0a4, 0x0ac, 0x0b0, 0x0b8, 0x100, 0x104 };
    uint32_t value = chance() % 3 ? marks[chance() % 16] : chance();
    uint32_t at = chance() % 8 ? places[chance() % 22] : (chance() % 128) * 4;
    if (at >= 0x080 && at <= 0x0a4 && chance() % 4)
        value = chance() % (64u << 20); /* a queue in memory that is there, filled with whatever that holds */
    if (chance() % 32 == 0)
        *(volatile uint8_t *)(device + at) = (uint8_t)value;
    else if (chance() % 32 == 0)
        *(volatile uint16_t *)(device + at) = (uint16_t)value;
    else
        *(volatile uint32_t *)(device + at) = value;
    if (chance() % 4 == 0)
        (void)*(volatile uint32_t *)(device + (chance() % 128) * 4);
}

static void poke_firmware(void)
{
    outw((uint16_t)chance(), FW_CFG);
    (void)inb(FW_CFG + 1);
    outl(0, FW_CFG + 4);
    outl(chance(), FW_CFG + 8); /* starts a transfer at that address */
    outb((uint8_t)chance(), 0x70 + chance() % 2);
    outb((uint8_t)chance(), 0x40 + chance() % 4);
    outb((uint8_t)chance(), 0x3f9 + chance() % 6);
}

static void poke_registers(void)
{
    int console = open("/dev/console", O_WRONLY);
    (void)dprintf(console, "hostile: lets go\n");
    unbind_all();
    (void)dprintf(console, "hostile: takes\n");
    int fd = open("/dev/mem", O_RDWR | O_SYNC);
    volatile uint8_t *all = mmap(NULL, SPAN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, REGISTERS);
    if (fd < 0 || all == MAP_FAILED || iopl(3) < 0) {
        (void)dprintf(console, "hostile: no registers: %s\n", strerror(errno));
        (void)reboot(RB_AUTOBOOT);
    }
    for (int i = 0; i < 24; i++)
        if (*(volatile uint32_t *)(all + i * 512) == 0x74726976 && *(volatile uint32_t *)(all + i * 512 + 8))
            (void)dprintf(console, "hostile: device %u\n", *(volatile uint32_t *)(all + i * 512 + 8));
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    state ^= (uint64_t)now.tv_nsec << 20;
    for (int i = 0; i < POKES; i++) {
        poke_device(all + chance() % 24 * 512);
        if (i % 64 == 0)
            poke_firmware();
    }
    (void)reboot(RB_AUTOBOOT); /* the end of the machine, with what it said so far */
}

static void act(int fd, const char *what)
{
    if (strcmp(what, "noise") != 0)
        say_handshake(fd);
    if (strcmp(what, "frames") == 0)
        flood_frames(fd);
    else if (strcmp(what, "garbage") == 0 || strcmp(what, "noise") == 0)
        flood_noise(fd);
    else if (strcmp(what, "console") == 0)
        flood_console();
    else if (strcmp(what, "registers") == 0)
        poke_registers();
    else if (strcmp(what, "unasked") == 0)
        answer_unasked(fd);
    else if (strcmp(what, "huge") == 0)
        send_huge(fd);
    else if (strcmp(what, "twice") == 0 || strcmp(what, "silent") == 0)
        answer_all(fd, what[0] == 's');
    else if (strcmp(what, "notes") == 0)
        flood_noise(open_port("p2"));
    else if (strcmp(what, "drives") == 0)
        spoil_drives();
    else if (strcmp(what, "memory") == 0)
        fill_memory();
    for (;;)
        (void)pause(); /* also "mute": nothing is read any more */
}

/* --- until then --- */

static void reply(int fd, uint64_t nonce)
{
    struct vm_handshake_reply r = { .version = VM_HANDSHAKE_VERSION, .nonce = nonce };
    memcpy(r.magic, VM_HANDSHAKE_MAGIC, VM_HANDSHAKE_MAGIC_LEN);
    put(fd, &r, sizeof(r));
}

static void next_handshake(int fd, struct vm_handshake *h)
{
    size_t have = 0;
    while (have < sizeof(*h)) {
        ssize_t n = read(fd, (char *)h + have, sizeof(*h) - have);
        if (n <= 0) {
            have = 0; /* nobody is there */
            (void)usleep(5000);
        } else {
            have += (size_t)n;
        }
        if (have >= VM_HANDSHAKE_MAGIC_LEN && memcmp(h, VM_HANDSHAKE_MAGIC, VM_HANDSHAKE_MAGIC_LEN) != 0)
            have = 0;
    }
}

int main(void)
{
    static struct vm_handshake handshake;
    (void)mount("dev", "/dev", "devtmpfs", 0, NULL);
    (void)mount("sys", "/sys", "sysfs", 0, NULL);
    load_modules();
    int fd = open_port("p1");
    for (;;) {
        next_handshake(fd, &handshake);
        const char *what = strrchr(handshake.workdir, '/');
        if (handshake.what != VM_HANDSHAKE_ENTER || (what && strcmp(what, "/noise") != 0))
            reply(fd, handshake.nonce);
        if (handshake.what == VM_HANDSHAKE_ENTER)
            act(fd, what ? what + 1 : "");
    }
}
