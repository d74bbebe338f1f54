/* The header Prefer. */
#include "api/prefer.h"

#include "tap.h"

TEST(handling_is_read)
{
    static const struct {
        const char *value;
        enum prefer expected;
    } cases[] = {
        { "", PREFER_NOTHING },
        { "handling=strict", PREFER_STRICT },
        { "Handling = \"STRICT\"", PREFER_STRICT },
        { "handling=lenient, handling=strict", PREFER_LENIENT }, /* the first counts */
        { "respond-async, wait=100; a=\"x, handling=lenient\", handling=strict;b", PREFER_STRICT },
        { "foo=\"a\\\", handling=lenient\", handling=strict", PREFER_STRICT },
        { ",, ;x ,handling=strict", PREFER_STRICT },
        { "handling", PREFER_NOTHING },
        { "handling=", PREFER_NOTHING },
        { "handling=strictly", PREFER_NOTHING },
        { "xhandling=strict", PREFER_NOTHING },
        { "a; handling=strict", PREFER_NOTHING }, /* a parameter of another preference */
        { "handling=other, handling=strict", PREFER_STRICT },
        { "a=\"handling=strict", PREFER_NOTHING }, /* the quoted text does not end */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK_INT(prefer_parse(cases[i].value), cases[i].expected);
        if (prefer_parse(cases[i].value) != cases[i].expected)
            printf("# %s\n", cases[i].value);
    }
}

int main(void)
{
    RUN(handling_is_read);
    return tap_done();
}
