/* The server whose sandboxes a build runs in: a running one, or a private one for the duration of the build. Calls
 * block; after build_server_catch(), SIGINT and SIGTERM end the current call with -EINTR. May include: base/, loop/,
 * http/. */
#pragma once
#include <stdatomic.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"
#include "loop/loop.h"

struct build_server {
    char *url;
    pid_t pid; /* of the private server; 0: the server was already running */
    struct loop *loop;
    struct watch *signals;
    void *call; /* private: the call being waited for */
};

/* From now on SIGINT and SIGTERM do not terminate the process, but make *ret true. Before build_server_open(). */
int build_server_catch(const atomic_bool **ret, struct err *err);

/* url NULL: when a server holds data_dir's lock, the one at III_HOST and III_REST_PORT; else our own is started.
 */
int build_server_open(const char *data_dir, const char *url, struct build_server *ret, struct err *err);
void build_server_done(struct build_server *b); /* for CLEANUP() too; terminates the private server and waits for it */

/* path: below /sandbox. body: borrowed, or NULL. *ret: the reply, owned by the caller; ret may be NULL. */
int build_server_call(struct build_server *b, const char *method, const char *path, const json_t *body, json_t **ret,
                      struct err *err);
/* The same for an operation that replies with server-sent events. */
typedef void build_server_event_fn(void *arg, const json_t *event);
int build_server_stream(struct build_server *b, const char *path, const json_t *body, build_server_event_fn *fn,
                        void *arg, struct err *err);
