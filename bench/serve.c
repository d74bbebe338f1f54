/* The server under test, with a data folder of its own. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

bool rows_serve(struct bench *b)
{
    int out[2];
    char line[256];
    const char *argv[] = { b->bin,      "serve",           "--port", "0",           "--engine-port", "0", "--data-dir",
                           b->data_dir, "--max-sandboxes", "2000",   "--log-level", "error",         NULL };
    (void)snprintf(b->data_dir, sizeof(b->data_dir), "/tmp/iii-bench-XXXXXX");
    if (!mkdtemp(b->data_dir) || (b->prepare && !b->prepare(b)) || pipe2(out, O_CLOEXEC) < 0)
        return false;
    b->server_pid = fork();
    if (b->server_pid == 0) {
        (void)dup2(out[1], 1);
        (void)setenv("III_ON_SHUTDOWN", "remove", 1);
        (void)setenv("III_POOL_SIZE", b->backend ? "0" : "4", 1);
        (void)setenv("III_POOL_PROFILES", b->backend ? "" : "python," POOL_MEMORY ",1,false", 1);
        if (b->backend)
            (void)setenv("III_ISOLATION_BACKEND", b->backend, 1);
        execv(b->bin, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    (void)close(out[1]);
    FILE *f = fdopen(out[0], "r");
    const char *port = f && fgets(line, sizeof(line), f) ? strstr(line, "127.0.0.1:") : NULL;
    if (!port)
        return false;
    b->port = (uint16_t)strtol(port + 10, NULL, 10);
    const char *engine = strstr(port + 10, "127.0.0.1:");
    b->engine_port = engine ? (uint16_t)strtol(engine + 10, NULL, 10) : 0;
    return client_open(&b->http, b->port) == 0 && rows_make_box(b, b->box, ",\"timeout\":86400");
}

void rows_stop(struct bench *b)
{
    static const char *rm[] = { "rm", "-rf", NULL, NULL };
    if (b->server_pid > 0) {
        (void)kill(b->server_pid, SIGTERM);
        (void)waitpid(b->server_pid, NULL, 0);
    }
    rm[2] = b->data_dir;
    (void)rows_spawn_us(rm);
}
