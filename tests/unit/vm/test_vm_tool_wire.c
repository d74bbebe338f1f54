/* What the privileged tool of virtual machines believes of a request: every field crossed, one at a time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "os/cgroup.h"
#include "runtime/runtime.h"
#include "tap.h"
#include "vm/tool_wire.h"

#define NAME "0123456789abcdef"
#define FDS  VM_TOOL_WIRE_FD_BOX /* of QEMU */

static struct vm_tool_wire_request start_request(void)
{
    return (struct vm_tool_wire_request){ .version = VM_TOOL_WIRE_VERSION,
                                          .op = VM_TOOL_WIRE_START,
                                          .name = NAME,
                                          .vmm = VM_TOOL_WIRE_QEMU,
                                          .flags = VM_TOOL_WIRE_KVM | VM_TOOL_WIRE_INCOMING | VM_TOOL_WIRE_SHARED_RAM,
                                          .memory_mb = VM_TOOL_WIRE_MEMORY_MIN,
                                          .cpus = 1 };
}

static bool passes(const struct vm_tool_wire_request *q, const char *extra, size_t n_fds)
{
    struct err err = ERR_INIT;
    int r = vm_tool_wire_check(q, extra, n_fds, &err);
    CHECK((r < 0) == (err.code == ERR_INVALID));
    return r >= 0;
}

#define REFUSED(field, value)                                  \
    do {                                                       \
        struct vm_tool_wire_request bad_ = start_request();    \
        bad_.field = (value);                                  \
        if (passes(&bad_, "", FDS)) {                          \
            printf("# passes with " #field " = " #value "\n"); \
            tap_bad = 1;                                       \
        }                                                      \
    } while (0)

TEST(a_start_is_taken_at_both_ends_of_every_range)
{
    struct vm_tool_wire_request q = start_request();
    CHECK(passes(&q, "", FDS));
    q.memory_mb = VM_TOOL_WIRE_MEMORY_MAX;
    q.cpus = VM_TOOL_WIRE_CPUS_MAX;
    q.cpu_milli = VM_TOOL_WIRE_MILLI_MAX;
    CHECK(passes(&q, "", FDS));
}

TEST(vmms_that_make_their_sockets_get_a_folder_instead)
{
    static const uint32_t vmms[] = { VM_TOOL_WIRE_FIRECRACKER, VM_TOOL_WIRE_KRUN };
    size_t n;
    CHECK_INT(vm_tool_wire_fds(VM_TOOL_WIRE_QEMU, &n), VM_TOOL_WIRE_FD_AGENT);
    CHECK_INT(n, FDS);
    for (size_t i = 0; i < sizeof(vmms) / sizeof(*vmms); i++) {
        struct vm_tool_wire_request q = start_request();
        q.vmm = vmms[i];
        CHECK_INT(vm_tool_wire_fds(q.vmm, &n), VM_TOOL_WIRE_FD_KERNEL);
        CHECK_INT(n, VM_TOOL_WIRE_FDS - VM_TOOL_WIRE_FD_KERNEL);
        CHECK(passes(&q, "", n));
        CHECK(!passes(&q, "", n - 1));
        CHECK(!passes(&q, "", n + 1));
        CHECK(!passes(&q, "", VM_TOOL_WIRE_FDS));
    }
}

TEST(there_are_three_vmms)
{
    struct vm_tool_wire_request q = start_request();
    for (size_t n = 0; n <= VM_TOOL_WIRE_FDS; n++) { /* whichever number of descriptors a fourth would have */
        q.vmm = VM_TOOL_WIRE_VMMS;
        CHECK(!passes(&q, "", n));
        q.vmm = UINT32_MAX;
        CHECK(!passes(&q, "", n));
    }
}

TEST(every_field_of_a_start_is_looked_at)
{
    REFUSED(version, VM_TOOL_WIRE_VERSION + 1);
    REFUSED(version, 0);
    REFUSED(op, 0);
    REFUSED(op, VM_TOOL_WIRE_EGRESS_REDIRECT + 1);
    REFUSED(vmm, VM_TOOL_WIRE_VMMS);
    REFUSED(flags, VM_TOOL_WIRE_SHARED_RAM << 1);
    REFUSED(flags, 1u << 31);
    REFUSED(memory_mb, VM_TOOL_WIRE_MEMORY_MIN - 1);
    REFUSED(memory_mb, VM_TOOL_WIRE_MEMORY_MAX + 1);
    REFUSED(cpus, 0);
    REFUSED(cpus, VM_TOOL_WIRE_CPUS_MAX + 1);
    REFUSED(cpu_milli, VM_TOOL_WIRE_MILLI_MAX + 1);
    REFUSED(n_layers, 1);
    REFUSED(extra_len, 1);
    REFUSED(extra_len, VM_TOOL_WIRE_EXTRA_MAX + 1);
    struct vm_tool_wire_request q = start_request();
    CHECK(!passes(&q, "", FDS - 1));
    CHECK(!passes(&q, "", FDS + 1));
}

TEST(a_name_is_16_hex_digits)
{
    static const char *const bad[] = {
        "", "0123456789abcde", NAME "0", "0123456789abcdeF", "../3456789abcdef", "0123456789abc/ef"
    };
    static const uint32_t ops[] = { VM_TOOL_WIRE_START, VM_TOOL_WIRE_KILL, VM_TOOL_WIRE_LIMIT, VM_TOOL_WIRE_FREEZE,
                                    VM_TOOL_WIRE_THAW };
    for (size_t op = 0; op < sizeof(ops) / sizeof(*ops); op++)
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
            struct vm_tool_wire_request q = start_request();
            q.op = ops[op];
            memset(q.name, 0, sizeof(q.name));
            memcpy(q.name, bad[i], strlen(bad[i]));
            CHECK(!passes(&q, "", q.op == VM_TOOL_WIRE_START ? FDS : 0));
        }
    struct vm_tool_wire_request q = start_request();
    memset(q.name, 'a', sizeof(q.name)); /* without an end */
    CHECK(!passes(&q, "", FDS));
}

