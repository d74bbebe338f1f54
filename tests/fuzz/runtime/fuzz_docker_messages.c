/* What a Docker engine answers. The first byte picks who reads it: an id, an image's record, a list of images,
 * what it can do, an error, or the lines of a pull. What passes is safe as part of a path, and counts stay in bounds.
 */
#include "../feed.h"

#include <string.h>

#include "runtime/docker/messages.h"

static void try_lines(const char *text, size_t size)
{
    struct docker_messages_pull p;
    docker_messages_pull_init(&p);
    for (const char *end; (end = memchr(text, '\n', size)); size -= (size_t)(end - text) + 1, text = end + 1)
        docker_messages_pull_line(&p, text, (size_t)(end - text));
    docker_messages_pull_line(&p, text, size);
    MUST(p.done_bytes >= 0 && p.total_bytes >= 0 && p.n_done <= p.n && p.n <= 512);
    docker_messages_pull_done(&p);
}

static void try_record(const json_t *body)
{
    struct docker_messages_image image;
    struct err err = ERR_INIT;
    char id[DOCKER_MESSAGES_ID_MAX];
    if (docker_messages_id(body, "Id", id, &err) == 0)
        MUST(strlen(id) == DOCKER_MESSAGES_ID_MAX - 1 && !strpbrk(id, "/?%.& "));
    else
        MUST(err.code == ERR_UPSTREAM);
    if (docker_messages_image(body, &image, &err) == 0) {
        MUST(strncmp(image.id, "docker:sha256:", 14) == 0);
        docker_messages_image_done(&image);
    }
    struct docker_messages_powers powers = docker_messages_powers(body);
    MUST(powers.can_pause || (!powers.can_memory && !powers.can_cpu && !powers.can_pids));
    JSON_OWNED list = docker_messages_image_list(body);
    MUST(json_is_array(list));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *text = (const char *)data + 1;
    struct err err = ERR_INIT;
    JSON_OWNED body = NULL;
    if (data[0] % 3 == 0) {
        try_lines(text, size - 1);
    } else if (data[0] % 3 == 1) {
        docker_messages_error("what", 400 + data[0] % 200, text, size - 1, &err);
        MUST(err.code != ERR_NONE && !strchr(err.msg, '\n'));
    } else if (json_read(text, size - 1, &body, NULL) == 0) {
        try_record(body);
    }
    return 0;
}
