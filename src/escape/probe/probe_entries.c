/* Item 6: the other entry points into the kernel: 32-bit calls by int 0x80 and x32 numbers, which a filter for 64-bit
 * numbers would not see; then rare socket families and protocols, and the ioctls of namespaces, pidfds and
 * terminals. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "escape/probe/probe.h"

#define X32_BIT 0x40000000L

#ifdef __x86_64__
static long call32(long nr, long a, long b, long c)
{
    long r;
    __asm__ volatile("int $0x80" : "=a"(r) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
    return (int)r;
}

static int has_entry32(const void *unused)
{
    (void)unused;
    return call32(20, 0, 0, 0) > 0 ? 0 : 1; /* getpid; a kernel without this entry point raises a signal */
}

static void entries32(void)
{
    static const struct {
        const char *name;
        long nr, a, b, c;
    } tries[] = { { "getpid", 20, 0, 0, 0 },        { "mount", 21, 1, 1, 1 },          { "unshare", 310, 0, 0, 0 },
                  { "setns", 346, -1, 0, 0 },       { "socketcall", 102, 1, 1, 0 },    { "keyctl", 288, 9999, 0, 0 },
                  { "bpf", 357, 0x7fffffff, 1, 0 }, { "socket AF_ALG", 359, 38, 5, 0 } };
    for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
        char name[64];
        long r = call32(tries[i].nr, tries[i].a, tries[i].b, tries[i].c);
        snprintf(name, sizeof(name), "32-bit entry: %s", tries[i].name);
        errno = r < 0 ? (int)-r : 0;
        probe_call(6, name, r < 0 ? -1 : r);
    }
}
#endif

void probe_entries(const struct probe_ctx *ctx)
{
#ifdef __x86_64__
    int code = probe_child(has_entry32, NULL);
    if (code < 0)
        probe_row(6, "32-bit entry", PROBE_SKIPPED, "this kernel has none: the try ended with a signal");
    else if (ctx->is_outside && code > 0)
        probe_row(6, "32-bit entry", PROBE_SKIPPED, "this kernel has none");
    else
        entries32();
    static const struct {
        const char *name;
        long nr, arg;
    } x32[] = { { "getpid", SYS_getpid, 0 },
                { "unshare", SYS_unshare, 0 },
                { "setns", SYS_setns, -1 },
                { "bpf", SYS_bpf, 0x7fffffff } };
    for (size_t i = 0; i < sizeof(x32) / sizeof(*x32); i++) {
        char name[64];
        snprintf(name, sizeof(name), "x32 entry: %s", x32[i].name);
        long r = syscall(X32_BIT | x32[i].nr, x32[i].arg, 1L, 0L);
        if (ctx->is_outside && r < 0 && errno == ENOSYS)
            probe_row(6, name, PROBE_SKIPPED, "this kernel is built without x32");
        else
            probe_call(6, name, r);
    }
#else
    (void)ctx;
    probe_row(6, "32-bit entry", PROBE_SKIPPED, "only x86-64 has these entries");
#endif
}

/* ---- sockets ---- */