TEST(an_end_and_a_limit_bring_no_descriptors)
{
    struct vm_tool_wire_request q = { .version = VM_TOOL_WIRE_VERSION, .op = VM_TOOL_WIRE_KILL, .name = NAME };
    CHECK(passes(&q, "", 0));
    CHECK(!passes(&q, "", 1));
    q.op = VM_TOOL_WIRE_FREEZE;
    CHECK(passes(&q, "", 0) && !passes(&q, "", 1));
    q.op = VM_TOOL_WIRE_THAW;
    CHECK(passes(&q, "", 0) && !passes(&q, "", 1));
    const struct vm_tool_wire_request probe = { .version = VM_TOOL_WIRE_VERSION,
                                                .op = VM_TOOL_WIRE_PROBE }; /* of no machine */
    CHECK(passes(&probe, "", 0) && !passes(&probe, "", 1));
    q.op = VM_TOOL_WIRE_LIMIT;
    q.memory_mb = VM_TOOL_WIRE_MEMORY_MAX;
    q.cpu_milli = VM_TOOL_WIRE_MILLI_MAX;
    CHECK(passes(&q, "", 0));
    CHECK(!passes(&q, "", 1));
    q.memory_mb = VM_TOOL_WIRE_MEMORY_MAX + 1;
    CHECK(!passes(&q, "", 0));
    q.memory_mb = 0;
    q.cpu_milli = VM_TOOL_WIRE_MILLI_MAX + 1;
    CHECK(!passes(&q, "", 0));
}

static bool layers_pass(const char *extra, size_t len, uint32_t n, size_t n_fds)
{
    struct vm_tool_wire_request q = {
        .version = VM_TOOL_WIRE_VERSION, .op = VM_TOOL_WIRE_BASE, .n_layers = n, .extra_len = (uint32_t)len
    };
    return passes(&q, extra, n_fds);
}

