/* Theory of operation. The codec of the guest protocol, shared by host and agent. Everything is memcpy and shifts: no
 * alignment, no byte order, no allocation, no state beyond the caller's reader or writer.
 *
 * A writer that runs full sets is_full and writes nothing more; a reader that meets a bad field sets is_bad and returns
 * zeroes and "" from then on. So callers encode or decode all fields and check once at the end.
 *
 * Each type's layout is one row of a table. proto_check() validates a complete untrusted payload against it, so the
 * reads after it cannot fail; the table and the documentation in the header are the only two places that know the
 * layout. */
#include "guest/proto.h"

#include <errno.h>
#include <string.h>

/* --- frames --- */

static void number_store(uint8_t *out, uint64_t v, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t number_load(const uint8_t *in, size_t bytes)
{
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)in[i] << (8 * i);
    return v;
}

void proto_header_put(uint8_t out[PROTO_HEADER], const struct proto_header *h)
{
    number_store(out, h->length, 4);
    number_store(out + 4, h->stream, 4);
    number_store(out + 8, h->type, 2);
    number_store(out + 10, h->flags, 2);
}

int proto_header_get(const uint8_t in[PROTO_HEADER], struct proto_header *ret)
{
    struct proto_header h = {
        .length = (uint32_t)number_load(in, 4),
        .stream = (uint32_t)number_load(in + 4, 4),
        .type = (uint16_t)number_load(in + 8, 2),
        .flags = (uint16_t)number_load(in + 10, 2),
    };
    if (h.length > PROTO_PAYLOAD_MAX)
        return -EMSGSIZE;
    if (h.flags & ~PROTO_MORE)
        return -EBADMSG;
    *ret = h;
    return 0;
}

/* --- writing --- */

void proto_writer_init(struct proto_writer *w, void *mem, size_t cap)
{
    *w = (struct proto_writer){ .data = mem, .cap = cap };
}

static uint8_t *writer_grow(struct proto_writer *w, size_t n)
{
    if (w->is_full || n > w->cap - w->len) {
        w->is_full = true;
        return NULL;
    }
    uint8_t *at = w->data + w->len;
    w->len += n;
    return at;
}

static void number_put(struct proto_writer *w, uint64_t v, size_t bytes)
{
    uint8_t *at = writer_grow(w, bytes);
    if (at)
        number_store(at, v, bytes);
}

void proto_put_u8(struct proto_writer *w, uint8_t v)
{
    number_put(w, v, 1);
}

void proto_put_u16(struct proto_writer *w, uint16_t v)
{
    number_put(w, v, 2);
}

void proto_put_u32(struct proto_writer *w, uint32_t v)
{
    number_put(w, v, 4);
}

void proto_put_u64(struct proto_writer *w, uint64_t v)
{
    number_put(w, v, 8);
}

void proto_put_str(struct proto_writer *w, const char *s)
{
    size_t n = s ? strlen(s) : 0;
    uint8_t *at = n < UINT32_MAX - 5 ? writer_grow(w, 4 + n + 1) : NULL;
    if (!at) {
        w->is_full = true;
        return;
    }
    number_store(at, n, 4);
    if (n)
        memcpy(at + 4, s, n);
    at[4 + n] = 0;
}

void proto_put_data(struct proto_writer *w, const void *data, size_t len)
{
    uint8_t *at = writer_grow(w, len);
    if (at && len)
        memcpy(at, data, len);
}

void proto_put_exit(struct proto_writer *w, const struct proto_exit *x)
{
    proto_put_u32(w, x->code);
    proto_put_u32(w, x->signal);
    proto_put_u32(w, x->flags);
    proto_put_u64(w, x->user_us);
    proto_put_u64(w, x->system_us);
    proto_put_u64(w, x->max_rss_kb);
    proto_put_u64(w, x->wall_us);
}

