/* Theory of operation. A network is a bridge in a namespace of its own (runtime/bridge.h) that lives as long as our
 * descriptor of it; after a restart it is made again and its members rejoin. A VM has a fixed number of interfaces from
 * boot, and a network takes one of them. Join: the tool makes a veth pair from the bridge to the interface's TAP
 * device, then a note to the VM's init process gives the interface its name and addresses. Leave is the reverse.
 *
 * struct vm owns the bridges, a box owns its `struct vm_net_op`s: a queue of joins and leaves of which the first is
 * under way. Each calls its caller once and is freed. A join that fails after the tool made the veth pair is undone
 * by the tool before the error is reported. A VM that does not answer a leave is disconnected anyway. A paused VM
 * gets no note; vm_net_resumed() configures it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/seqsock.h"
#include "runtime/egress_redirect.h"
#include "vm/vm_core.h"

#define NOTE_FIRST_MS 20000
#define NOTE_MS       30000

struct vm_net_bridge {
    struct vm_net_bridge *next;
    struct vm *vm;
    char id[IDENT_MAX];
    int ns; /* NO_FD: it is being made */
    struct waiter *waiters;
    bool is_deleted; /* freed when no VM is connected to it any more */
    box_done_fn *fn; /* callback of the delete */
    void *arg;
};

struct waiter {
    struct waiter *next;
    box_done_fn *fn;
    void *arg;
};

/* A join or leave, waiting or under way. */
struct vm_net_op {
    struct vm_net_op *next;
    struct vm *vm;
    struct box *box; /* NULL: the box was destroyed while the tool was at work */
    char net_id[IDENT_MAX];
    struct box_plug plug; /* net_id in it is not kept */
    unsigned nic;
    bool is_join, is_begun, is_in_tool;
    struct vm_channel *channel;
    struct err err; /* of a join that is being undone */
    box_done_fn *fn;
    void *arg;
};

static void box_run_next_op(struct box *box);

static struct vm_net_bridge *net_find(const struct vm *vm, const char *id)
{
    struct vm_net_bridge *s = vm->bridges;
    while (s && (s->is_deleted || strcmp(s->id, id) != 0))
        s = s->next;
    return s;
}

/* --- bridges --- */

/* Calls back from the loop, never from inside a call, so that the lists do not change under us. Counted as work, so
 * that the driver outlives it. */
struct telling {
    struct vm *vm;
    box_done_fn *fn;
    void *arg;
    struct err err;
};

static void telling_run(void *arg)
{
    CLEANUP(free_p) struct telling *t = arg;
    t->vm->n_works--;
    if (!t->vm->is_ending)
        t->fn(t->arg, t->err.code ? &t->err : NULL);
}

static void tell_later(struct vm *vm, box_done_fn *fn, void *arg, const struct err *err)
{
    if (!fn || vm->is_ending)
        return;
    struct telling *t = xzalloc(sizeof(*t));
    *t = (struct telling){ .vm = vm, .fn = fn, .arg = arg, .err = err ? *err : (struct err)ERR_INIT };
    vm->n_works++;
    loop_defer(vm->base.loop, telling_run, t);
}

static void tell_waiters(struct vm_net_bridge *s, const struct err *err)
{
    for (struct waiter *w = STEAL(s->waiters), *next; w; w = next) {
        next = w->next;
        tell_later(s->vm, w->fn, w->arg, err);
        free(w);
    }
}

static void net_free(struct vm_net_bridge *s)
{
    struct vm_net_bridge **at = &s->vm->bridges;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    if (s->ns >= 0)
        (void)close(s->ns); /* the last reference: the kernel removes the bridge and its veth pairs */
    while (s->waiters) {
        struct waiter *w = s->waiters;
        s->waiters = w->next;
        free(w);
    }
    free(s);
}

static void wait_for(struct vm_net_bridge *s, box_done_fn *fn, void *arg)
{
    struct waiter *w = xzalloc(sizeof(*w)), **at = &s->waiters;
    *w = (struct waiter){ .fn = fn, .arg = arg };
    while (*at)
        at = &(*at)->next;
    *at = w;
}

static bool is_used(const struct vm *vm, const char *id)
{
    for (const struct box *b = vm->boxes; b; b = b->next) {
        for (unsigned i = 0; i < VM_TOOL_WIRE_NICS; i++)
            if (strcmp(b->nets[i], id) == 0)
                return true;
        for (const struct vm_net_op *op = b->net_ops; op; op = op->next)
            if (strcmp(op->net_id, id) == 0)
                return true;
    }
    return false;
}

