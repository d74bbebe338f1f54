/* Name lookups: one that hangs stops neither the work of pool threads nor the lookups of other tenants. */
#include "http/dial.h"

#include <netdb.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "loop/wait_work.h"
#include "loopturn.h"
#include "tap.h"

#define SLOW 40

static sem_t begun, hung;

/* In the place of libc's: names that begin with "slow" hang until the test lets them go, all others do not exist. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **res)
{
    (void)service, (void)res;
    if (!(hints->ai_flags & AI_NUMERICHOST) && strncmp(node, "slow", 4) == 0) {
        (void)sem_post(&begun);
        while (sem_wait(&hung) < 0)
            ;
    }
    return EAI_NONAME;
}

void freeaddrinfo(struct addrinfo *res)
{
    (void)res;
}

static void on_dialed(void *arg, int fd, const struct err *err)
{
    CHECK(fd < 0 && err);
    ++*(int *)arg;
}

static struct dial *dial_to(struct loop *l, const char *host, const char *tenant, int *count)
{
    struct dial_target to = { .host = host, .port = 80, .rule = { .trust = OUTGOING_ANY, .tenant = tenant } };
    return dial_tcp(l, &to, 600000, on_dialed, count);
}

static void work_nothing(void *arg)
{
    (void)arg;
}

static void count(void *arg)
{
    ++*(int *)arg;
}

TEST(a_name_server_that_hangs_stops_nobody_else)
{
    struct loop *l = NULL;
    struct dial *slow[SLOW];
    int n_slow = 0, n_other = 0, n_operator = 0, n_work = 0, n_begun = 0;
    CHECK_INT(sem_init(&begun, 0, 0), 0);
    CHECK_INT(sem_init(&hung, 0, 0), 0);
    CHECK_INT(loop_new(&l, NULL), 0);
    for (int i = 0; i < SLOW; i++)
        slow[i] = dial_to(l, "slow.test", "loud", &n_slow);
    (void)dial_to(l, "quick.test", "quiet", &n_other);
    (void)dial_to(l, "quick.test", NULL, &n_operator);
    for (int i = 0; i < 8; i++)
        CHECK_INT(loop_work(l, work_nothing, count, &n_work), 0);
    LOOPTURN_UNTIL(l, n_other && n_operator && n_work == 8);
    CHECK(n_other == 1 && n_operator == 1 && n_work == 8 && n_slow == 0);
    LOOPTURN_UNTIL(l, sem_getvalue(&begun, &n_begun) == 0 && n_begun == WAIT_WORK_THREADS / 4);
    CHECK_INT(n_begun, WAIT_WORK_THREADS / 4);
    for (int i = 10; i < SLOW; i++) /* most have not begun, some hang */
        slow[i] = dial_free(slow[i]);
    for (int i = 0; i < SLOW; i++)
        (void)sem_post(&hung);
    LOOPTURN_UNTIL(l, n_slow == 10);
    CHECK_INT(n_slow, 10);
    loop_free(l);
}

TEST(what_waits_when_the_loop_ends_is_freed)
{
    struct loop *l = NULL;
    struct dial *slow[SLOW];
    int n_slow = 0;
    CHECK_INT(loop_new(&l, NULL), 0);
    for (int i = 0; i < SLOW; i++)
        slow[i] = dial_to(l, "slow.test", "loud", &n_slow);
    LOOPTURN_UNTIL(l, sem_trywait(&begun) == 0);
    for (int i = 0; i < SLOW; i++) {
        slow[i] = dial_free(slow[i]);
        (void)sem_post(&hung);
    }
    loop_free(l);
    CHECK_INT(n_slow, 0);
}

int main(void)
{
    RUN(a_name_server_that_hangs_stops_nobody_else);
    RUN(what_waits_when_the_loop_ends_is_freed);
    return tap_done();
}
