/* A system call filter whose denials are seen: every answer of an error becomes SECCOMP_RET_USER_NOTIF, so that whoever
 * holds the listener (runtime/native/call_watch.h) gives the same error and takes note. Header only, because the agent
 * (musl) converts what the launcher built. May include: nothing.
 *
 * clone3 keeps its error: libc tries it for each thread and each process, and falls back to clone. So does an error of
 * 0, which is a success without effect. */
#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WATCHED_FILTER_HEAD   3
#define WATCHED_FILTER_CLONE3 435 /* on every architecture */
#define WATCHED_FILTER_ENOSYS 38

/* Converts n instructions in place; there must be room for WATCHED_FILTER_HEAD more. Returns their new number. */
static inline size_t watched_filter(struct sock_filter *insns, size_t n)
{
    static const struct sock_filter head[WATCHED_FILTER_HEAD] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WATCHED_FILTER_CLONE3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | WATCHED_FILTER_ENOSYS),
    };
    memmove(insns + WATCHED_FILTER_HEAD, insns, n * sizeof(*insns));
    memcpy(insns, head, sizeof(head));
    for (size_t i = WATCHED_FILTER_HEAD; i < n + WATCHED_FILTER_HEAD; i++)
        if (insns[i].code == (BPF_RET | BPF_K) && (insns[i].k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO &&
            (insns[i].k & SECCOMP_RET_DATA) != 0)
            insns[i].k = SECCOMP_RET_USER_NOTIF;
    return n + WATCHED_FILTER_HEAD;
}

/* The result of the program for one call, as the kernel computes it: SECCOMP_RET_*. SECCOMP_RET_KILL_PROCESS for an
 * instruction that our filters do not have. */
static inline uint32_t watched_filter_run(const struct sock_filter *insns, size_t n, const struct seccomp_data *data)
{
    uint32_t a = 0;
    for (size_t at = 0; at < n; at++) {
        const struct sock_filter *i = &insns[at];
        switch (i->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            if (i->k > sizeof(*data) - sizeof(a))
                return SECCOMP_RET_KILL_PROCESS;
            memcpy(&a, (const char *)data + i->k, sizeof(a));
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= i->k;
            break;
        case BPF_JMP | BPF_JA:
            at += i->k;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            at += a == i->k ? i->jt : i->jf;
            break;
        case BPF_JMP | BPF_JGT | BPF_K:
            at += a > i->k ? i->jt : i->jf;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            at += a >= i->k ? i->jt : i->jf;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            at += a & i->k ? i->jt : i->jf;
            break;
        case BPF_RET | BPF_K:
            return i->k;
        default:
            return SECCOMP_RET_KILL_PROCESS;
        }
    }
    return SECCOMP_RET_KILL_PROCESS;
}
