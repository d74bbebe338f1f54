#include "sandbox/exec/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "sandbox/exec/kernel_wire.h"

extern const unsigned char python_driver[], javascript_driver[];
size_t python_driver_size(void);
size_t javascript_driver_size(void);

/* A driver arrives on standard input behind its length, so that lists of processes stay readable. */
static const char python_start[] = "import os\n"
                                   "n=int(os.read(0,8));s=b''\n"
                                   "while len(s)<n:s+=os.read(0,n-len(s))\n"
                                   "exec(compile(s,'<interpreter>','exec'))";
static const char node_start[] =
    "(()=>{const f=require('fs');function g(n){const b=Buffer.alloc(n);let a=0;while(a<n)"
    "try{a+=f.readSync(0,b,a,n-a)}catch(e){if(e.code!=='EAGAIN')throw e}return b}"
    "new (require('vm').Script)(g(+g(8)).toString(),{filename:'<interpreter>'}).runInThisContext()(require)})()";
/* The driver replies on descriptor 3: 1 and 2 belong to subprocesses and carry raw bytes. */
static const char node_shell[] = "command -v node >/dev/null || exit 127; exec node -e \"$1\" 3>&1 1>&2";

static const char *const python_argv[] = { "python3", "-u", "-c", python_start, NULL };
static const char *const node_argv[] = { "sh", "-c", node_shell, "sh", node_start, NULL };

struct language {
    const char *name, *program;
    const char *const *argv;
    const unsigned char *driver;
    size_t (*driver_size)(void);
};
static const struct language languages[] = {
    { "python", "python3", python_argv, python_driver, python_driver_size },
    { "javascript", "node", node_argv, javascript_driver, javascript_driver_size },
};

struct kernel {
    struct sandbox *s;
    const struct language *lang;
    struct guest_exec *exec;
    struct kernel_events ev;
    void *arg;
    struct buf in;   /* a frame that is still arriving */
    struct buf out;  /* not yet accepted by the driver */
    bool has_spoken; /* at least one frame came */
    bool is_inside;  /* a callback runs: the memory is freed after it returns */
    bool is_stopped;
};

static void free_kernel(struct kernel *k)
{
    buf_done(&k->in);
    buf_done(&k->out);
    sandbox_unref(k->s);
    free(k);
}

static void write_out(void *arg)
{
    struct kernel *k = arg;
    size_t n;
    while (k->exec && k->out.len && (n = guest_exec_write(k->exec, k->out.data, k->out.len)) > 0)
        buf_consume(&k->out, n);
}

static void kernel_end(struct kernel *k, const struct guest_exit *ex, const struct err *err)
{
    k->exec = NULL;
    if (!k->is_stopped)
        k->ev.on_end(k->arg, ex, err);
    k->is_stopped = true;
    if (!k->is_inside)
        free_kernel(k);
}

/* Hands over the whole frames of k->in. -EBADMSG when the bytes cannot be frames. */
static int take_frames(struct kernel *k)
{
    struct kernel_wire_frame f;
    size_t at = 0;
    int n = 0;
    while (!k->is_stopped && (n = kernel_wire_next(k->in.data + at, k->in.len - at, &f)) > 0) {
        k->has_spoken = true;
        k->ev.on_frame(k->arg, f.number, f.letter, f.data, f.len);
        at += (size_t)n;
    }
    buf_consume(&k->in, at);
    return n < 0 ? n : 0;
}

static void on_kernel_output(void *arg, int fd, const char *data, size_t len)
{
    struct kernel *k = arg;
    int r = 0;
    k->is_inside = true;
    guest_exec_credit(k->exec, len);
    if (fd == 2) {
        k->ev.on_raw(k->arg, data, len);
    } else {
        r = buf_add(&k->in, data, len);
        if (r == 0)
            r = take_frames(k);
    }
    k->is_inside = false;
    if (r < 0 && !k->is_stopped) { /* something in the sandbox wrote into the driver's pipe */
        struct err err = ERR_INIT;
        (void)err_set(&err, ERR_INTERNAL, 0, "protocol error on the interpreter's channel; its processes were killed");
        guest_exec_drop(k->exec);
        kernel_end(k, NULL, &err);
        return;
    }
    if (k->is_stopped)
        free_kernel(k);
}

