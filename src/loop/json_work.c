#include "loop/json_work.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"

#define TRIM_BYTES (4u << 20) /* what is left behind by less is not worth looking for */

struct job {
    json_t *doc;
    char *written;
    const char *text;
    size_t len;
    struct err err;
    json_work_read_fn *on_read;
    json_work_write_fn *on_written;
    void *arg;
};

static void read_text(void *arg)
{
    struct job *j = arg;
    if (json_read_input(j->text, j->len, &j->doc, &j->err) < 0)
        j->doc = NULL;
}

static void text_read(void *arg)
{
    struct job *j = arg;
    j->on_read(j->arg, j->doc, j->doc ? NULL : &j->err);
    free(j);
}

void json_work_read(struct loop *l, const char *text, size_t len, json_work_read_fn *fn, void *arg)
{
    struct job *j = xzalloc(sizeof(*j));
    *j = (struct job){ .text = text, .len = len, .on_read = fn, .arg = arg };
    if (len > JSON_WORK_BYTES && loop_work(l, read_text, text_read, j) == 0)
        return;
    read_text(j);
    text_read(j);
}

static void write_text(void *arg)
{
    struct job *j = arg;
    j->written = json_write(j->doc, &j->len);
    j->doc = json_unref(j->doc);
    if (j->len > TRIM_BYTES)
        alloc_return(); /* otherwise the pieces of a large document stay ours for ever */
}

static void trim(void *arg)
{
    (void)arg;
    alloc_return();
}

void json_work_trim(struct loop *l)
{
    (void)loop_work(l, trim, NULL, NULL); /* the next one does it, too */
}

static void text_written(void *arg)
{
    struct job *j = arg;
    j->on_written(j->arg, j->written, j->len);
    free(j);
}

void json_work_write(struct loop *l, json_t *doc, json_work_write_fn *fn, void *arg)
{
    struct job *j = xzalloc(sizeof(*j));
    bool is_own = true;
    *j = (struct job){ .doc = doc, .on_written = fn, .arg = arg };
    bool is_long = json_weight(doc, JSON_WORK_BYTES, &is_own) >= JSON_WORK_BYTES;
    if (is_long)
        (void)json_weight(doc, SIZE_MAX, &is_own);
    if (is_long && is_own && loop_work(l, write_text, text_written, j) == 0)
        return;
    write_text(j);
    text_written(j);
}
