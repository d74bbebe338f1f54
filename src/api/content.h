/* Contents of files as bytes: what the files of this feature share. ops_content.c has the handlers, content_read.c and
 * content_write.c the two directions, content_form.c multipart bodies. Private to api/. May include: base/, http/,
 * guest/, sandbox/. */
#pragma once
#include "api/call.h"
#include "base/json.h"
#include "guest/link.h"
#include "sandbox/lifecycle/sandbox.h"
#include "sandbox/storage/converter.h"

/* Where a call reads or writes. */
struct content_place {
    struct sandbox *s;
    char *path;         /* absolute */
    const char *format; /* of an archive; "": a file */
};

/* Each takes the call; place stays the caller's. */
void content_read_start(struct call *c, const struct content_place *place);
void content_write_start(struct call *c, const struct content_place *place);

/* Runs next once it is known what the agent of the call's sandbox can do; answers the call itself on a failure. */
void content_when_ready(struct call *c, op_fn *next);
const char *content_type_of(const char *format); /* "application/zip" */
/* A call into guest/ that returned a negative number at once. */
void content_failed(struct call *c, const struct sandbox *s, int r);
/* What is told about a file that was written. Caller owns. */
json_t *content_json(const struct guest_content *content);

/* --- a multipart body: content_write.c feeds it, it writes one file after the other --- */
struct content_form;
struct content_form_events {
    void (*on_room)(void *arg);                          /* more of the body can be taken */
    void (*on_failed)(void *arg, const struct err *err); /* to write a file; the form is to be freed */
    void *arg;
};
/* content_type: of the request. -EINVAL with err: it names no usable boundary. */
int content_form_new(const struct content_place *place, uint32_t mode, const char *content_type,
                     const struct content_form_events *ev, struct content_form **ret, struct err *err);
/* Taken bytes; fewer: on_room follows. err is set when the body is not valid. */
size_t content_form_send(struct content_form *f, const char *data, size_t len, struct err *err);
/* The body has ended: the list of the files, which are all in place (borrowed), or -EINVAL with err. */
int content_form_end(struct content_form *f, json_t **ret_files, struct err *err);
struct content_form *content_form_free(struct content_form *f);
bool content_form_is_one(const char *content_type); /* NULL is fine */
