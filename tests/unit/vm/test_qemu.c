/* QEMU's driver: what a machine is started with, and what its monitor is told in which order, with a monitor of ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "loopturn.h"
#include "os/seqsock.h"
#include "os/unixsock.h"
#include "tap.h"
#include "vm/vmm/vmm.h"

#define OK "{\"return\": {}}\n"

static const struct vmm_ops *const ops = &qemu_ops;

/* --- the command line --- */

static char line[16384];

/* All arguments with "\n" behind each. */
static const char *line_of(uint32_t flags)
{
    struct vm_tool_wire_request q = { .memory_mb = 584, .cpus = 3, .flags = flags };
    struct vmm_args args = { 0 };
    size_t n = 0;
    ops->argv(&q, "words of the kernel", &args);
    CHECK(!args.is_full);
    for (unsigned i = 0; i < args.n; i++)
        n += (size_t)snprintf(line + n, sizeof(line) - n, "%s\n", args.list[i]);
    CHECK(n < sizeof(line));
    vmm_args_done(&args);
    CHECK_INT(args.n, 0);
    return line;
}

TEST(a_instance_has_what_it_was_given)
{
    const char *text = line_of(0);
    CHECK(strstr(text, "\n-smp\n3\n"));
    CHECK(strstr(text, "\n-m\n584M\n"));
    CHECK(strstr(text, "\n-append\nwords of the kernel\n"));
    CHECK(strstr(text, "size=584M,mem-path=/ram,share=off\n"));
    CHECK(strstr(text, "\n-accel\ntcg,"));
    CHECK(strstr(text, "\n-cpu\nmax\n"));
    CHECK(!strstr(text, "\n-incoming\n") && !strstr(text, "\n-S\n"));
    CHECK(strstr(line_of(VM_TOOL_WIRE_SHARED_RAM), ",share=on\n"));
    text = line_of(VM_TOOL_WIRE_KVM);
    CHECK(strstr(text, "\n-accel\nkvm\n") && strstr(text, "\n-cpu\nhost\n") && !strstr(text, "tcg"));
    CHECK(!strstr(text, "\n-incoming\n"));
    CHECK(strstr(line_of(VM_TOOL_WIRE_INCOMING), "\n-S\n-incoming\ndefer\n"));
}

/* What the wall is made of besides the jail. */
TEST(a_instance_has_nothing_more)
{
    const char *text = line_of(0);
    CHECK(strstr(text, "\n-nodefaults\n") && strstr(text, "\n-no-user-config\n"));
    CHECK(strstr(text, "\n-sandbox\non,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny\n"));
    CHECK(!strstr(text, "-netdev") && !strstr(text, "vhost") && !strstr(text, "virtfs") && !strstr(text, "-usb"));
    char base[300], disk[300];
    (void)snprintf(base, sizeof(base), "\nfd=%d,set=1\n", VMM_FD(VM_TOOL_WIRE_FD_BASE));
    (void)snprintf(disk, sizeof(disk), "\nfd=%d,set=2\n", VMM_FD(VM_TOOL_WIRE_FD_DISK));
    CHECK(strstr(text, base) && strstr(text, disk));
    CHECK(strstr(text, "node-name=base,read-only=on,discard=unmap,file.driver=file,file.filename=/dev/fdset/1,"
                       "file.locking=off,file.read-only=on\n"));
    CHECK(strstr(text, "node-name=disk,read-only=off,"));
}

/* Interfaces are always there, since saved machines need the same devices; behind them is a tap each, or nothing. */
TEST(a_instance_has_its_interfaces)
{
    char device[100], tap[100];
    for (unsigned i = 0; i < VM_TOOL_WIRE_NICS; i++) {
        const char *text = line_of(0);
        (void)snprintf(device, sizeof(device),
                       "\n-device\nvirtio-net-device,guest_announce=off,mac=02:69:76:6d:00:0%u\n", i);
        CHECK(strstr(text, device));
        text = line_of(VM_TOOL_WIRE_TAPS);
        (void)snprintf(tap, sizeof(tap), "\n-netdev\ntap,id=nic%u,fd=%d,vhost=off\n", i, VMM_TAP_FD(i));
        (void)snprintf(device, sizeof(device), ",mac=02:69:76:6d:00:0%u,netdev=nic%u\n", i, i);
        CHECK(strstr(text, tap) && strstr(text, device));
    }
    CHECK(!strstr(line_of(VM_TOOL_WIRE_TAPS), "02:69:76:6d:00:05"));
}