/* Deletes the networks whose last VM has left. */
static void drop_unused(struct vm *vm)
{
    for (struct vm_net_bridge *s = vm->bridges, *next; s; s = next) {
        next = s->next;
        if (!s->is_deleted || s->ns < 0 || is_used(vm, s->id))
            continue;
        tell_later(vm, s->fn, s->arg, NULL);
        net_free(s);
    }
}

static void wake_all(struct vm *vm)
{
    for (struct box *b = vm->boxes; b; b = b->next)
        box_run_next_op(b);
}

static void net_on_made(void *arg, const struct vm_tool_wire_reply *reply, const int *fds, const struct err *err)
{
    struct vm_net_bridge *s = arg;
    struct vm *vm = s->vm;
    (void)reply;
    if (err) {
        tell_waiters(s, err);
        tell_later(vm, s->fn, s->arg, NULL); /* a delete of a network that was never made */
        net_free(s);
    } else {
        s->ns = fds[0];
        tell_waiters(s, NULL);
    }
    wake_all(vm);
    drop_unused(vm);
}

void vm_net_create(struct runtime *rt, const struct box_plug *net, box_done_fn *fn, void *arg)
{
    struct vm *vm = vm_of(rt);
    struct vm_net_bridge *s = net_find(vm, net->net_id);
    if (s && s->ns >= 0) {
        tell_later(vm, fn, arg, NULL);
        return;
    }
    if (!s) {
        struct vm_tool_wire_request q = { .version = VM_TOOL_WIRE_VERSION, .op = VM_TOOL_WIRE_BRIDGE };
        s = xzalloc(sizeof(*s));
        *s = (struct vm_net_bridge){ .next = vm->bridges, .vm = vm, .ns = NO_FD };
        (void)snprintf(s->id, sizeof(s->id), "%s", net->net_id);
        vm->bridges = s;
        vm_tool_call_start(&vm->site.calls, &q, "", NULL, 0, net_on_made, s);
    }
    wait_for(s, fn, arg);
}

void vm_net_delete(struct runtime *rt, const char *net_id, box_done_fn *fn, void *arg)
{
    struct vm *vm = vm_of(rt);
    struct vm_net_bridge *s = net_find(vm, net_id);
    if (!s) {
        tell_later(vm, fn, arg, NULL);
        return;
    }
    s->is_deleted = true;
    s->fn = fn;
    s->arg = arg;
    for (struct box *b = vm->boxes; b; b = b->next) {
        struct box_plug plug = { .net_id = s->id };
        for (unsigned i = 0; i < VM_TOOL_WIRE_NICS; i++)
            if (strcmp(b->nets[i], s->id) == 0) {
                plug.subnet = b->plugs[i].subnet;
                vm_net_detach(b, &plug, NULL, NULL);
            }
    }
    drop_unused(vm);
}

/* --- a membership --- */

static void op_free(struct vm_net_op *op)
{
    for (struct vm_net_op **at = op->box ? &op->box->net_ops : NULL; at && *at; at = &(*at)->next)
        if (*at == op) {
            *at = op->next;
            break;
        }
    vm_channel_cancel(op->channel);
    free(op);
}

static void op_finish(struct vm_net_op *op, const struct err *err)
{
    struct vm *vm = op->vm;
    struct box *box = op->box;
    /* The veth pairs disappear with the bridge, whatever the error was. */
    if (!op->is_join && (!err || !net_find(vm, op->net_id)))
        box->nets[op->nic][0] = '\0';
    tell_later(vm, op->fn, op->arg, err);
    op_free(op);
    box_run_next_op(box);
    drop_unused(vm);
}

static void op_ask_tool(struct vm_net_op *op, enum vm_tool_wire_op what, int ns, vm_tool_call_fn *fn)
{
    const struct box *box = op->box;
    struct vm_tool_wire_request q = { .version = VM_TOOL_WIRE_VERSION,
                                      .op = what,
                                      .pid = vm_instance_pid(box->instance),
                                      .start_time = vm_instance_start_time(box->instance),
                                      .nic = op->nic,
                                      .subnet = op->plug.subnet,
                                      .address = op->plug.address,
                                      .net_kbps = op->plug.kbps };
    memcpy(q.name, box->name, sizeof(q.name));
    op->is_in_tool = true;
    vm_tool_call_start(&op->vm->site.calls, &q, "", &ns, ns >= 0, fn, op);
}

