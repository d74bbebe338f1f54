/* The name of a CPU, as saved machines carry it, and where one of them may go on. */
#include "tap.h"
#include "vm/vm_core.h"

static void check(const char *text, const char *expected)
{
    char found[VM_COMPAT_CPU_MAX];
    vm_compat_cpu(text, found);
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
    char first[VM_COMPAT_CPU_MAX], again[VM_COMPAT_CPU_MAX];
    vm_compat_host(first);
    vm_compat_host(again);
    CHECK(*first && strcmp(first, again) == 0);
}

static int check_there(const struct vm *vm, const struct vm_image *image, const char *why)
{
    struct err err = ERR_INIT;
    int r = vm_compat_check(vm, image, &err);
    CHECK(r == 0 ? !*why : err.code == ERR_CONFLICT && strstr(err.msg, why));
    return r;
}

TEST(a_saved_instance_goes_on_only_where_all_of_it_is_there)
{
    static struct vm here = { .site = { .vmm = &qemu_ops, .is_kvm = true }, .cpu = "Maker 1 2 3" };
    static struct vm emulated = { .site.vmm = &qemu_ops, .cpu = "Maker 1 2 3", .slow_why = "no /dev/kvm" };
    static struct vm elsewhere = { .site = { .vmm = &qemu_ops, .is_kvm = true }, .cpu = "Maker 1 2 4" };
    static struct vm wired = { .site = { .vmm = &qemu_ops, .is_kvm = true, .has_taps = true }, .cpu = "Maker 1 2 3" };
    static struct vm other = { .site = { .vmm = &firecracker_ops, .is_kvm = true }, .cpu = "Maker 1 2 3" };
    struct vm_image fast = { 0 }, slow = { 0 };
    vm_compat_note(&here, true, &fast);
    CHECK_INT(check_there(&here, &fast, ""), 0);
    CHECK(check_there(&emulated, &fast, "here VMs are emulated (no /dev/kvm)") < 0);
    CHECK(check_there(&elsewhere, &fast, "\"Maker 1 2 3\", and this one is \"Maker 1 2 4\"") < 0);
    CHECK(check_there(&wired, &fast, "other devices") < 0);
    CHECK((qemu_ops.shape == firecracker_ops.shape) == (check_there(&other, &fast, "other devices") == 0));
    vm_compat_note(&emulated, false, &slow); /* its CPU is made by the monitor */
    CHECK_INT(check_there(&emulated, &slow, ""), 0);
    CHECK_INT(check_there(&elsewhere, &slow, ""), 0);
}

int main(void)
{
    RUN(names);
    RUN(this_host_has_one);
    RUN(a_saved_instance_goes_on_only_where_all_of_it_is_there);
    return tap_done();
}