TEST(too_many_arguments_are_seen)
{
    struct vmm_args args = { 0 };
    for (int i = 0; i < VMM_ARGS_MAX; i++)
        vmm_args_add(&args, "%d", i);
    CHECK(!args.is_full && args.n == VMM_ARGS_MAX && !args.list[VMM_ARGS_MAX]);
    vmm_args_add(&args, "one more");
    CHECK(args.is_full && args.n == VMM_ARGS_MAX && !args.list[VMM_ARGS_MAX]);
    vmm_args_done(&args);
    struct vmm_args longer = { 0 };
    vmm_args_add(&longer, "%1023s", "");
    CHECK(!longer.is_full && longer.n == 1);
    vmm_args_add(&longer, "%1024s", ""); /* cut it would mean something else */
    CHECK(longer.is_full && longer.n == 1);
    vmm_args_done(&longer);
}

TEST(vmms_by_name_and_number)
{
    static const char *const names[VM_TOOL_WIRE_VMMS] = { "qemu", "firecracker", "krun" };
    char words[VMM_LINE_MAX];
    uint32_t number = 99;
    for (uint32_t i = 0; i < VM_TOOL_WIRE_VMMS; i++) {
        CHECK(vmm_by_number(i) && strcmp(vmm_by_number(i)->name, names[i]) == 0);
        CHECK(vmm_by_name(names[i], &number) == vmm_by_number(i) && number == i);
    }
    CHECK(!vmm_by_number(VM_TOOL_WIRE_VMMS));
    CHECK(!vmm_by_name("qem", &number));
    vmm_command_line(&qemu_ops, true, words);
    CHECK(strstr(words, " iii.channel=serial") && !strstr(words, "tsc"));
    vmm_command_line(&firecracker_ops, true, words);
    CHECK(strstr(words, " iii.channel=vsock pci=off"));
}

/* --- its control --- */

static const struct vm_tool_wire_request booted = { .op = VM_TOOL_WIRE_START };
static struct loop *loop;
static struct vmm *vmm;
static int vmm_socket = NO_FD, came_fd = NO_FD, done, failed, lost;
static char said[512];

static void on_lost(void *arg)
{
    (void)arg;
    lost++;
}

static void on_done(void *arg, const struct err *err)
{
    (void)arg;
    done++;
    failed += err != NULL;
    (void)snprintf(said, sizeof(said), "%s", err ? err->msg : "");
}

static void say(const char *text)
{
    CHECK(loopturn_say(loop, vmm_socket, text));
}

/* The next command, without an answer yet; NULL: there is none. came_fd: what came along. */
static json_t *next(void)
{
    static char text[8192];
    size_t n_fds = 0;
    struct err err = ERR_INIT;
    json_t *msg = NULL;
    int fl = fcntl(vmm_socket, F_GETFL);
    (void)fcntl(vmm_socket, F_SETFL, fl | O_NONBLOCK);
    if (came_fd >= 0)
        (void)close(came_fd);
    came_fd = NO_FD;
    ssize_t n = seqsock_recv(vmm_socket, text, sizeof(text), &came_fd, 1, &n_fds);
    if (n <= 0)
        return NULL;
    CHECK_INT(json_read(text, (size_t)n, &msg, &err), 0);
    return msg;
}

/* The next command has this name and these arguments, and is answered. */
static void expect(const char *command, const char *args, const char *answer)
{
    JSON_OWNED msg = next();
    JSON_OWNED wanted = json_loads(args, 0, NULL);
    JSON_OWNED none = json_object();
    json_t *has = json_object_get(msg, "arguments");
    CHECK(wanted != NULL);
    if (strcmp(json_get_str(msg, "execute", "nothing"), command) != 0 || !json_equal(has ? has : none, wanted)) {
        CLEANUP(free_p) char *text = json_dumps(msg, JSON_ENCODE_ANY);
        printf("# %s, not %s %s\n", text, command, args);
        tap_bad = 1;
    }
    if (answer)
        say(answer);
}

/* Until the monitor is told something of itself. */
static void wait_for_command(void)
{
    struct pollfd p = { .fd = vmm_socket, .events = POLLIN };
    LOOPTURN_UNTIL(loop, poll(&p, 1, 0) == 1);
    CHECK(p.revents & POLLIN);
}

#define STATUS(status) "{\"return\": {\"status\": \"" status "\"}}\n"

static void refuse_cont(const char *answer)
{
    expect("cont", "{}", "{\"error\": {\"desc\": \"Migration is not finalized yet\"}}\n");
    expect("query-status", "{}", answer);
}