void proto_put_stat(struct proto_writer *w, const struct proto_stat *st)
{
    size_t start = w->len;
    proto_put_str(w, st->path);
    proto_put_u64(w, st->size);
    proto_put_u32(w, st->mode);
    proto_put_u32(w, st->uid);
    proto_put_u32(w, st->gid);
    proto_put_str(w, st->owner);
    proto_put_str(w, st->group);
    proto_put_u64(w, (uint64_t)st->mtime_ms);
    proto_put_str(w, st->target);
    if (w->is_full)
        w->len = start;
}

void proto_put_process(struct proto_writer *w, const struct proto_process *p)
{
    size_t start = w->len;
    proto_put_u32(w, p->pid);
    proto_put_u32(w, p->ppid);
    proto_put_str(w, p->user);
    proto_put_str(w, p->command);
    proto_put_u32(w, p->cpu_centi);
    proto_put_u64(w, p->rss_kb);
    proto_put_u64(w, p->vsz_kb);
    proto_put_u8(w, (uint8_t)p->state);
    if (w->is_full)
        w->len = start;
}

void proto_put_handshake(struct proto_writer *w, uint32_t caps)
{
    proto_put_u32(w, PROTO_MAGIC);
    proto_put_u16(w, PROTO_VERSION);
    proto_put_u16(w, PROTO_OLDEST);
    proto_put_u32(w, caps);
}

void proto_frame_begin(struct proto_writer *w, void *mem, size_t cap)
{
    proto_writer_init(w, mem, cap);
    (void)writer_grow(w, PROTO_HEADER);
}

int proto_frame_end(struct proto_writer *w, uint32_t stream, uint16_t type, uint16_t flags)
{
    if (w->is_full || w->len > PROTO_FRAME_MAX)
        return -EMSGSIZE;
    struct proto_header h = {
        .length = (uint32_t)(w->len - PROTO_HEADER), .stream = stream, .type = type, .flags = flags
    };
    proto_header_put(w->data, &h);
    return (int)w->len;
}

/* --- reading --- */

void proto_reader_init(struct proto_reader *r, const void *payload, size_t len)
{
    *r = (struct proto_reader){ .data = payload, .left = len };
}

static const uint8_t *bytes_take(struct proto_reader *r, size_t n)
{
    if (r->is_bad || n > r->left) {
        r->is_bad = true;
        return NULL;
    }
    const uint8_t *at = r->data;
    r->data += n;
    r->left -= n;
    return at;
}

static uint64_t number_get(struct proto_reader *r, size_t bytes)
{
    const uint8_t *at = bytes_take(r, bytes);
    return at ? number_load(at, bytes) : 0;
}

uint8_t proto_get_u8(struct proto_reader *r)
{
    return (uint8_t)number_get(r, 1);
}

uint16_t proto_get_u16(struct proto_reader *r)
{
    return (uint16_t)number_get(r, 2);
}

uint32_t proto_get_u32(struct proto_reader *r)
{
    return (uint32_t)number_get(r, 4);
}

uint64_t proto_get_u64(struct proto_reader *r)
{
    return number_get(r, 8);
}

const char *proto_get_str(struct proto_reader *r, size_t max)
{
    size_t n = (size_t)number_get(r, 4);
    if (r->is_bad || n > max || n >= r->left || memchr(r->data, 0, n) || r->data[n] != 0) {
        r->is_bad = true;
        return "";
    }
    return (const char *)bytes_take(r, n + 1);
}

const uint8_t *proto_get_rest(struct proto_reader *r, size_t *ret_len)
{
    size_t n = r->is_bad ? 0 : r->left;
    const uint8_t *at = bytes_take(r, n);
    *ret_len = n;
    return at ? at : (const uint8_t *)"";
}

uint32_t proto_get_count(struct proto_reader *r, uint32_t max)
{
    uint32_t n = proto_get_u32(r);
    if (n == PROTO_NO_STRS)
        return n;
    if (n > max || n > r->left / 5) { /* the shortest string takes five bytes */
        r->is_bad = true;
        return 0;
    }
    return n;
}

