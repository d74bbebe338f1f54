/* Dockerfiles: parsing, and the words of every instruction. */
#include <stdint.h>

#include "base/strlist.h"
#include "image/dockerfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char a[] = "A=one two", b[] = "B=";
    char *vars[] = { a, b, NULL };
    CLEANUP(dockerfile_done) struct dockerfile d = { 0 };
    struct err err = ERR_INIT;
    if (dockerfile_parse((const char *)data, size, &d, &err) < 0)
        return 0;
    for (size_t i = 0; i < d.n_steps; i++) {
        CLEANUP(strlist_free_p) char **words = NULL;
        CLEANUP(strlist_free_p) char **exec = NULL;
        (void)dockerfile_words(&d.steps[i], vars, &words, &err);
        (void)dockerfile_exec_form(&d.steps[i], &exec, &err);
        for (size_t k = 0; k < d.steps[i].n_texts; k++) {
            CLEANUP(free_p) char *text = NULL;
            (void)dockerfile_expand(&d.steps[i], d.steps[i].texts[k].text, vars, &text, &err);
        }
    }
    return 0;
}