static void begin(bool is_reopened)
{
    char path[64], folder[] = "/tmp/iii-qemu-XXXXXX";
    struct err err = ERR_INIT;
    done = failed = lost = 0;
    CHECK(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof(path), "%s/s", folder);
    int listener = unixsock_listen(path, 0, 1);
    CHECK_INT(loop_new(&loop, &err), 0);
    struct vmm_start s = { .loop = loop, .control = path, .request = &booted, .on_lost = on_lost };
    vmm = is_reopened ? ops->reopen(&s, on_done, NULL) : ops->open(&s, on_done, NULL);
    vmm_socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(vmm_socket >= 0);
    (void)close(listener);
    (void)unlink(path);
    (void)rmdir(folder);
    say("{\"QMP\": {}}\n");
    expect("qmp_capabilities", "{}", OK);
    expect("query-status", "{}", STATUS("running"));
    CHECK_INT(done, 1);
    CHECK_INT(failed, 0);
    done = 0;
}

static void end(void)
{
    ops->close(vmm);
    if (vmm_socket >= 0)
        (void)close(vmm_socket);
    if (came_fd >= 0)
        (void)close(came_fd);
    vmm_socket = came_fd = NO_FD;
    loop = loop_free(loop);
}

TEST(pause_and_resume)
{
    begin(false);
    ops->pause(vmm, on_done, NULL);
    expect("stop", "{}", OK);
    CHECK_INT(done, 1);
    ops->resume(vmm, on_done, NULL);
    expect("cont", "{}", "{\"error\": {\"desc\": \"no\"}}\n");
    expect("query-status", "{}", STATUS("paused"));
    CHECK_INT(done, 2);
    CHECK_INT(failed, 1);
    CHECK_STR(said, "cont: no");
    CHECK(next() == NULL);
    end();
}

/* The end of a transfer is told before the machine may go on. */
TEST(a_resume_waits_for_the_end_of_a_transfer)
{
    begin(false);
    ops->resume(vmm, on_done, NULL);
    for (int i = 0; i < 3; i++) {
        refuse_cont(i < 2 ? STATUS("finish-migrate")
                          : STATUS("postmigrate")); /* the last: it is through with it by now */
        CHECK_INT(done, 0);
        wait_for_command();
    }
    expect("cont", "{}", OK);
    CHECK_INT(done, 1);
    CHECK_INT(failed, 0);
    ops->resume(vmm, on_done, NULL);
    refuse_cont(NULL);
    ops->pause(vmm, on_done, NULL); /* whoever asked before is told, and it stays as it is */
    say(STATUS("finish-migrate"));
    expect("stop", "{}", OK);
    LOOPTURN_UNTIL(loop, done == 3);
    CHECK(next() == NULL);
    CHECK_INT(done, 3);
    CHECK_INT(failed, 1);
    ops->resume(vmm, on_done, NULL);
    refuse_cont(STATUS("running")); /* of itself */
    CHECK_INT(done, 4);
    CHECK_INT(failed, 1);
    ops->resume(vmm, on_done, NULL);
    refuse_cont(STATUS("finish-migrate"));
    end(); /* while it waits */
    CHECK_INT(done, 4);
}

TEST(a_vmm_that_goes_ends_a_resume)
{
    begin(false);
    ops->resume(vmm, on_done, NULL);
    refuse_cont(STATUS("finish-migrate"));
    (void)close(vmm_socket);
    vmm_socket = NO_FD;
    LOOPTURN_UNTIL(loop, done);
    CHECK_INT(done, 1);
    CHECK_INT(failed, 1);
    end();
}

#define WAY(ignored)                                                                       \
    "{\"capabilities\": [{\"capability\": \"events\", \"state\": true}, {\"capability\": " \
    "\"x-ignore-shared\", \"state\": " ignored "}]}"

/* All but the last step are answered; the end is an event. */
static void expect_transfer(const char *command, const char *ignored, const char *last)
{
    expect("migrate-set-capabilities", ignored, OK);
    expect("migrate-set-parameters", "{\"max-bandwidth\": 1099511627776}", OK);
    expect("getfd", "{\"fdname\": \"state\"}", NULL);
    CHECK(came_fd >= 0);
    say(OK);
    expect(command, "{\"uri\": \"fd:state\"}", last);
}