void proto_get_exit(struct proto_reader *r, struct proto_exit *ret)
{
    ret->code = proto_get_u32(r);
    ret->signal = proto_get_u32(r);
    ret->flags = proto_get_u32(r);
    ret->user_us = proto_get_u64(r);
    ret->system_us = proto_get_u64(r);
    ret->max_rss_kb = proto_get_u64(r);
    ret->wall_us = proto_get_u64(r);
}

void proto_put_change(struct proto_writer *w, const struct proto_change *c)
{
    size_t start = w->len;
    proto_put_u8(w, c->kind);
    proto_put_u8(w, c->is_folder);
    proto_put_str(w, c->path);
    proto_put_str(w, c->text);
    if (w->is_full)
        w->len = start;
}

void proto_put_listener(struct proto_writer *w, const struct proto_listener *l)
{
    size_t start = w->len;
    proto_put_u16(w, l->port);
    proto_put_u32(w, l->pid);
    proto_put_str(w, l->address);
    proto_put_str(w, l->program);
    if (w->is_full)
        w->len = start;
}

void proto_put_row(struct proto_writer *w, const struct proto_row *row)
{
    size_t start = w->len;
    proto_put_str(w, row->path);
    proto_put_u64(w, row->number);
    proto_put_u8(w, row->is_set);
    proto_put_str(w, row->text);
    if (w->is_full)
        w->len = start;
}

void proto_get_change(struct proto_reader *r, struct proto_change *ret)
{
    ret->kind = proto_get_u8(r);
    ret->is_folder = proto_get_u8(r);
    ret->path = proto_get_str(r, PROTO_PATH_MAX);
    ret->text = proto_get_str(r, PROTO_PATH_MAX);
    r->is_bad |= ret->kind == 0 || ret->kind > PROTO_CHANGE_LAST;
}

void proto_get_listener(struct proto_reader *r, struct proto_listener *ret)
{
    ret->port = proto_get_u16(r);
    ret->pid = proto_get_u32(r);
    ret->address = proto_get_str(r, PROTO_ADDRESS_MAX);
    ret->program = proto_get_str(r, PROTO_PROGRAM_MAX);
    r->is_bad |= ret->port == 0;
}

void proto_get_row(struct proto_reader *r, struct proto_row *ret)
{
    ret->path = proto_get_str(r, PROTO_PATH_MAX);
    ret->number = proto_get_u64(r);
    ret->is_set = proto_get_u8(r);
    ret->text = proto_get_str(r, PROTO_ROW_TEXT_MAX);
}

void proto_get_stat(struct proto_reader *r, struct proto_stat *ret)
{
    ret->path = proto_get_str(r, PROTO_PATH_MAX);
    ret->size = proto_get_u64(r);
    ret->mode = proto_get_u32(r);
    ret->uid = proto_get_u32(r);
    ret->gid = proto_get_u32(r);
    ret->owner = proto_get_str(r, 255);
    ret->group = proto_get_str(r, 255);
    ret->mtime_ms = (int64_t)proto_get_u64(r);
    ret->target = proto_get_str(r, PROTO_PATH_MAX);
}

void proto_get_process(struct proto_reader *r, struct proto_process *ret)
{
    ret->pid = proto_get_u32(r);
    ret->ppid = proto_get_u32(r);
    ret->user = proto_get_str(r, 255);
    ret->command = proto_get_str(r, PROTO_COMMAND_MAX);
    ret->cpu_centi = proto_get_u32(r);
    ret->rss_kb = proto_get_u64(r);
    ret->vsz_kb = proto_get_u64(r);
    ret->state = (char)proto_get_u8(r);
}

void proto_get_handshake(struct proto_reader *r, struct proto_handshake *ret)
{
    ret->magic = proto_get_u32(r);
    ret->version = proto_get_u16(r);
    ret->oldest = proto_get_u16(r);
    ret->caps = proto_get_u32(r);
    if (ret->oldest == 0)
        ret->oldest = ret->version;
}

