/* Theory of operation. A job is in the queue, runs on a detached thread of its own, or is in the list of those that
 * have finished, which the loop empties when an eventfd says so. The queue and the counts belong to the loop's thread;
 * the list and n_running are under a mutex. A job begins when its owner's share has room: the first such one in the
 * queue. There is one set for each loop, made with its first job and freed with the loop, which waits for what runs. */
#include "loop/wait_work.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/share.h"

struct wait_set;

struct wait_work {
    TAILQ_ENTRY(wait_work) link;
    struct wait_set *set;
    char *owner;
    loop_fn *work, *done;
    void *arg;
    bool is_begun;
};

TAILQ_HEAD(job_list, wait_work);

struct wait_set {
    struct loop *loop;
    struct wait_set *next;
    struct watch *watch;
    int event;
    struct job_list queue;
    struct share *share;
    pthread_mutex_t lock;
    pthread_cond_t settled;
    struct job_list finished;
    size_t n_running;
};

static struct wait_set *sets; /* used on the thread that makes and frees loops only */

static void begin_some(struct wait_set *set);

static void *run_job(void *arg)
{
    struct wait_work *w = arg;
    struct wait_set *set = w->set;
    uint64_t one = 1;
    w->work(w->arg);
    (void)pthread_mutex_lock(&set->lock); /* these calls fail only on misuse */
    TAILQ_INSERT_TAIL(&set->finished, w, link);
    (void)!write(set->event, &one, sizeof(one)); /* a full counter wakes the loop as well */
    set->n_running--;
    (void)pthread_cond_signal(&set->settled);
    (void)pthread_mutex_unlock(&set->lock); /* the set may be gone after this */
    return NULL;
}

static void job_free(struct wait_work *w)
{
    free(w->owner);
    free(w);
}

static void finish_job(struct wait_work *w)
{
    loop_fn *done = w->done;
    void *arg = w->arg;
    if (w->is_begun)
        share_give(w->set->share, w->owner, 1);
    job_free(w);
    done(arg);
}

static void finish_some(void *arg, int events)
{
    struct wait_set *set = arg;
    struct job_list finished = TAILQ_HEAD_INITIALIZER(finished);
    uint64_t count;
    (void)events;
    (void)!read(set->event, &count, sizeof(count)); /* only empties it */
    (void)pthread_mutex_lock(&set->lock);
    TAILQ_CONCAT(&finished, &set->finished, link);
    (void)pthread_mutex_unlock(&set->lock);
    for (struct wait_work *w; (w = TAILQ_FIRST(&finished));) {
        TAILQ_REMOVE(&finished, w, link);
        finish_job(w);
    }
    begin_some(set);
}

/* Without a thread it fails as one that found nothing does: done is called without work. */
static void begin_job(struct wait_set *set, struct wait_work *w)
{
    pthread_t thread;
    pthread_attr_t attr;
    w->is_begun = true;
    share_add(set->share, w->owner, 1);
    (void)pthread_mutex_lock(&set->lock);
    set->n_running++;
    (void)pthread_mutex_unlock(&set->lock);
    bool has_attr = pthread_attr_init(&attr) == 0;
    bool is_made = has_attr && pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED) == 0 &&
                   pthread_create(&thread, &attr, run_job, w) == 0;
    if (has_attr)
        (void)pthread_attr_destroy(&attr);
    if (is_made)
        return;
    uint64_t one = 1;
    (void)pthread_mutex_lock(&set->lock);
    set->n_running--;
    TAILQ_INSERT_TAIL(&set->finished, w, link);
    (void)pthread_mutex_unlock(&set->lock);
    (void)!write(set->event, &one, sizeof(one));
}

static void begin_some(struct wait_set *set)
{
    for (struct wait_work *w = TAILQ_FIRST(&set->queue), *next; w && share_has_room(set->share, "", 1); w = next) {
        next = TAILQ_NEXT(w, link);
        if (!share_has_room(set->share, w->owner, 1))
            continue;
        TAILQ_REMOVE(&set->queue, w, link);
        begin_job(set, w);
    }
}

static void set_end(void *arg)
{
    struct wait_set *set = arg, **at = &sets;
    (void)pthread_mutex_lock(&set->lock);
    while (set->n_running)
        (void)pthread_cond_wait(&set->settled, &set->lock);
    (void)pthread_mutex_unlock(&set->lock);
    TAILQ_CONCAT(&set->finished, &set->queue, link);
    for (struct wait_work *w; (w = TAILQ_FIRST(&set->finished));) {
        TAILQ_REMOVE(&set->finished, w, link);
        finish_job(w);
    }
    while (*at != set)
        at = &(*at)->next;
    *at = set->next;
    watch_free(set->watch);
    (void)close(set->event);
    share_free(set->share);
    (void)pthread_cond_destroy(&set->settled);
    (void)pthread_mutex_destroy(&set->lock);
    free(set);
}

static struct wait_set *set_of(struct loop *l)
{
    struct wait_set *set = sets;
    while (set && set->loop != l)
        set = set->next;
    if (set)
        return set;
    set = xzalloc(sizeof(*set));
    set->loop = l;
    set->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (set->event < 0 || watch_new(l, set->event, LOOP_READ, finish_some, set, &set->watch) < 0) {
        if (set->event >= 0)
            (void)close(set->event);
        free(set);
        return NULL;
    }
    TAILQ_INIT(&set->queue);
    TAILQ_INIT(&set->finished);
    set->share = share_new(WAIT_WORK_THREADS);
    (void)pthread_mutex_init(&set->lock, NULL); /* always 0 without attributes, as the next one */
    (void)pthread_cond_init(&set->settled, NULL);
    (void)loop_on_end(l, set_end, set);
    set->next = sets;
    sets = set;
    return set;
}

struct wait_work *wait_work_start(struct loop *l, const char *owner, loop_fn *work, loop_fn *done, void *arg)
{
    struct wait_set *set = set_of(l);
    if (!set)
        return NULL;
    struct wait_work *w = xzalloc(sizeof(*w));
    *w = (struct wait_work){ .set = set, .owner = xstrdup(owner), .work = work, .done = done, .arg = arg };
    TAILQ_INSERT_TAIL(&set->queue, w, link);
    begin_some(set);
    return w;
}

bool wait_work_cancel(struct wait_work *w)
{
    if (w->is_begun)
        return false;
    TAILQ_REMOVE(&w->set->queue, w, link);
    job_free(w);
    return true;
}