TEST(a_transfer_ends_by_its_event)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    begin(false);
    ops->save(vmm, fd, false, on_done, NULL);
    expect_transfer("migrate", WAY("true"), OK);
    say("{\"event\": \"MIGRATION\", \"data\": {\"status\": \"active\"}}\n");
    CHECK_INT(done, 0);
    say("{\"event\": \"MIGRATION\", \"data\": {\"status\": \"completed\"}}\n");
    CHECK_INT(done, 1);
    CHECK_INT(failed, 0);
    ops->load(vmm, fd, true, on_done, NULL);
    expect_transfer("migrate-incoming", WAY("false"), OK);
    say("{\"event\": \"MIGRATION\", \"data\": {\"status\": \"failed\"}}\n");
    CHECK_INT(done, 2);
    CHECK_INT(failed, 1);
    ops->save(vmm, fd, false, on_done, NULL);
    expect_transfer("migrate", WAY("true"), OK);
    say("{\"event\": \"MIGRATION\", \"data\": {\"status\": \"cancelled\"}}\n");
    CHECK_INT(done, 3);
    CHECK_INT(failed, 2);
    ops->save(vmm, fd, true, on_done, NULL);
    expect_transfer("migrate", WAY("false"), "{\"error\": {\"desc\": \"no room\"}}\n");
    CHECK_INT(done, 4);
    CHECK_INT(failed, 3);
    CHECK_STR(said, "migrate: no room");
    say("{\"event\": \"MIGRATION\", \"data\": {\"status\": \"completed\"}}\n"); /* of nothing */
    CHECK_INT(done, 4);
    end();
    (void)close(fd);
}

TEST(a_vmm_that_goes_ends_a_transfer)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    begin(false);
    ops->save(vmm, fd, false, on_done, NULL);
    expect_transfer("migrate", WAY("true"), OK);
    (void)close(vmm_socket);
    vmm_socket = NO_FD;
    loopturn_few(loop);
    CHECK_INT(done, 1);
    CHECK_INT(failed, 1);
    CHECK_INT(lost, 1);
    end();
    (void)close(fd);
}

/* A server before us may have died in the middle of a save: the machine stands still at its end. */
TEST(a_instance_that_was_being_saved_goes_on)
{
    begin(true);
    expect("migrate_cancel", "{}", OK);
    ops->resume(vmm, on_done, NULL);
    expect("cont", "{}", OK);
    say("{\"event\": \"MIGRATION\", \"data\": {\"status\": \"completed\"}}\n");
    expect("cont", "{}", OK);
    ops->pause(vmm, on_done, NULL);
    expect("stop", "{}", OK);
    say("{\"event\": \"MIGRATION\", \"data\": {\"status\": \"completed\"}}\n"); /* it is to stand still */
    CHECK(next() == NULL);
    end();
}

TEST(nobody_listens)
{
    struct err err = ERR_INIT;
    done = failed = 0;
    CHECK_INT(loop_new(&loop, &err), 0);
    struct vmm_start s = { .loop = loop, .control = "/tmp/iii-qemu-nobody", .request = &booted };
    vmm = ops->open(&s, on_done, NULL);
    CHECK_INT(done, 0); /* never from inside the call */
    loopturn_few(loop);
    CHECK_INT(done, 1);
    CHECK_INT(failed, 1);
    end();
}

/* --- drives --- */

static void expect_node(const char *read_only)
{
    char args[400];
    (void)snprintf(
        args, sizeof(args),
        "{\"driver\": \"raw\", \"node-name\": \"vol_1\", \"read-only\": %s, \"discard\": \"unmap\", \"file\": "
        "{\"driver\": \"file\", \"filename\": \"/dev/fdset/7\", \"locking\": \"off\", \"read-only\": %s}}",
        read_only, read_only);
    expect("add-fd", "{}", NULL);
    CHECK(came_fd >= 0);
    say("{\"return\": {\"fdset-id\": 7, \"fd\": 30}}\n");
    expect("blockdev-add", args, OK);
    expect("remove-fd", "{\"fdset-id\": 7}", OK);
}

/* The device's arguments but for its number, which is returned. */
static int take_device(const char *answer)
{
    JSON_OWNED msg = next();
    json_t *args = json_object_get(msg, "arguments");
    CHECK_STR(json_get_str(msg, "execute", ""), "device_add");
    CHECK_STR(json_get_str(args, "driver", ""), "scsi-hd");
    CHECK_STR(json_get_str(args, "bus", ""), "volumes.0");
    CHECK_STR(json_get_str(args, "drive", ""), "vol_1");
    CHECK_STR(json_get_str(args, "serial", ""), "vol_1");
    int target = (int)json_get_int(args, "scsi-id", -1);
    CHECK(target >= 0 && target < 255);
    say(answer);
    return target;
}