unsigned proto_agree(const struct proto_handshake *peer)
{
    unsigned version = peer->version < PROTO_VERSION ? peer->version : PROTO_VERSION;
    bool is_known = version >= PROTO_OLDEST && version >= peer->oldest;
    return peer->magic == PROTO_MAGIC && is_known ? version : 0;
}

int proto_reader_end(const struct proto_reader *r)
{
    return r->is_bad || r->left ? -EBADMSG : 0;
}

/* --- the table of messages --- */

enum { HOST = 1, GUEST = 2, REQUEST = 4, MORE = 8 };

/* Layout letters: b h w q numbers of 1 2 4 8 bytes; s text of at most PROTO_PATH_MAX; g tag; A argv (at least one);
 * E env (or not given); P paths (at least one); x exit block; t stat records to the end; T one stat record; p process
 * records to the end; r row records to the end; c change records
 * to the end, at least one; l listener records to the end; 8 numbers of 8 bytes to the end, at most
 * PROTO_STORE_VERSIONS;
 * * any rest; + a rest of at least one byte. */
static const struct message {
    uint16_t type;
    uint8_t rules;
    const char *name, *layout;
} messages[] = {
    { PROTO_HANDSHAKE, HOST | GUEST, "HELLO", "whhw" },
    { PROTO_DONE, GUEST, "DONE", "" },
    { PROTO_ERROR, GUEST, "ERROR", "ws" },
    { PROTO_CREDIT, HOST | GUEST, "CREDIT", "w" },
    { PROTO_DROP, HOST, "DROP", "" },
    { PROTO_PING, HOST | REQUEST, "PING", "" },
    { PROTO_HOSTNAME, HOST | REQUEST, "HOSTNAME", "s" },
    { PROTO_RESEED, HOST | REQUEST, "RESEED", "q*" },
    { PROTO_USAGE, HOST | REQUEST, "USAGE", "" },
    { PROTO_USAGE_REPLY, GUEST, "USAGE_REPLY", "wqq" },
    { PROTO_DENIED, GUEST, "DENIED", "wwwwqqs" },
    { PROTO_LISTENING, GUEST, "LISTENING", "l" },
    { PROTO_EXEC_START, HOST | REQUEST | MORE, "EXEC_START", "whhwssgAE" },
    { PROTO_EXEC_STARTED, GUEST, "EXEC_STARTED", "w" },
    { PROTO_EXEC_OUTPUT, GUEST, "EXEC_OUTPUT", "b+" },
    { PROTO_EXEC_EXIT, GUEST, "EXEC_EXIT", "x" },
    { PROTO_EXEC_STDIN, HOST, "EXEC_STDIN", "+" },
    { PROTO_EXEC_STDIN_CLOSE, HOST, "EXEC_STDIN_CLOSE", "" },
    { PROTO_EXEC_SIGNAL, HOST, "EXEC_SIGNAL", "w" },
    { PROTO_EXEC_RESIZE, HOST, "EXEC_RESIZE", "hh" },
    { PROTO_JOB_STATE, HOST | REQUEST, "JOB_STATE", "g" },
    { PROTO_JOB_STATE_REPLY, GUEST, "JOB_STATE_REPLY", "bwqqx" },
    { PROTO_JOB_LOG, HOST | REQUEST, "JOB_LOG", "gqw" },
    { PROTO_JOB_LOG_REPLY, GUEST | MORE, "JOB_LOG_REPLY", "*" },
    { PROTO_JOB_SIGNAL, HOST | REQUEST, "JOB_SIGNAL", "gw" },
    { PROTO_JOB_INPUT, HOST | REQUEST | MORE, "JOB_INPUT", "bg*" },
    { PROTO_JOB_FORGET, HOST | REQUEST, "JOB_FORGET", "g" },
    { PROTO_JOB_EXIT, GUEST, "JOB_EXIT", "gx" },
    { PROTO_JOB_WAIT, HOST | REQUEST, "JOB_WAIT", "gq" },
    { PROTO_FS_STAT, HOST | REQUEST | MORE, "FS_STAT", "P" },
    { PROTO_FS_LIST, HOST | REQUEST, "FS_LIST", "s" },
    { PROTO_FS_SEARCH, HOST | REQUEST, "FS_SEARCH", "ss" },
    { PROTO_FS_STATS, GUEST | MORE, "FS_STATS", "t" },
    { PROTO_FS_MOVE, HOST | REQUEST, "FS_MOVE", "ss" },
    { PROTO_FS_MKDIR, HOST | REQUEST, "FS_MKDIR", "sbw" },
    { PROTO_FS_REMOVE, HOST | REQUEST, "FS_REMOVE", "sbb" },
    { PROTO_FS_CHMOD, HOST | REQUEST, "FS_CHMOD", "sssb" },
    { PROTO_FS_PUT, HOST | REQUEST | MORE, "FS_PUT", "sw*" },
    { PROTO_FS_READ, HOST | REQUEST, "FS_READ", "sqq" },
    { PROTO_FS_OPENED, GUEST, "FS_OPENED", "T" },
    { PROTO_FS_DATA, HOST | GUEST, "FS_DATA", "+" },
    { PROTO_FS_WRITE, HOST | REQUEST, "FS_WRITE", "swb" },
    { PROTO_FS_END, HOST, "FS_END", "" },
    { PROTO_FS_GREP, HOST | REQUEST | MORE, "FS_GREP", "wqwssEE" },
    { PROTO_FS_SED, HOST | REQUEST | MORE, "FS_SED", "wsEEP*" },
    { PROTO_FS_CHANGE, HOST | REQUEST, "FS_CHANGE", "swwwb" },
    { PROTO_FS_ROWS, GUEST | MORE, "FS_ROWS", "r" },
    { PROTO_FS_OPEN, HOST | REQUEST, "FS_OPEN", "ss" },
    { PROTO_FS_CONTENT, GUEST, "FS_CONTENT", "qbT" },
    { PROTO_FS_RANGE, HOST, "FS_RANGE", "qq" },
    { PROTO_FS_STORE, HOST | REQUEST, "FS_STORE", "ssww8" },
    { PROTO_FS_STORED, GUEST, "FS_STORED", "qbT" },
    { PROTO_FS_PACK, HOST | REQUEST, "FS_PACK", "ssb" },
    { PROTO_FS_UNPACK, HOST | REQUEST, "FS_UNPACK", "ss" },
    { PROTO_FS_UNPACKED, GUEST, "FS_UNPACKED", "qq" },
    { PROTO_FS_WATCH, HOST | REQUEST, "FS_WATCH", "ssbE" },
    { PROTO_FS_CHANGES, GUEST, "FS_CHANGES", "c" },
    { PROTO_SERVICE_DEFINE, HOST | REQUEST | MORE, "SERVICE_DEFINE", "gbwwwbhswwEEwhhwssgAE" },
    { PROTO_SERVICE_ACT, HOST | REQUEST, "SERVICE_ACT", "gb" },
    { PROTO_SERVICE_STATE, GUEST, "SERVICE_STATE", "gbwwbwqs" },
    { PROTO_PROC_LIST, HOST | REQUEST, "PROC_LIST", "" },
    { PROTO_PROC_LIST_REPLY, GUEST | MORE, "PROC_LIST_REPLY", "qp" },
    { PROTO_PROC_KILL, HOST | REQUEST, "PROC_KILL", "ww" },
    { PROTO_PROC_INTERRUPT, HOST | REQUEST, "PROC_INTERRUPT", "" },
    { PROTO_PROC_END, HOST | REQUEST, "PROC_END", "w" },
    { PROTO_TUNNEL_OPEN, HOST | REQUEST, "TUNNEL_OPEN", "bhs" },
    { PROTO_TUNNEL_OPENED, GUEST, "TUNNEL_OPENED", "" },
    { PROTO_TUNNEL_DATA, HOST | GUEST, "TUNNEL_DATA", "*" },
    { PROTO_TUNNEL_EOF, HOST | GUEST, "TUNNEL_EOF", "" },
    { PROTO_TUNNEL_AWAIT, HOST | REQUEST, "TUNNEL_AWAIT", "wbhs" },
};