static void op_send_note(struct vm_net_op *op, vm_channel_fn *fn)
{
    struct vm_channel_options opt = { .first_ms = NOTE_FIRST_MS, .deadline_ms = NOTE_MS };
    opt.handshake.what = op->is_join ? VM_HANDSHAKE_PLUG : VM_HANDSHAKE_UNPLUG;
    memcpy(opt.handshake.token, op->box->token, sizeof(opt.handshake.token));
    vm_handshake_mac(op->nic, opt.handshake.nic[0].mac);
    if (op->is_join) {
        opt.handshake.nic[0].address = op->plug.address;
        opt.handshake.nic[0].prefix = (uint8_t)op->plug.prefix;
        (void)snprintf(opt.handshake.hostname, sizeof(opt.handshake.hostname), "net%u", op->plug.subnet);
    }
    op->channel = vm_instance_note(op->box->instance, &opt, fn, op);
}

/* Takes an op back from the tool. False: its box was destroyed meanwhile, and the op is freed. */
static bool op_is_wanted(struct vm_net_op *op)
{
    bool has_box = op->box != NULL;
    op->is_in_tool = false;
    if (!has_box)
        op_free(op);
    return has_box;
}

static void op_on_left(void *arg, const struct vm_tool_wire_reply *reply, const int *fds, const struct err *err)
{
    struct vm_net_op *op = arg;
    (void)reply;
    (void)fds;
    if (!op_is_wanted(op))
        return;
    if (op->is_join) { /* an undone join reports its own error */
        op->box->nets[op->nic][0] = '\0';
        err = &op->err;
    }
    op_finish(op, err);
}

static void on_noted(void *arg, int fd, const struct err *err)
{
    struct vm_net_op *op = arg;
    op->channel = NULL;
    if (fd >= 0)
        (void)close(fd); /* nothing follows the reply */
    if (op->is_join && !err) {
        op_finish(op, NULL);
        return;
    }
    if (op->is_join)
        op->err = *err;
    op_ask_tool(op, VM_TOOL_WIRE_LEAVE, NO_FD, op_on_left); /* a VM that does not answer is disconnected anyway */
}

static void op_on_joined(void *arg, const struct vm_tool_wire_reply *reply, const int *fds, const struct err *err)
{
    struct vm_net_op *op = arg;
    (void)reply;
    (void)fds;
    if (!op_is_wanted(op))
        return;
    if (err) {
        op->box->nets[op->nic][0] = '\0';
        op_finish(op, err);
    } else {
        op_send_note(op, on_noted);
    }
}

/* The interface of a network, or a free one. */
static unsigned nic_of(const struct box *box, const char *id)
{
    unsigned i = VM_TOOL_WIRE_NIC_OUT + 1;
    while (i < VM_TOOL_WIRE_NICS && strcmp(box->nets[i], id) != 0)
        i++;
    return i;
}

static void begin_join(struct vm_net_op *op)
{
    struct box *box = op->box;
    struct err err = ERR_INIT;
    const struct vm_net_bridge *s = net_find(op->vm, op->net_id);
    if (s && s->ns < 0)
        return; /* net_on_made() calls us again */
    op->is_begun = true;
    op->nic = nic_of(box, op->net_id);
    if (op->nic == VM_TOOL_WIRE_NICS)
        op->nic = nic_of(box, "");
    if (!s)
        (void)err_set(&err, ERR_NOT_FOUND, 0, "network %s is not set up", op->net_id);
    else if (op->nic == VM_TOOL_WIRE_NICS)
        (void)err_set(&err, ERR_CAPACITY, 0,
                      "sandbox %s is in %u networks, the maximum of a VM: disconnect it "
                      "from one",
                      box->id, VM_TOOL_WIRE_NICS - 1);
    if (!s || err.code) {
        op_finish(op, &err);
        return;
    }
    (void)snprintf(box->nets[op->nic], sizeof(box->nets[op->nic]), "%s", op->net_id);
    box->plugs[op->nic] = op->plug;
    if (box->is_paused)
        op_finish(op, NULL); /* vm_net_resumed() sends the note */
    else
        op_ask_tool(op, VM_TOOL_WIRE_JOIN, s->ns, op_on_joined);
}

static void begin_leave(struct vm_net_op *op)
{
    op->is_begun = true;
    op->nic = nic_of(op->box, op->net_id);
    if (op->nic == VM_TOOL_WIRE_NICS) {
        op->nic = VM_TOOL_WIRE_NIC_OUT; /* no egress interface: nothing to change */
        op_finish(op, NULL);
    } else if (op->box->is_paused) { /* it gets the note when the interface is used again */
        op_ask_tool(op, VM_TOOL_WIRE_LEAVE, NO_FD, op_on_left);
    } else {
        op_send_note(op, on_noted);
    }
}

