/* What is said to the engine, and hostile answers of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/docker/call.h"
#include "runtime/docker/messages.h"
#include "tap.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static json_t *parsed(const char *text)
{
    json_t *j = NULL;
    CHECK_INT(json_read(text, strlen(text), &j, NULL), 0);
    return j;
}

TEST(a_container_is_asked_for_with_all_its_limits)
{
    const char *layers[] = { "docker:sha256:" HEX };
    struct box_plan plan = { .id = "sbx_1",
                             .hostname = "sbx_1",
                             .layers = layers,
                             .n_layers = 1,
                             .workdir = "/workspace",
                             .memory_mb = 64,
                             .pids_max = 17,
                             .cpu_milli = 1500 };
    struct docker_messages_box box = {
        .plan = &plan, .image = layers[0] + 7, .folder = "/d/x", .tag = "cafe", .runtime = "runsc"
    };
    JSON_OWNED c = docker_messages_container(&box);
    const json_t *h = json_get(c, "HostConfig");
    CHECK_STR(json_get_str(c, "Image", ""), "sha256:" HEX);
    CHECK_STR(json_get_str(c, "User", ""), "0:0");
    CHECK_STR(json_string_value(json_array_get(json_get(c, "Entrypoint"), 0)), "/.iii/guest");
    CHECK_INT((int)json_array_size(json_get(c, "Cmd")), 0);
    CHECK_STR(json_get_str(json_get(c, "Labels"), "iii-sandbox-id", ""), "sbx_1");
    CHECK_STR(json_get_str(json_get(c, "Labels"), "iii-sandbox-data", ""), "cafe");
    CHECK_STR(json_get_str(h, "NetworkMode", ""), "none");
    CHECK_STR(json_get_str(h, "Runtime", ""), "runsc");
    CHECK_STR(json_string_value(json_array_get(json_get(h, "CapDrop"), 0)), "ALL");
    CHECK_STR(json_string_value(json_array_get(json_get(h, "SecurityOpt"), 0)), "no-new-privileges:true");
    CHECK_INT((int)json_get_int(h, "Memory", 0), 64 << 20);
    CHECK_INT((int)json_get_int(h, "MemorySwap", 0), 64 << 20);
    CHECK_INT((int)json_get_int(h, "CpuQuota", 0), 150000);
    CHECK_INT((int)json_get_int(h, "PidsLimit", 0), 17);
    CHECK(json_get_bool(json_array_get(json_get(h, "Mounts"), 0), "ReadOnly", false));
    plan.has_network = true;
    JSON_OWNED open = docker_messages_container(&box);
    CHECK_STR(json_get_str(json_get(open, "HostConfig"), "NetworkMode", ""), "default");
}

TEST(an_id_is_64_hex_digits_or_nothing)
{
    static const char *const bad[] = { "{}",
                                       "{\"Id\":5}",
                                       "{\"Id\":\"\"}",
                                       "{\"Id\":\"../../etc\"}",
                                       "{\"Id\":\"sha256:\"}",
                                       "{\"Id\":\"" HEX "0\"}",
                                       "[]",
                                       "null",
                                       "{\"Id\":\"" HEX "?force=1\"}" };
    char id[DOCKER_MESSAGES_ID_MAX];
    JSON_OWNED plain = parsed("{\"Id\":\"" HEX "\"}");
    JSON_OWNED prefixed = parsed("{\"Id\":\"sha256:" HEX "\"}");
    CHECK_INT(docker_messages_id(plain, "Id", id, NULL), 0);
    CHECK_STR(id, HEX);
    CHECK_INT(docker_messages_id(prefixed, "Id", id, NULL), 0);
    CHECK_STR(id, HEX);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct err err = ERR_INIT;
        JSON_OWNED j = parsed(bad[i]);
        CHECK(docker_messages_id(j, "Id", id, &err) < 0);
        CHECK_INT(err.code, ERR_UPSTREAM);
    }
}

TEST(an_image_is_what_its_record_says_or_refused)
{
    struct docker_messages_image i;
    struct err err = ERR_INIT;
    JSON_OWNED good = parsed("{\"Id\":\"sha256:" HEX "\",\"Architecture\":\"amd64\",\"Os\":\"linux\",\"Size\":7,"
                             "\"Config\":{\"Env\":[\"A=1\",7],\"User\":\"app\",\"WorkingDir\":\"/srv\","
                             "\"Entrypoint\":[\"/run\"],\"Cmd\":null}}");
    CHECK_INT(docker_messages_image(good, &i, &err), 0);
    CHECK_STR(i.id, "docker:sha256:" HEX);
    CHECK_STR(i.image.env[0], "A=1");
    CHECK(i.image.env[1] == NULL);
    CHECK_STR(i.image.user, "app");
    CHECK_STR(i.image.workdir, "/srv");
    CHECK(i.image.cmd == NULL);
    docker_messages_image_done(&i);
    JSON_OWNED foreign = parsed("{\"Id\":\"" HEX "\",\"Os\":\"windows\"}");
    CHECK(docker_messages_image(foreign, &i, &err) < 0);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    CHECK(strstr(err.msg, "windows") != NULL);
    JSON_OWNED odd = parsed("{\"Id\":\"" HEX "\",\"Config\":[1,2],\"Size\":\"x\"}");
    CHECK_INT(docker_messages_image(odd, &i, &err), 0);
    CHECK_STR(i.image.user, "");
    docker_messages_image_done(&i);
}

static unsigned powers(const char *text)
{
    JSON_OWNED info = parsed(text);
    struct docker_messages_powers g = docker_messages_powers(info);
    return (g.can_network ? 16u : 0) | (g.can_pause ? 8u : 0) | (g.can_memory ? 4u : 0) | (g.can_cpu ? 2u : 0) |
           (g.can_pids ? 1u : 0);
}

TEST(limits_are_what_the_engine_enforces_and_not_what_it_claims)
{
#define CLAIMS "\"MemoryLimit\":true,\"CpuCfsQuota\":true,\"PidsLimit\":true"
    CHECK_INT(powers("{" CLAIMS ",\"CgroupDriver\":\"cgroupfs\",\"CgroupVersion\":\"1\"}"), 31);
    CHECK_INT(powers("{" CLAIMS ",\"CgroupDriver\":\"cgroupfs\"}"), 31);
    CHECK_INT(powers("{" CLAIMS ",\"CgroupDriver\":\"cgroupfs\",\"CgroupVersion\":\"1\",\"Rootless\":true}"), 16);
    CHECK_INT(powers("{" CLAIMS ",\"CgroupVersion\":\"1\",\"SecurityOptions\":[\"name=seccomp\",\"name=rootless\"]}"),
              16);
    CHECK_INT(powers("{" CLAIMS ",\"CgroupDriver\":\"systemd\",\"CgroupVersion\":\"2\",\"Rootless\":true}"), 31);
    CHECK_INT(powers("{" CLAIMS ",\"CgroupDriver\":\"none\",\"CgroupVersion\":\"2\"}"), 16);
    CHECK_INT(powers("{\"MemoryLimit\":true,\"CgroupVersion\":\"2\",\"SecurityOptions\":[1,null]}"), 28);
    CHECK_INT(powers("[]"), 24);
    CHECK_INT(powers("{" CLAIMS ",\"CgroupVersion\":\"2\",\"BuildahVersion\":\"1.28.2\"}"), 15);
#undef CLAIMS
}

TEST(errors_carry_the_engines_words_on_one_line)
{
    struct err err = ERR_INIT;
    const char *text = "{\"message\":\"No such image:\\n x\"}";
    docker_messages_error("image x", 404, text, strlen(text), &err);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_STR(err.msg, "image x: the engine answers 404: No such image:  x");
    docker_messages_error("image x", 500, "<html>", 6, &err);
    CHECK_INT(err.code, ERR_UPSTREAM);
    CHECK(strstr(err.msg, "says nothing more") != NULL);
    docker_messages_error("image x", 409, "", 0, &err);
    CHECK_INT(err.code, ERR_CONFLICT);
    text =
        "{\"message\":\"invalid mount config for type \\\"bind\\\": bind source path does not exist: /data/docker/x\"}";
    docker_messages_error("create sandbox x", 400, text, strlen(text), &err);
    CHECK_INT(err.code, ERR_CAPACITY);
    CHECK(strstr(err.msg, "same path") && strstr(err.msg, "/data/docker/x"));
    text = "{\"message\":\"write /x: no space left on device\"}";
    docker_messages_error("image x", 500, text, strlen(text), &err);
    CHECK_INT(err.code, ERR_NO_SPACE);
}

static void line(struct docker_messages_pull *p, const char *text)
{
    docker_messages_pull_line(p, text, strlen(text));
}

TEST(progress_of_a_pull_is_counted_by_layer)
{
    struct docker_messages_pull p;
    docker_messages_pull_init(&p);
    line(&p, "{\"status\":\"Pulling from x\",\"id\":\"latest\"}");
    line(&p, "{\"status\":\"Pulling fs layer\",\"progressDetail\":{},\"id\":\"aa\"}");
    line(&p, "{\"status\":\"Downloading\",\"progressDetail\":{\"current\":5,\"total\":10},\"id\":\"aa\"}");
    CHECK_INT(p.n, 1);
    CHECK_INT((int)p.done_bytes, 5);
    CHECK_INT((int)p.total_bytes, 10);
    line(&p, "{\"status\":\"Pull complete\",\"progressDetail\":{},\"id\":\"aa\"}");
    CHECK_INT(p.n_done, 1);
    CHECK_INT((int)p.done_bytes, 10);
    line(
        &p,
        "{\"status\":\"Downloading\",\"progressDetail\":{\"current\":-5,\"total\":9223372036854775807},\"id\":\"bb\"}");
    CHECK(p.done_bytes >= 0 && p.total_bytes > 0);
    line(&p, "garbage");
    line(&p, "{\"errorDetail\":{},\"error\":\"manifest unknown\\u0007\"}");
    CHECK_INT(p.err.code, ERR_NOT_FOUND);
    CHECK(strchr(p.err.msg, 7) == NULL);
    for (int i = 0; i < 2000; i++) {
        char text[100];
        (void)snprintf(text, sizeof(text), "{\"status\":\"Downloading\",\"id\":\"l%d\"}", i);
        line(&p, text);
    }
    CHECK(p.n <= 512);
    docker_messages_pull_done(&p);
}

TEST(names_are_taken_apart_as_the_engine_wants_them)
{
    static const char *const cases[][3] = { { "python", "python", "latest" },
                                            { "oci:python:3", "python", "3" },
                                            { "localhost:5000/a/b", "localhost:5000/a/b", "latest" },
                                            { "localhost:5000/a/b:c", "localhost:5000/a/b", "c" },
                                            { "a/b:c@sha256:ff", "a/b", "sha256:ff" },
                                            { "a@sha256:ff", "a", "sha256:ff" } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        CLEANUP(free_p) char *image = NULL;
        CLEANUP(free_p) char *tag = NULL;
        docker_messages_split(cases[i][0], &image, &tag);
        CHECK_STR(image, cases[i][1]);
        CHECK_STR(tag, cases[i][2]);
    }
}

TEST(an_engine_is_at_a_socket_or_a_port)
{
    struct docker_call_host h;
    struct err err = ERR_INIT;
    static const char *const bad[] = { "",
                                       "unix://",
                                       "unix://relative",
                                       "http://x",
                                       "tcp://",
                                       "tcp://h:99999",
                                       "tcp://h:1/p",
                                       "ssh://me@host",
                                       "/var/run/docker.sock" };
    char ca[] = "/certs/ca.pem";
    const struct docker_tls none = { 0 }, tls = { .ca = ca };
    CHECK_INT(docker_call_host_parse("unix:///run/d.sock", false, &none, &h, &err), 0);
    CHECK_STR(h.unix_path, "/run/d.sock");
    docker_call_host_done(&h);
    CHECK_INT(docker_call_host_parse("tcp://engine:2376", true, &tls, &h, &err), 0);
    CHECK_STR(h.base_url, "https://engine:2376");
    CHECK_STR(h.trust.ca_file, "/certs/ca.pem");
    docker_call_host_done(&h);
    CHECK_INT(docker_call_host_parse("tcp://engine:2375/", false, &none, &h, &err), 0);
    CHECK_STR(h.base_url, "http://engine:2375");
    docker_call_host_done(&h);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CHECK(docker_call_host_parse(bad[i], false, &none, &h, &err) < 0);
        CHECK_INT(err.code, ERR_INVALID);
    }
}

int main(void)
{
    RUN(a_container_is_asked_for_with_all_its_limits);
    RUN(an_id_is_64_hex_digits_or_nothing);
    RUN(an_image_is_what_its_record_says_or_refused);
    RUN(limits_are_what_the_engine_enforces_and_not_what_it_claims);
    RUN(errors_carry_the_engines_words_on_one_line);
    RUN(progress_of_a_pull_is_counted_by_layer);
    RUN(names_are_taken_apart_as_the_engine_wants_them);
    RUN(an_engine_is_at_a_socket_or_a_port);
    return tap_done();
}