static const struct message *message_find(uint16_t type)
{
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
        if (messages[i].type == type)
            return &messages[i];
    return NULL;
}

static void check_strs(struct proto_reader *r, char kind)
{
    uint32_t n = proto_get_count(r, kind == 'P' ? PROTO_STAT_MAX : PROTO_ARGS_MAX);
    if (n == PROTO_NO_STRS || (n == 0 && kind != 'E')) {
        r->is_bad |= kind != 'E' || n == 0;
        return;
    }
    for (uint32_t i = 0; i < n && !r->is_bad; i++)
        (void)proto_get_str(r, kind == 'P' ? PROTO_PATH_MAX : PROTO_REQUEST_MAX);
}

static void check_records(struct proto_reader *r, char kind)
{
    struct proto_stat st;
    struct proto_process p;
    struct proto_row row;
    struct proto_change change;
    struct proto_listener listener;
    do {
        if (kind == 'c')
            proto_get_change(r, &change);
        else if (kind == 'r' && r->left)
            proto_get_row(r, &row);
        else if (kind == 'l' && r->left)
            proto_get_listener(r, &listener);
        else if (kind == 'p' && r->left)
            proto_get_process(r, &p);
        else if (kind == 'T' || (kind == 't' && r->left))
            proto_get_stat(r, &st);
    } while (kind != 'T' && r->left && !r->is_bad);
}

