/* The keeper starts this program again with fixed arguments: as a job it says its second argument and waits for the end
 * of its socket. */
#include "os/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "os/proc.h"
#include "tap.h"

static int run_as_job(const char *word)
{
    char byte;
    if (send(3, word, strlen(word), MSG_NOSIGNAL) < 0 || fcntl(4, F_GETFD) >= 0) /* nothing else was handed down */
        return 3;
    return recv(3, &byte, 1, 0) == 0 ? 0 : 4;
}

struct started {
    pid_t pid;
    int pidfd, sock;
    char said[32];
};

static int start(struct keeper *k, unsigned job, struct started *ret)
{
    int pair[2];
    struct err err = ERR_INIT;
    *ret = (struct started){ .pidfd = NO_FD, .sock = NO_FD };
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    int r = keeper_run(k, job, pair[1], &ret->pid, &ret->pidfd, &err);
    (void)close(pair[1]);
    ret->sock = pair[0];
    if (r < 0)
        return r;
    ssize_t n = recv(ret->sock, ret->said, sizeof(ret->said) - 1, 0);
    return n > 0 ? 0 : -EPIPE;
}

/* Its exit code, or minus the signal. */
static int ended_with(struct started *s)
{
    int status = 0;
    CHECK(waitpid(s->pid, &status, 0) == s->pid); /* our own child, though the keeper started it */
    close_fd_p(&s->pidfd);
    close_fd_p(&s->sock);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static const char *const kept[] = { KEEPER_KEPT, "KEPT_HERE", "ALL_OF_*", NULL };
static const struct keeper_job with_environment = { .args = { "--environment", "x" }, .kept = kept };

static int tell_environment(void)
{
    char said[32];
    (void)snprintf(said, sizeof(said), "%s %s", getenv("KEPT_HERE") && getenv("ALL_OF_IT") ? getenv("KEPT_HERE") : "-",
                   getenv("III_AUTH_TOKEN") || getenv("KEPT_HERE_NOT") ? "leaked" : "closed");
    return run_as_job(said);
}

static const struct keeper_job jobs[] = { { .args = { "--job", "first" } },
                                          { .args = { "--job", "second" }, .is_many = true },
                                          { .args = { NULL, "--job" } } }; /* one that is not wanted here */

TEST(jobs_are_our_children_and_outlive_the_keeper)
{
    struct keeper *k = NULL;
    struct started a, b;
    CHECK_INT(keeper_new(jobs, 2, &k, NULL), 0);
    CHECK_INT(start(k, 0, &a), 0);
    CHECK_STR(a.said, "first");
    CHECK_INT(start(k, 1, &b), 0);
    CHECK_STR(b.said, "second");
    keeper_free(k);
    struct pollfd p = { .fd = a.pidfd, .events = POLLIN };
    CHECK_INT(poll(&p, 1, 50), 0);
    close_fd_p(&a.sock);
    a.sock = NO_FD;
    CHECK_INT(ended_with(&a), 0);
    close_fd_p(&b.sock);
    b.sock = NO_FD;
    CHECK_INT(ended_with(&b), 0);
    CHECK(waitpid(-1, NULL, 0) < 0 && errno == ECHILD); /* the keeper was waited for as well */
}

TEST(a_job_gets_the_variables_that_it_needs)
{
    struct keeper *k = NULL;
    struct started a;
    (void)setenv("KEPT_HERE", "yes", 1);
    (void)setenv("ALL_OF_IT", "", 1);
    (void)setenv("KEPT_HERE_NOT", "secret", 1);
    (void)setenv("III_AUTH_TOKEN", "secret", 1);
    CHECK_INT(keeper_new(&with_environment, 1, &k, NULL), 0);
    CHECK_INT(start(k, 0, &a), 0);
    CHECK_STR(a.said, "yes closed");
    close_fd_p(&a.sock);
    a.sock = NO_FD;
    CHECK_INT(ended_with(&a), 0);
    keeper_free(k);
}

TEST(one_process_for_each_job)
{
    struct keeper *k = NULL;
    struct started a, b;
    CHECK_INT(keeper_new(jobs, 2, &k, NULL), 0);
    CHECK_INT(start(k, 0, &a), 0);
    CHECK_INT(start(k, 0, &b), 0);
    CHECK_INT(ended_with(&a), -SIGKILL);
    keeper_kill(k, getppid()); /* not one that it started */
    keeper_kill(k, b.pid);
    CHECK_INT(ended_with(&b), -SIGKILL);
    keeper_kill(k, b.pid); /* gone: fine */
    CHECK_INT(start(k, 0, &a), 0);
    close_fd_p(&a.sock);
    a.sock = NO_FD;
    CHECK_INT(ended_with(&a), 0);
    keeper_free(k);
}

TEST(several_processes_of_a_job_that_may_be_many)
{
    struct keeper *k = NULL;
    struct started all[KEEPER_RUN_MAX], more;
    CHECK_INT(keeper_new(jobs, 2, &k, NULL), 0);
    for (size_t i = 0; i < KEEPER_RUN_MAX; i++)
        CHECK_INT(start(k, 1, &all[i]), 0);
    CHECK_INT(start(k, 1, &more), -EAGAIN);
    close_fd_p(&more.sock);
    keeper_kill(k, all[3].pid);
    CHECK_INT(ended_with(&all[3]), -SIGKILL);
    CHECK_INT(start(k, 1, &all[3]), 0);
    for (size_t i = 0; i < KEEPER_RUN_MAX; i++) {
        (void)shutdown(all[i].sock, SHUT_RDWR);
        CHECK_INT(ended_with(&all[i]), 0);
    }
    keeper_free(k);
}

TEST(a_job_that_is_not_on_the_list_ends_the_keeper)
{
    struct keeper *k = NULL;
    struct started a;
    struct err err = ERR_INIT;
    CHECK_INT(keeper_new(jobs, 2, &k, NULL), 0);
    CHECK(start(k, 2, &a) < 0);
    close_fd_p(&a.sock);
    CHECK(keeper_run(k, 0, 0, &a.pid, &a.pidfd, &err) < 0);
    CHECK(strstr(err.msg, "keeper"));
    keeper_free(k);
    CHECK(keeper_new(jobs, KEEPER_JOBS_MAX + 1, &k, &err) < 0);
}

TEST(a_job_without_arguments_is_none)
{
    struct keeper *k = NULL;
    struct started a;
    CHECK_INT(keeper_new(jobs, 3, &k, NULL), 0);
    CHECK(start(k, 2, &a) < 0);
    close_fd_p(&a.sock);
    keeper_free(k);
    CHECK(waitpid(-1, NULL, 0) < 0 && errno == ECHILD); /* nothing was started */
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--job") == 0)
        return run_as_job(argv[2]);
    if (argc > 2 && strcmp(argv[1], "--environment") == 0)
        return tell_environment();
    RUN(jobs_are_our_children_and_outlive_the_keeper);
    RUN(a_job_gets_the_variables_that_it_needs);
    RUN(one_process_for_each_job);
    RUN(several_processes_of_a_job_that_may_be_many);
    RUN(a_job_that_is_not_on_the_list_ends_the_keeper);
    RUN(a_job_without_arguments_is_none);
    return tap_done();
}
