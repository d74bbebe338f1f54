/* The checksum of a layer changes with everything that a sandbox would see of it, and with nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ident.h"
#include "image/image.h"
#include "image/layer_digest.h"
#include "os/tree.h"
#include "tap.h"

static char top[64];

static const char *at(const char *name)
{
    static char path[4][160];
    static unsigned turn;
    char *p = path[turn++ % 4];
    snprintf(p, sizeof(path[0]), "%s/%s", top, name);
    return p;
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(at(name), "we");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void fill(const char *name, bool is_backwards)
{
    char path[100];
    CHECK_INT(mkdir(at(name), 0755), 0);
    for (int i = 0; i < 20; i++) {
        snprintf(path, sizeof(path), "%s/f%d", name, is_backwards ? 19 - i : i);
        put(path, "same");
    }
    snprintf(path, sizeof(path), "%s/d", name);
    CHECK_INT(mkdir(at(path), 0700), 0);
    snprintf(path, sizeof(path), "%s/d/link", name);
    CHECK_INT(symlink("target", at(path)), 0);
}

static const char *sum(const char *name)
{
    static char hex[4][DIGEST_HEX];
    static unsigned turn;
    struct err err = ERR_INIT;
    char *folders[2] = { strdup(at(name)), NULL };
    char *ret = hex[turn++ % 4];
    CHECK_INT(layer_digest_of(folders, NULL, ret, &err), 0);
    free(folders[0]);
    return ret;
}

TEST(order_and_place_do_not_count)
{
    fill("a", false);
    fill("b", true);
    CHECK(strcmp(sum("a"), sum("b")) == 0);
}

TEST(everything_else_counts)
{
    char was[DIGEST_HEX];
    snprintf(was, sizeof(was), "%s", sum("a"));
    put("b/f3", "sane");
    CHECK(strcmp(was, sum("b")) != 0);
    put("b/f3", "same");
    CHECK(strcmp(was, sum("b")) == 0);
    CHECK_INT(chmod(at("b/f3"), 0600), 0);
    CHECK(strcmp(was, sum("b")) != 0);
    CHECK_INT(chmod(at("b/f3"), 0644), 0);
    CHECK_INT(rename(at("b/f3"), at("b/d/f3")), 0);
    CHECK(strcmp(was, sum("b")) != 0);
    CHECK_INT(rename(at("b/d/f3"), at("b/f3")), 0);
    CHECK(strcmp(was, sum("b")) == 0);
    CHECK_INT(unlink(at("b/d/link")), 0);
    CHECK_INT(symlink("targeT", at("b/d/link")), 0);
    CHECK(strcmp(was, sum("b")) != 0);
}

TEST(a_missing_layer_and_a_stop_are_errors)
{
    struct err err = ERR_INIT;
    char hex[DIGEST_HEX], *gone[2] = { strdup(at("none")), NULL }, *there[2] = { strdup(at("a")), NULL };
    atomic_bool stop = true;
    CHECK(layer_digest_of(gone, NULL, hex, &err) < 0);
    CHECK_INT(layer_digest_of(there, &stop, hex, &err), -ECANCELED);
    CHECK_INT(layer_digest_bytes(there, 1), 80);
    free(gone[0]);
    free(there[0]);
}

TEST(a_stacked_layer_lives_as_long_as_its_pin)
{
    struct err err = ERR_INIT;
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    CLEANUP(image_free_p) struct image *base = NULL, *made = NULL, *again = NULL;
    CHECK_INT(image_store_open(at("store"), &s, &err), 0);
    if (!s || image_resolve(s, "shell", &base, &err) < 0)
        return;
    CLEANUP(free_p) char *place = image_layer_path(s);
    CHECK(image_stack_layer(s, base, at("a"), "/elsewhere", "snap_1", &made, &err) < 0);
    CHECK(image_stack_layer(s, base, at("a"), place, "bad/owner", &made, &err) < 0);
    CHECK_INT(image_stack_layer(s, base, at("a"), place, "snap_1", &made, &err), 0);
    CHECK(made && made->n_layers == base->n_layers + 1 && strcmp(made->layers[base->n_layers], place) == 0);
    CHECK(access(at("a"), F_OK) < 0 && access(place, F_OK) == 0);
    CHECK_INT(image_stack_layer(s, base, at("a"), place, "snap_2", &again, &err), 0); /* moved already */
    CHECK_INT(image_unpin(s, "snap_1", &err), 0);
    CHECK(access(place, F_OK) == 0);
    CHECK_INT(image_unpin(s, "snap_2", &err), 0);
    CHECK(access(place, F_OK) < 0);
}

int main(void)
{
    snprintf(top, sizeof(top), "/tmp/iii-layersum-XXXXXX");
    if (!mkdtemp(top))
        return 1;
    RUN(order_and_place_do_not_count);
    RUN(everything_else_counts);
    RUN(a_missing_layer_and_a_stop_are_errors);
    RUN(a_stacked_layer_lives_as_long_as_its_pin);
    (void)tree_remove(AT_FDCWD, top, NULL);
    return tap_done();
}