static void check_field(struct proto_reader *r, char kind)
{
    struct proto_exit x;
    size_t n;
    switch (kind) {
    case 'b':
        (void)proto_get_u8(r);
        break;
    case 'h':
        (void)proto_get_u16(r);
        break;
    case 'w':
        (void)proto_get_u32(r);
        break;
    case 'q':
        (void)proto_get_u64(r);
        break;
    case 's':
        (void)proto_get_str(r, PROTO_PATH_MAX);
        break;
    case 'g':
        (void)proto_get_str(r, PROTO_TAG_MAX);
        break;
    case 'x':
        proto_get_exit(r, &x);
        break;
    case 'A':
    case 'E':
    case 'P':
        check_strs(r, kind);
        break;
    case 't':
    case 'T':
    case 'p':
    case 'r':
    case 'c':
    case 'l':
        check_records(r, kind);
        break;
    case '8':
        (void)proto_get_rest(r, &n);
        r->is_bad |= n % 8 || n / 8 > PROTO_STORE_VERSIONS;
        break;
    default: /* '*' and '+' */
        (void)proto_get_rest(r, &n);
        r->is_bad |= kind == '+' && n == 0;
        break;
    }
}

int proto_check(enum proto_side from, uint16_t type, const void *payload, size_t len)
{
    const struct message *m = message_find(type);
    if (!m || !(m->rules & (from == PROTO_FROM_HOST ? HOST : GUEST)))
        return -EBADMSG;
    struct proto_reader r;
    proto_reader_init(&r, payload, len);
    for (const char *f = m->layout; *f && !r.is_bad; f++)
        check_field(&r, *f);
    return proto_reader_end(&r);
}

bool proto_is_request(uint16_t type)
{
    const struct message *m = message_find(type);
    return m && (m->rules & REQUEST);
}

bool proto_can_have_more(uint16_t type)
{
    const struct message *m = message_find(type);
    return m && (m->rules & MORE);
}

const char *proto_name(uint16_t type)
{
    const struct message *m = message_find(type);
    return m ? m->name : "?";
}