static void missing(const struct kernel *k, struct err *err)
{
    (void)err_set(err, ERR_UNSUPPORTED, 0, "image %.100s has no %s: choose an image with it, or install it first",
                  k->s->image, k->lang->program);
}

static void on_exit_(void *arg, const struct guest_exit *ex)
{
    struct kernel *k = arg;
    struct err err = ERR_INIT;
    if (ex->code == 127 && !k->has_spoken) {
        missing(k, &err);
        kernel_end(k, NULL, &err);
        return;
    }
    kernel_end(k, ex, NULL);
}

static void on_kernel_failed(void *arg, const struct err *why)
{
    struct kernel *k = arg;
    struct err err = *why;
    if (err.code == ERR_NOT_FOUND && strstr(err.msg, k->lang->program) && !k->s->is_gone)
        missing(k, &err);
    else if (err.code == ERR_NOT_FOUND && !k->s->is_gone)
        err.code = ERR_INVALID; /* the folder, not the sandbox */
    kernel_end(k, NULL, &err);
}

static const struct language *language_of(const char *name)
{
    for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++)
        if (strcmp(languages[i].name, name) == 0)
            return &languages[i];
    return NULL;
}

int kernel_start(struct sandbox *s, const char *language, const char *cwd, const struct kernel_events *ev, void *arg,
                 struct kernel **ret, struct err *err)
{
    static const struct guest_exec_events events = { .on_output = on_kernel_output,
                                                     .on_exit = on_exit_,
                                                     .on_failed = on_kernel_failed };
    const struct language *lang = language_of(language);
    if (!lang)
        return err_set(err, ERR_INVALID, 0, "language: \"%.32s\" does not support contexts; python and javascript do",
                       language);
    struct kernel *k = xzalloc(sizeof(*k));
    *k = (struct kernel){ .s = sandbox_ref(s), .lang = lang, .ev = *ev, .arg = arg };
    buf_init(&k->in, GUEST_WINDOW + KERNEL_WIRE_PAYLOAD + KERNEL_WIRE_HEADER);
    buf_init(&k->out, KERNEL_QUEUE_MAX);
    struct guest_exec_plan plan = {
        .argv = lang->argv, .env = sandbox_env(s), .cwd = cwd, .user = s->user, .flags = GUEST_EXEC_STDIN
    };
    int r = guest_exec_start(s->link, &plan, &events, k, &k->exec, err);
    if (r < 0) {
        free_kernel(k);
        return r;
    }
    guest_exec_on_writable(k->exec, write_out, k);
    size_t size = lang->driver_size();
    (void)buf_addf(&k->out, "%08zu", size); /* far below the queue's maximum */
    (void)buf_add(&k->out, lang->driver, size);
    write_out(k);
    *ret = k;
    return 0;
}

int kernel_send(struct kernel *k, uint32_t number, enum kernel_letter letter, const char *data, size_t len)
{
    char head[KERNEL_WIRE_HEADER];
    if (!k->exec)
        return -EPIPE;
    if (len + sizeof(head) > k->out.max - k->out.len || buf_reserve(&k->out, len + sizeof(head)) < 0)
        return -ENOSPC;
    kernel_wire_header(head, number, (char)letter, (uint32_t)len);
    (void)buf_add(&k->out, head, sizeof(head)); /* room was reserved */
    (void)buf_add(&k->out, data, len);
    write_out(k);
    return 0;
}

void kernel_signal(struct kernel *k, int signo)
{
    if (k->exec)
        guest_exec_signal(k->exec, signo);
}

struct kernel *kernel_stop(struct kernel *k)
{
    if (!k)
        return NULL;
    if (k->exec)
        guest_exec_drop(k->exec);
    k->exec = NULL;
    k->is_stopped = true;
    if (!k->is_inside)
        free_kernel(k);
    return NULL;
}