static const struct {
    const char *name;
    int family, type, protocol;
} sockets[] = {
    { "AF_ALG", 38, SOCK_SEQPACKET, 0 },
    { "AF_VSOCK", 40, SOCK_STREAM, 0 },
    { "AF_PACKET", 17, SOCK_DGRAM, 0 },
    { "AF_XDP", 44, SOCK_RAW, 0 },
    { "AF_NETLINK netfilter", 16, SOCK_RAW, 12 },
    { "AF_NETLINK xfrm", 16, SOCK_RAW, 6 },
    { "AF_NETLINK audit", 16, SOCK_RAW, 9 },
    { "AF_NETLINK generic", 16, SOCK_RAW, 16 },
    { "AF_NETLINK uevent", 16, SOCK_RAW, 15 },
    { "AF_NETLINK crypto", 16, SOCK_RAW, 21 },
    { "AF_BLUETOOTH", 31, SOCK_RAW, 1 },
    { "AF_CAN", 29, SOCK_RAW, 1 },
    { "AF_TIPC", 30, SOCK_SEQPACKET, 0 },
    { "AF_RXRPC", 33, SOCK_DGRAM, AF_INET },
    { "AF_RDS", 21, SOCK_SEQPACKET, 0 },
    { "AF_KCM", 41, SOCK_DGRAM, 0 },
    { "AF_KEY", 15, SOCK_RAW, 2 },
    { "AF_SMC", 43, SOCK_STREAM, 0 },
    { "AF_QIPCRTR", 42, SOCK_DGRAM, 0 },
    { "AF_PPPOX", 24, SOCK_STREAM, 0 },
    { "AF_PHONET", 35, SOCK_DGRAM, 0 },
    { "AF_IEEE802154", 36, SOCK_DGRAM, 0 },
    { "AF_NFC", 39, SOCK_SEQPACKET, 0 },
    { "AF_ISDN", 34, SOCK_RAW, 0 },
    { "AF_X25", 9, SOCK_SEQPACKET, 0 },
    { "AF_APPLETALK", 5, SOCK_DGRAM, 0 },
    { "AF_MCTP", 45, SOCK_DGRAM, 0 },
    { "raw IPv4", AF_INET, SOCK_RAW, IPPROTO_ICMP },
    { "raw IPv6", AF_INET6, SOCK_RAW, 58 },
    { "SCTP", AF_INET, SOCK_STREAM, 132 },
    { "DCCP", AF_INET, 6, 33 },
    { "UDP-Lite", AF_INET, SOCK_DGRAM, 136 },
    { "L2TP", AF_INET, SOCK_DGRAM, 115 },
    { "SMC over TCP", AF_INET, SOCK_STREAM, 256 },
    { "MPTCP", AF_INET, SOCK_STREAM, 262 },
};

/* nsfs and pidfds return namespaces of other processes, or iterate over all of them. */
static void ioctls(void)
{
    static const struct {
        const char *name;
        unsigned long request;
    } ns[] = { { "NS_GET_USERNS", 0xb701 },
               { "NS_GET_PARENT", 0xb702 },
               { "NS_GET_OWNER_UID", 0xb704 },
               { "NS_GET_MNTNS_ID", 0x8008b705 },
               { "NS_GET_PID_FROM_PIDNS", 0x8004b706 },
               { "NS_MNT_GET_INFO", 0x8010b70a },
               { "NS_MNT_GET_NEXT", 0x8010b70b },
               { "NS_MNT_GET_PREV", 0x8010b70c } };
    char arg[256];
    int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof(ns) / sizeof(*ns); i++) {
        char name[64];
        memset(arg, 0, sizeof(arg));
        snprintf(name, sizeof(name), "namespace ioctl: %s", ns[i].name);
        probe_call(6, name, ioctl(fd, (int)ns[i].request, arg));
    }
    close(fd);
    fd = (int)syscall(434, getpid(), 0); /* pidfd_open */
    for (unsigned i = 1; i <= 10; i++) {
        char name[64];
        snprintf(name, sizeof(name), "pidfd ioctl: namespace handle %u", i);
        probe_call(6, name, ioctl(fd, (int)(0xff00 + i), 0));
    }
    close(fd);
}

void probe_families(const struct probe_ctx *ctx)
{
    for (size_t i = 0; i < sizeof(sockets) / sizeof(*sockets); i++) {
        char title[64];
        snprintf(title, sizeof(title), "socket: %s", sockets[i].name);
        int fd = socket(sockets[i].family, sockets[i].type | SOCK_CLOEXEC, sockets[i].protocol);
        int why = errno;
        bool is_missing = fd < 0 && (why == EAFNOSUPPORT || why == EPROTONOSUPPORT || why == ESOCKTNOSUPPORT ||
                                     why == EINVAL || why == ENOTSUP || why == ENOENT);
        errno = why;
        if (is_missing && ctx->is_outside)
            probe_row(6, title, PROBE_SKIPPED, "this kernel has none: %s", strerror(why));
        else if (is_missing && why == EPROTONOSUPPORT)
            probe_row(6, title, PROBE_DENIED, "%s", strerror(why));
        else
            probe_call(6, title, fd);
        if (fd >= 0)
            close(fd);
    }
    int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int encap = 2;
    probe_call(6, "socket option: TCP_ULP (kernel TLS)", setsockopt(tcp, IPPROTO_TCP, 31, "tls", 4));
    probe_call(6, "socket option: UDP_ENCAP (ESP in UDP)", setsockopt(udp, IPPROTO_UDP, 100, &encap, sizeof(encap)));
    probe_call(6, "socket option: netfilter tables", setsockopt(udp, IPPROTO_IP, 64, &encap, sizeof(encap)));
    close(tcp);
    close(udp);
    ioctls();
}
