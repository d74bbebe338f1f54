/* The name of a CPU, as saved machines carry it. */
#include "runtime/vm/vmpin.h"
#include "tap.h"

static void check(const char *text, const char *expected)
{
    char found[VMPIN_CPU_MAX];
    vmpin_cpu(text, found);
    CHECK_STR(found, expected);
}

TEST(names)
{
    check("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Intel(R) Xeon(R)\n"
          "stepping\t: 7\n",
          "GenuineIntel 6 85 7");
    check("vendor_id\t: AuthenticAMD\nmodel\t\t: 1", "AuthenticAMD 1");
    check("model name\t: a name is no number\n", "");
    check("vendor_id\t", "");
    check("vendor_id\t: a-very-long-name-without-any-end-that-goes-on-and-on\nstepping\t:\n", "a-very-long-nam ");
    check("", "");
}

TEST(this_host_has_one)
{
    char first[VMPIN_CPU_MAX], again[VMPIN_CPU_MAX];
    vmpin_host(first);
    vmpin_host(again);
    CHECK(*first && strcmp(first, again) == 0);
}

int main(void)
{
    RUN(names);
    RUN(this_host_has_one);
    return tap_done();
}