TEST(layers_are_names_below_the_image_folder)
{
    CHECK(layers_pass("layers/a\0layers/b", 18, 2, 1));
    CHECK(!layers_pass("layers/a\0layers/b", 18, 2, 0));
    CHECK(!layers_pass("layers/a\0layers/b", 18, 2, 2));
    CHECK(!layers_pass("layers/a\0layers/b", 18, 1, 1)); /* more than were said */
    CHECK(!layers_pass("layers/a\0layers/b", 18, 3, 1)); /* fewer */
    CHECK(!layers_pass("layers/a", 8, 1, 1));            /* without an end */
    CHECK(!layers_pass("", 0, 0, 1));
    CHECK(!layers_pass("", 1, 1, 1));
    CHECK(!layers_pass("/etc", 5, 1, 1));
    CHECK(!layers_pass("layers/../../etc", 17, 1, 1));
    CHECK(!layers_pass("a\0../b", 7, 2, 1));
    CHECK(!layers_pass("a", 2, VM_TOOL_WIRE_LAYERS_MAX + 1, 1));
    struct vm_tool_wire_request q = { .version = VM_TOOL_WIRE_VERSION,
                                      .op = VM_TOOL_WIRE_BASE,
                                      .flags = VM_TOOL_WIRE_HOST_USR,
                                      .n_layers = 1,
                                      .extra_len = 2 };
    CHECK(passes(&q, "a", 1));
    q.flags |= VM_TOOL_WIRE_VOLUME;
    CHECK(!passes(&q, "a", 1));
}

TEST(as_many_layers_as_an_overlay_takes)
{
    char names[2 * (VM_TOOL_WIRE_LAYERS_MAX + 1)];
    for (size_t i = 0; i < sizeof(names); i += 2)
        memcpy(names + i, "a", 2);
    CHECK(layers_pass(names, 2 * VM_TOOL_WIRE_LAYERS_MAX, VM_TOOL_WIRE_LAYERS_MAX, 1));
    CHECK(!layers_pass(names, sizeof(names), VM_TOOL_WIRE_LAYERS_MAX + 1, 1));
}

TEST(names_of_layers_have_a_length)
{
    static char name[VM_TOOL_WIRE_EXTRA_MAX + 1];
    memset(name, 'a', sizeof(name) - 1);
    CHECK(!layers_pass(name, sizeof(name), 1, 1));
    name[VM_TOOL_WIRE_EXTRA_MAX - 1] = '\0';
    CHECK(layers_pass(name, VM_TOOL_WIRE_EXTRA_MAX, 1, 1));
}

/* Two servers on one host must not take each other's machines for theirs. */
TEST(a_group_is_named_after_the_data_folder)
{
    char one[CGROUP_NAME_MAX], again[CGROUP_NAME_MAX], other[CGROUP_NAME_MAX], prefix[CGROUP_NAME_MAX];
    CLEANUP(close_fd_p) int root = open("/", O_PATH | O_CLOEXEC);
    CLEANUP(close_fd_p) int proc = open("/proc", O_PATH | O_CLOEXEC);
    CHECK_INT(vm_tool_wire_group(root, NAME, one), 0);
    CHECK_INT(vm_tool_wire_group(root, NAME, again), 0);
    CHECK_INT(vm_tool_wire_group(proc, NAME, other), 0);
    CHECK_INT(vm_tool_wire_group_prefix(root, prefix), 0);
    CHECK_STR(one, again);
    CHECK(strcmp(one, other) != 0);
    CHECK(strncmp(one, prefix, strlen(prefix)) == 0);
    CHECK_STR(one + strlen(prefix), NAME);
    CHECK(strncmp(prefix, "vm", 2) == 0 && prefix[strlen(prefix) - 1] == '-');
    CHECK_INT(vm_tool_wire_group(NO_FD, NAME, one), -EBADF);
}