static void box_run_next_op(struct box *box)
{
    struct vm_net_op *op = box->net_ops;
    if (!op || op->is_begun || !box->instance)
        return;
    if (op->is_join)
        begin_join(op);
    else
        begin_leave(op);
}

static void go_on_later(void *arg)
{
    struct vm *vm = arg;
    vm->n_works--;
    wake_all(vm);
}

static void add_op(struct box *box, const struct box_plug *plug, bool is_join, box_done_fn *fn, void *arg)
{
    struct vm_net_op *op = xzalloc(sizeof(*op)), **at = &box->net_ops;
    *op = (struct vm_net_op){ .vm = box->vm, .box = box, .plug = *plug, .is_join = is_join, .fn = fn, .arg = arg };
    (void)snprintf(op->net_id, sizeof(op->net_id), "%s", plug->net_id);
    op->plug.net_id = NULL;
    while (*at)
        at = &(*at)->next;
    *at = op;
    box->vm->n_works++;
    loop_defer(box->vm->base.loop, go_on_later, box->vm);
}

void vm_net_attach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg)
{
    add_op(box, plug, true, fn, arg);
}

void vm_net_detach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg)
{
    add_op(box, plug, false, fn, arg);
}

/* Sends the notes of networks joined while the VM was paused; harmless for the others. */
void vm_net_resumed(struct box *box)
{
    for (unsigned i = VM_TOOL_WIRE_NIC_OUT + 1; i < VM_TOOL_WIRE_NICS; i++) {
        struct box_plug plug = box->plugs[i];
        plug.net_id = box->nets[i];
        if (*plug.net_id)
            vm_net_attach(box, &plug, NULL, NULL);
    }
}

void vm_net_forget_box(struct box *box)
{
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_GONE, 0, "the VM of sandbox %s has exited", box->id);
    for (struct vm_net_op *op; (op = box->net_ops);) {
        box->net_ops = op->next;
        tell_later(op->vm, op->fn, op->arg, &err);
        op->fn = NULL;
        op->box = NULL;
        if (!op->is_in_tool)
            op_free(op);
    }
    memset(box->nets, 0, sizeof(box->nets));
    drop_unused(box->vm);
}

void vm_net_end_all(struct vm *vm)
{
    while (vm->bridges)
        net_free(vm->bridges);
}

/* --- egress --- */

struct opening {
    struct vm *vm;
    box_egress_fn *fn;
    void *arg;
};

static void on_egress_redirect(void *arg, const struct vm_tool_wire_reply *reply, const int *fds, const struct err *err)
{
    CLEANUP(free_p) struct opening *o = arg;
    int mine[VM_TOOL_WIRE_REPLY_FDS];
    (void)reply;
    memcpy(mine, fds, sizeof(mine));
    if (!o->vm->is_ending)
        o->fn(o->arg, mine[EGRESS_REDIRECT_TCP], mine[EGRESS_REDIRECT_DNS], err);
    else
        seqsock_close_all(mine, VM_TOOL_WIRE_REPLY_FDS);
}

void vm_net_open_egress(struct box *box, box_egress_fn *fn, void *arg)
{
    struct opening *o = xzalloc(sizeof(*o));
    struct vm_tool_wire_request q = { .version = VM_TOOL_WIRE_VERSION,
                                      .op = VM_TOOL_WIRE_EGRESS_REDIRECT,
                                      .pid = vm_instance_pid(box->instance),
                                      .start_time = vm_instance_start_time(box->instance) };
    memcpy(q.name, box->name, sizeof(q.name));
    *o = (struct opening){ .vm = box->vm, .fn = fn, .arg = arg };
    vm_tool_call_start(&box->vm->site.calls, &q, "", NULL, 0, on_egress_redirect, o);
}

void vm_net_handshake(const struct box *box, bool has_network, struct vm_handshake *h)
{
    if (!box->vm->site.has_taps)
        return;
    vm_handshake_mac(VM_TOOL_WIRE_NIC_OUT, h->nic[0].mac);
    if (!has_network)
        return;
    h->nic[0].address = EGRESS_REDIRECT_ADDRESS;
    h->nic[0].prefix = EGRESS_REDIRECT_PREFIX;
    h->nic[0].gateway = EGRESS_REDIRECT_GATEWAY;
}