TEST(a_drive_comes_and_goes)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct vmm_drive d = { .id = "vol_1", .fd = fd, .is_readonly = true };
    begin(false);
    ops->plug(vmm, &d, on_done, NULL);
    expect_node("true");
    int first = take_device("{\"error\": {\"desc\": \"taken\"}}\n"), second = take_device(OK);
    CHECK(first != second); /* the number may be another drive's */
    CHECK_INT(done, 1);
    CHECK_INT(failed, 0);
    ops->unplug(vmm, "vol_1", on_done, NULL);
    expect("device_del", "{\"id\": \"vol_1\"}", OK);
    say("{\"event\": \"DEVICE_DELETED\", \"data\": {\"device\": \"vol_2\"}}\n"); /* another */
    CHECK(next() == NULL);
    say("{\"event\": \"DEVICE_DELETED\", \"data\": {\"device\": \"vol_1\"}}\n");
    CHECK_INT(done, 1); /* the file is open still */
    expect("blockdev-del", "{\"node-name\": \"vol_1\"}", OK);
    CHECK_INT(done, 2);
    CHECK_INT(failed, 0);
    end();
    (void)close(fd);
}

TEST(a_drive_that_cannot_come_leaves_nothing)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC), tries = 0;
    struct vmm_drive d = { .id = "vol_1", .fd = fd };
    begin(false);
    ops->plug(vmm, &d, on_done, NULL);
    expect_node("false");
    while (!done && tries < 100) {
        tries++;
        (void)take_device("{\"error\": {\"desc\": \"full\"}}\n");
        if (tries == 64)
            expect("blockdev-del", "{\"node-name\": \"vol_1\"}", OK);
    }
    CHECK_INT(tries, 64);
    CHECK_INT(done, 1);
    CHECK_STR(said, "device_add: full");
    ops->plug(vmm, &d, on_done, NULL);
    expect("add-fd", "{}", "{\"return\": {}}\n"); /* a set without a number */
    CHECK_INT(done, 2);
    CHECK_INT(failed, 2);
    CHECK(next() == NULL);
    end();
    (void)close(fd);
}

/* Whatever number it began with. */
TEST(no_number_is_used_twice_in_a_row)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC), last = -1;
    struct vmm_drive d = { .id = "vol_1", .fd = fd };
    begin(false);
    for (int plugs = 1; plugs <= 5; plugs++) { /* more numbers than there are */
        ops->plug(vmm, &d, on_done, NULL);
        expect_node("false");
        for (int tries = 0; tries < 64; tries++) {
            int target = take_device("{\"error\": {\"desc\": \"full\"}}\n");
            CHECK(target != last);
            last = target;
        }
        expect("blockdev-del", "{\"node-name\": \"vol_1\"}", OK);
        CHECK_INT(done, plugs);
    }
    end();
    (void)close(fd);
}

TEST(which_drives_there_are)
{
    begin(false);
    ops->has_drive(vmm, "vol_1", on_done, NULL);
    expect("qom-list", "{\"path\": \"/machine/peripheral\"}",
           "{\"return\": [{\"name\": \"type\"}, {\"name\": \"vol_1\"}]}\n");
    CHECK_INT(failed, 0);
    ops->has_drive(vmm, "vol_2", on_done, NULL);
    expect("qom-list", "{\"path\": \"/machine/peripheral\"}", "{\"return\": [{\"name\": \"vol_1\"}]}\n");
    CHECK_INT(failed, 1);
    CHECK(strstr(said, "no drive vol_2"));
    CHECK_INT(done, 2);
    end();
}

int main(void)
{
    RUN(a_instance_has_what_it_was_given);
    RUN(a_instance_has_nothing_more);
    RUN(a_instance_has_its_interfaces);
    RUN(too_many_arguments_are_seen);
    RUN(vmms_by_name_and_number);
    RUN(pause_and_resume);
    RUN(a_resume_waits_for_the_end_of_a_transfer);
    RUN(a_vmm_that_goes_ends_a_resume);
    RUN(a_transfer_ends_by_its_event);
    RUN(a_vmm_that_goes_ends_a_transfer);
    RUN(a_instance_that_was_being_saved_goes_on);
    RUN(nobody_listens);
    RUN(a_drive_comes_and_goes);
    RUN(a_drive_that_cannot_come_leaves_nothing);
    RUN(no_number_is_used_twice_in_a_row);
    RUN(which_drives_there_are);
    return tap_done();
}
