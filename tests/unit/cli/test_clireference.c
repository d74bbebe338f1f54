/* docs/cli-reference.md is what the tables of commands make. SPEC_DOCS_UPDATE=1 rewrites it. */
#include <stdio.h>
#include <string.h>

#include "cli/usage.h"
#include "cli/verb_program.h"
#include "docfile.h"
#include "tap.h"

TEST(the_reference_is_current)
{
    CLEANUP(free_p) char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    (void)fputs("# Every command\n\nMade from the tables of commands; `--help` says more about each.\n", to);
    for (int is_contract = 0; is_contract <= 1; is_contract++) {
        struct verb_program *p = verb_program_new(is_contract);
        usage_reference(verb_program_get(p), to);
        verb_program_free(p);
    }
    CHECK_INT(fclose(to), 0);
    docfile_compare("docs/cli-reference.md", text);
}

TEST(every_command_is_found_by_its_path)
{
    for (int is_contract = 0; is_contract <= 1; is_contract++) {
        struct verb_program *made = verb_program_new(is_contract);
        const struct verbs_program *p = verb_program_get(made);
        size_t n = 0;
        for (const struct verbs_verb *v = p->rows; v->path; v++, n++) {
            CHECK(verbs_find(p, v->path) == v);
            CHECK(v->summary && *v->summary && v->operands);
            CHECK(v->run || v->flags & VERBS_GROUP);
        }
        CHECK(n > 150);
        CHECK(verbs_find(p, "snapshot create") && verbs_find(p, "api cmd_run") && verbs_find(p, "exec"));
        CHECK(verbs_find(p, "trigger") && verbs_find(p, "ps"));
        CHECK((verbs_find(p, "list") != NULL) == is_contract);
        verb_program_free(made);
    }
}

TEST(letters_and_names_of_options_are_unique)
{
    struct verb_program *made = verb_program_new(false);
    for (const struct verbs_verb *v = verb_program_get(made)->rows; v->path; v++)
        for (const struct verbs_option *o = v->options; o && o->name; o++)
            for (const struct verbs_option *other = o + 1; other->name; other++) {
                CHECK(strcmp(o->name, other->name) != 0);
                CHECK(!o->letter || o->letter != other->letter);
            }
    verb_program_free(made);
}

int main(void)
{
    RUN(the_reference_is_current);
    RUN(every_command_is_found_by_its_path);
    RUN(letters_and_names_of_options_are_unique);
    return tap_done();
}
