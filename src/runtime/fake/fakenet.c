/* What a fake box is connected to: volumes, networks, sockets of egress. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runtime/fake/fake_core.h"

/* --- volumes --- */

static bool is_mounted(const struct fake_host *h, const char *id)
{
    for (struct map_iter it = map_iter(h->boxes); map_next(&it);)
        for (struct map_iter at = map_iter(((struct fake_box *)it.value)->volumes); map_next(&at);)
            if (strcmp(at.value, id) == 0)
                return true;
    return false;
}

void fakenet_mount(struct box *box, const struct box_volume *v, box_done_fn *fn, void *arg)
{
    struct fake_fate fate;
    struct err err = ERR_INIT;
    if (fake_begin_alive(box, FAKE_MOUNT, &fate, &err)) {
        map_set(box->f->host->volumes, v->id, box->f->host);
        if (map_get(box->fb->volumes, v->target)) {
            (void)err_set(&err, ERR_CONFLICT, EBUSY, "something is mounted on %s of fake box %s", v->target,
                          box->fb->id);
        } else {
            if (is_mounted(box->f->host, v->id))
                fake_complain(box->f->host, "mounted twice", v->id);
            map_set(box->fb->volumes, v->target, xstrdup(v->id));
        }
    }
    fake_post_done(box->f, &fate, err.code ? &err : NULL, fn, arg);
    fake_end(box->f, box->fb, &fate);
}

void fakenet_unmount(struct box *box, const struct box_volume *v, box_done_fn *fn, void *arg)
{
    struct fake_fate fate;
    struct err err = ERR_INIT;
    const char *there = map_get(box->fb->volumes, v->target);
    if (fake_begin_alive(box, FAKE_UNMOUNT, &fate, &err) && there && strcmp(there, v->id) == 0)
        free(map_remove(box->fb->volumes, v->target));
    fake_post_done(box->f, &fate, err.code ? &err : NULL, fn, arg);
    fake_end(box->f, box->fb, &fate);
}

void fakenet_remove_volume(struct runtime *rt, const char *id, box_done_fn *fn, void *arg)
{
    struct fake *f = fake_of(rt);
    struct fake_fate fate;
    struct err err = ERR_INIT;
    if (fake_begin(f, FAKE_REMOVE_VOLUME, id, &fate, &err)) {
        if (is_mounted(f->host, id))
            fake_complain(f->host, "removed while it is mounted", id);
        (void)map_remove(f->host->volumes, id);
    }
    fake_post_done(f, &fate, err.code ? &err : NULL, fn, arg);
    fake_end(f, NULL, &fate);
}

/* --- networks --- */

void fakenet_create(struct runtime *rt, const struct box_plug *net, box_done_fn *fn, void *arg)
{
    struct fake *f = fake_of(rt);
    struct fake_fate fate;
    struct err err = ERR_INIT;
    if (fake_begin(f, FAKE_NET_CREATE, net->net_id, &fate, &err) && !map_get(f->networks, net->net_id)) {
        for (struct map_iter it = map_iter(f->networks); map_next(&it);)
            if (((struct fake_network *)it.value)->subnet == net->subnet)
                (void)err_set(&err, ERR_CONFLICT, 0, "subnet %u is that of %s", net->subnet, it.key);
        struct fake_network *made = err.code ? NULL : xzalloc(sizeof(*made));
        if (made) {
            made->subnet = net->subnet;
            map_set(f->networks, net->net_id, made);
        }
    }
    fake_post_done(f, &fate, err.code ? &err : NULL, fn, arg);
    fake_end(f, NULL, &fate);
}

void fakenet_delete(struct runtime *rt, const char *net_id, box_done_fn *fn, void *arg)
{
    struct fake *f = fake_of(rt);
    struct fake_fate fate;
    struct err err = ERR_INIT;
    if (fake_begin(f, FAKE_NET_DELETE, net_id, &fate, &err)) {
        free(map_remove(f->networks, net_id));
        for (struct map_iter it = map_iter(f->host->boxes); map_next(&it);)
            (void)map_remove(((struct fake_box *)it.value)->networks, net_id); /* cuts its members */
    }
    fake_post_done(f, &fate, err.code ? &err : NULL, fn, arg);
    fake_end(f, NULL, &fate);
}

void fakenet_attach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg)
{
    struct fake *f = box->f;
    struct fake_fate fate;
    struct err err = ERR_INIT;
    if (fake_begin_alive(box, FAKE_NET_ATTACH, &fate, &err)) {
        for (struct map_iter it = map_iter(f->host->boxes); map_next(&it);)
            if (it.value != box->fb && fake_address(f->host, it.key, plug->net_id) == plug->address)
                fake_complain(f->host, "has an address of its network that another box has", box->fb->id);
        if (!map_get(f->networks, plug->net_id))
            (void)err_set(&err, ERR_NOT_FOUND, 0, "fake network %s is not there", plug->net_id);
        else
            map_set(box->fb->networks, plug->net_id, (void *)(uintptr_t)plug->address);
    }
    fake_post_done(f, &fate, err.code ? &err : NULL, fn, arg);
    fake_end(f, box->fb, &fate);
}

void fakenet_detach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg)
{
    struct fake_fate fate;
    struct err err = ERR_INIT;
    if (fake_begin_alive(box, FAKE_NET_DETACH, &fate, &err))
        (void)map_remove(box->fb->networks, plug->net_id);
    fake_post_done(box->f, &fate, err.code ? &err : NULL, fn, arg);
    fake_end(box->f, box->fb, &fate);
}

/* Sockets that nothing ever connects to. */
static int quiet_socket(int kind)
{
    struct sockaddr_un any = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof(any.sun_family)) == 0 &&
        (kind != SOCK_STREAM || listen(fd, 1) == 0))
        return fd;
    int r = -errno;
    if (fd >= 0)
        (void)close(fd); /* nothing was written */
    return r;
}

void fakenet_open_egress(struct box *box, box_egress_fn *fn, void *arg)
{
    struct fake_fate fate;
    struct call c = { .kind = CALL_EGRESS, .fn.egress = fn, .arg = arg, .fds = { NO_FD, NO_FD } };
    if (fake_begin_alive(box, FAKE_EGRESS, &fate, &c.err)) {
        c.fds[0] = quiet_socket(SOCK_STREAM);
        c.fds[1] = quiet_socket(SOCK_DGRAM);
        int bad = c.fds[0] < 0 ? c.fds[0] : c.fds[1];
        if (bad < 0) {
            for (int i = 0; i < 2; i++)
                if (c.fds[i] >= 0)
                    (void)close(c.fds[i]); /* nobody has them */
            c.fds[0] = c.fds[1] = NO_FD;
            (void)err_sys(&c.err, bad, "sockets of fake box %s", box->fb->id);
        }
    }
    fake_post(box->f, &c, fate.delay_ms);
    fake_end(box->f, box->fb, &fate);
}
