/* Command lines, one word on each line, through the whole table of commands; and the readers behind them: durations,
 * key=value payloads, the worker's entry in a configuration file, S-codes of an engine's answer. The first byte picks
 * one. No command can reach anything: this process may make no socket and start no program, and the one command that
 * writes to this machine is left out. */
#include "../feed.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/display.h"
#include "cli/duration.h"
#include "cli/engine_connect.h"
#include "cli/payload.h"
#include "cli/worker_add.h"

#define WORDS_MAX 40

static void refuse_calls(void)
{
#define REFUSE(nr) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES)
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE(SYS_socket),
        REFUSE(SYS_connect),
        REFUSE(SYS_execve),
        REFUSE(SYS_execveat),
        REFUSE(SYS_kill),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
#undef REFUSE
    struct sock_fprog prog = { .len = sizeof(code) / sizeof(*code), .filter = code };
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
}

static int count_words(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        MUST(argv[i]);
    MUST(!argv[argc] && argc >= 1);
    return 0;
}

static void try_line(char *text)
{
    static FILE *quiet;
    static char name[] = "iii", soon[] = "--timeout-ms=1"; /* a call waits for an engine that is not there yet */
    const struct verbs_hooks hooks = { "1", count_words, count_words, count_words };
    char *argv[WORDS_MAX + 2] = { name }, *rest = text;
    int argc = 1;
    bool does_wait = false, has_end = false;
    for (char *word; argc < WORDS_MAX && (word = feed_line(&rest)); argc++) {
        if (strcmp(word, "add") == 0)
            return; /* would write a file */
        does_wait |= strcmp(word, "trigger") == 0 || strcmp(word, "t") == 0 || strcmp(word, "get") == 0;
        has_end |= strcmp(word, "--") == 0;
        argv[argc] = word;
    }
    if (does_wait && has_end)
        return; /* where no more options can be added */
    if (does_wait)
        argv[argc++] = soon;
    if (!quiet) {
        refuse_calls();
        quiet = fopen("/dev/null", "we");
        MUST(quiet);
    }
    FILE *was[2] = { stdout, stderr }; /* glibc lets both be replaced; the fuzzer speaks through the descriptor */
    stdout = stderr = quiet;
    int code = verbs_main(argc, argv, &hooks);
    stdout = was[0];
    stderr = was[1];
    MUST(code >= 0 && code <= 255);
}

static void try_duration(char *text)
{
    struct err err = ERR_INIT;
    int64_t ms = -1;
    int r = duration_parse(text, &ms, &err);
    MUST(r == 0 ? ms >= 0 : err.code == ERR_INVALID && err.msg[0]);
}

static void try_payload(char *text)
{
    char *words[WORDS_MAX], *rest = text;
    const char *json = feed_line(&rest);
    struct err err = ERR_INIT;
    JSON_OWNED out = NULL;
    int n = 0;
    for (char *word; n < WORDS_MAX && (word = feed_line(&rest));)
        words[n++] = word;
    if (payload_build(*json ? json : NULL, words, n, &out, &err) < 0) {
        MUST(err.code == ERR_INVALID && !out);
        return;
    }
    MUST(n == 0 || json_is_object(out));
    CLEANUP(free_p) char *printed = json_write(out, NULL);
    MUST(printed); /* what was typed can be sent */
}

static void try_file(char *text)
{
    CLEANUP(buf_done) struct buf once = BUF_INIT(1 << 20);
    CLEANUP(buf_done) struct buf twice = BUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    enum worker_add_done done;
    if (worker_add_edit(text, false, &once, &done, &err) < 0) {
        MUST(err.code == ERR_INVALID);
        return;
    }
    MUST(worker_add_edit(buf_text(&once), false, &twice, &done, &err) == 0 && done == WORKER_ADD_KEPT);
    MUST(strcmp(buf_text(&once), buf_text(&twice)) == 0); /* adding twice is adding once */
}

static void try_answer(char *text)
{
    JSON_OWNED error = json_pack("{s:o}", "message", json_text(text, strlen(text)));
    JSON_OWNED envelope = NULL;
    const char *code = engine_connect_code(error, &envelope);
    MUST(!code || envelope);
    CLEANUP(free_p) char *clean = display_clean(json_get_str(error, "message", ""));
    for (const char *p = clean; *p; p++)
        MUST((unsigned char)*p >= 0x20 && *p != 0x7f); /* nothing that moves a terminal's cursor */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(char *) = { try_line, try_line, try_duration, try_payload, try_file, try_answer };
    if (size < 1 || size > 8192)
        return 0;
    CLEANUP(free_p) char *text = feed_text(data + 1, size - 1);
    readers[data[0] % 6](text);
    return 0;
}
