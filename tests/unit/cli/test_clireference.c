/* docs/cli-reference.md is what the tables of commands make. SPEC_DOCS_UPDATE=1 rewrites it. */
#include <stdio.h>

#include "cli/sandbox_program.h"
#include "cli/usage.h"
#include "docfile.h"
#include "tap.h"

TEST(the_reference_is_current)
{
    CLEANUP(free_p) char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    struct sandbox_program *box = sandbox_program_new();
    (void)fputs("# Every command\n\nMade from the tables of commands; `--help` says more about each.\n", to);
    usage_reference(&verb_table_program, to);
    usage_reference(sandbox_program_get(box), to);
    sandbox_program_free(box);
    CHECK_INT(fclose(to), 0);
    docfile_compare("docs/cli-reference.md", text);
}

TEST(every_command_is_found_by_its_path)
{
    struct sandbox_program *box = sandbox_program_new();
    const struct verbs_program *p = sandbox_program_get(box);
    size_t n = 0;
    for (const struct verbs_verb *v = p->rows; v->path; v++, n++) {
        CHECK(verbs_find(p, v->path) == v);
        CHECK(v->summary && *v->summary && v->operands);
        CHECK(v->run || v->flags & VERBS_GROUP);
    }
    CHECK(n > 150);
    CHECK(verbs_find(p, "snapshot create") && verbs_find(p, "api cmd_run") && verbs_find(p, "exec"));
    CHECK(!verbs_find(p, "trigger")); /* of iii alone */
    sandbox_program_free(box);
}

int main(void)
{
    RUN(the_reference_is_current);
    RUN(every_command_is_found_by_its_path);
    return tap_done();
}
