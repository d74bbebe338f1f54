/* `iii doctor`: exit codes, plain text in a pipe, colour on a terminal, JSON, and the way out for what is missing. */
#include "cli/doctor.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static char output[8192];

/* Runs doctor_print in a child whose stdout is fd_out; what comes out at fd_in is in output. Returns its exit code. */
static int run_on(int fd_in, int fd_out, const char *checks_text, const char *argument)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        json_t *checks = json_loads(checks_text, 0, NULL);
        char verb[] = "doctor", copy[32] = "";
        (void)snprintf(copy, sizeof copy, "%s", argument ? argument : "");
        char *argv[] = { verb, copy, NULL };
        (void)dup2(fd_out, STDOUT_FILENO);
        int code = doctor_print(checks, argument ? 2 : 1, argv);
        fflush(stdout);
        json_decref(checks);
        _exit(code);
    }
    (void)close(fd_out);
    size_t len = 0;
    ssize_t n;
    while (len < sizeof output - 1 && (n = read(fd_in, output + len, sizeof output - 1 - len)) > 0)
        len += (size_t)n;
    output[len] = '\0';
    (void)close(fd_in);
    int status = -1;
    (void)waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run(const char *checks, const char *argument)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    return run_on(ends[0], ends[1], checks, argument);
}

static const char good[] =
    "[{\"name\":\"kernel\",\"ok\":true,\"required\":true,\"detail\":\"Linux 6\"},"
    "{\"name\":\"tun\",\"ok\":false,\"required\":false,\"detail\":\"no\",\"fix\":\"modprobe tun\"}]";
static const char bad[] =
    "[{\"name\":\"seccomp\",\"ok\":false,\"required\":true,\"detail\":\"gone\",\"fix\":\"get it\"}]";

TEST(a_usable_host_is_zero_and_names_its_limitations)
{
    CHECK_INT(run(good, NULL), 0);
    CHECK(strstr(output, "ok       kernel  Linux 6\n") != NULL);
    CHECK(strstr(output, "no       tun     no\n") != NULL);
    CHECK(strstr(output, "-> modprobe tun\n") != NULL);
    CHECK(strstr(output, "with 1 limitation.") != NULL);
    CHECK(strchr(output, '\033') == NULL);
}

TEST(a_missing_requirement_is_one_and_says_the_way_out)
{
    CHECK_INT(run(bad, NULL), 1);
    CHECK(strstr(output, "MISSING  seccomp  gone\n") != NULL);
    CHECK(strstr(output, "-> get it\n") != NULL);
    CHECK(strstr(output, "cannot be created here: 1 requirement is missing") != NULL);
}

TEST(no_checks_at_all_is_not_success)
{
    CHECK_INT(run("[]", NULL), 1);
    CHECK(strstr(output, "Nothing was checked") != NULL);
    CHECK_INT(run("[]", "--json"), 1);
}

TEST(json_is_json_with_the_same_verdict)
{
    CHECK_INT(run(good, "--json"), 0);
    JSON_OWNED answer = json_loads(output, 0, NULL);
    CHECK(json_get_bool(answer, "ok", false));
    CHECK_INT(json_array_size(json_get(answer, "checks")), 2);
    CHECK_INT(run(bad, "--json"), 1);
    JSON_OWNED other = json_loads(output, 0, NULL);
    CHECK(other && !json_get_bool(other, "ok", true));
}

TEST(help_and_wrong_usage)
{
    CHECK_INT(run(bad, "--help"), 0);
    CHECK(strstr(output, "Usage: iii doctor") == output);
    CHECK_INT(run(good, "--what"), 2);
    CHECK_STR(output, "");
}

TEST(colour_only_on_a_terminal_and_not_with_no_color)
{
    for (int is_off = 0; is_off < 2; is_off++) {
        if (is_off)
            (void)setenv("NO_COLOR", "1", 1);
        else
            (void)unsetenv("NO_COLOR");
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
        int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
        CHECK(slave >= 0);
        CHECK_INT(run_on(master, slave, good, NULL), 0);
        CHECK((strstr(output, "\033[32m") != NULL) == !is_off);
    }
}

int main(void)
{
    RUN(a_usable_host_is_zero_and_names_its_limitations);
    RUN(a_missing_requirement_is_one_and_says_the_way_out);
    RUN(no_checks_at_all_is_not_success);
    RUN(json_is_json_with_the_same_verdict);
    RUN(help_and_wrong_usage);
    RUN(colour_only_on_a_terminal_and_not_with_no_color);
    return tap_done();
}