TEST(a_membership_is_of_a_process_with_an_interface_for_it)
{
    struct vm_tool_wire_request good = { .version = VM_TOOL_WIRE_VERSION,
                                         .op = VM_TOOL_WIRE_JOIN,
                                         .name = NAME,
                                         .pid = 2,
                                         .nic = 1,
                                         .subnet = RUNTIME_SUBNETS - 1,
                                         .address = 0x0a400002 },
                                q = good;
    CHECK(passes(&q, "", 1));
    CHECK(!passes(&q, "", 0)); /* of a network */
    q.op = VM_TOOL_WIRE_LEAVE;
    CHECK(passes(&q, "", 0));
    CHECK(!passes(&q, "", 1));
    q.address = 0; /* of no interest */
    CHECK(passes(&q, "", 0));
    q = good;
    q.address = 0;
    CHECK(!passes(&q, "", 1));
    q = good;
    q.nic = VM_TOOL_WIRE_NIC_OUT; /* is no network's */
    CHECK(!passes(&q, "", 1));
    q.nic = VM_TOOL_WIRE_NICS - 1;
    CHECK(passes(&q, "", 1));
    q.nic = VM_TOOL_WIRE_NICS;
    CHECK(!passes(&q, "", 1));
    q = good;
    q.subnet = RUNTIME_SUBNETS;
    CHECK(!passes(&q, "", 1));
    q = good;
    q.pid = 1;
    CHECK(!passes(&q, "", 1));
    q = good;
    q.name[0] = '/';
    CHECK(!passes(&q, "", 1));
}

TEST(a_switch_and_a_way_out_bring_no_descriptors)
{
    struct vm_tool_wire_request q = { .version = VM_TOOL_WIRE_VERSION, .op = VM_TOOL_WIRE_BRIDGE };
    CHECK(passes(&q, "", 0));
    CHECK(!passes(&q, "", 1));
    q = (struct vm_tool_wire_request){
        .version = VM_TOOL_WIRE_VERSION, .op = VM_TOOL_WIRE_EGRESS_REDIRECT, .name = NAME, .pid = 2
    };
    CHECK(passes(&q, "", 0));
    CHECK(!passes(&q, "", 1));
    q.pid = 0;
    CHECK(!passes(&q, "", 0));
}

TEST(a_disk_has_a_size_and_one_file)
{
    struct vm_tool_wire_request q = { .version = VM_TOOL_WIRE_VERSION, .op = VM_TOOL_WIRE_DISK, .disk_mb = 16 };
    CHECK(passes(&q, "", 1));
    CHECK(!passes(&q, "", 0));
    CHECK(!passes(&q, "", 2));
    q.disk_mb = VM_TOOL_WIRE_DISK_MB;
    CHECK(passes(&q, "", 1));
    q.disk_mb = VM_TOOL_WIRE_DISK_MB + 1;
    CHECK(!passes(&q, "", 1));
    q.disk_mb = 15;
    CHECK(!passes(&q, "", 1));
    q.disk_mb = 16;
    q.flags = VM_TOOL_WIRE_VOLUME;
    CHECK(passes(&q, "", 1));
    q.flags = VM_TOOL_WIRE_VOLUME | VM_TOOL_WIRE_KVM;
    CHECK(!passes(&q, "", 1));
}

int main(void)
{
    RUN(a_start_is_taken_at_both_ends_of_every_range);
    RUN(vmms_that_make_their_sockets_get_a_folder_instead);
    RUN(there_are_three_vmms);
    RUN(every_field_of_a_start_is_looked_at);
    RUN(a_name_is_16_hex_digits);
    RUN(an_end_and_a_limit_bring_no_descriptors);
    RUN(layers_are_names_below_the_image_folder);
    RUN(as_many_layers_as_an_overlay_takes);
    RUN(names_of_layers_have_a_length);
    RUN(a_group_is_named_after_the_data_folder);
    RUN(a_membership_is_of_a_process_with_an_interface_for_it);
    RUN(a_switch_and_a_way_out_bring_no_descriptors);
    RUN(a_disk_has_a_size_and_one_file);
    return tap_done();
}
