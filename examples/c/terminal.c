/* A shell with live input and output. */
#include <stdio.h>
#include <string.h>

#include <iii_sandbox.h>

int main(void)
{
    static const char keys[] = "stty size; echo $((6 * 7)) is the answer; exit 5\n";
    struct iii_error err = { 0 };
    III_AUTO_SANDBOX iii_sandbox *box = NULL;
    III_AUTO_TTY iii_tty *tty = NULL;
    char seen[8192] = "";
    size_t have = 0, got = 1;
    int code = 0, e;

    const struct iii_terminal_create_options size = { .cols = III_INT(100), .rows = III_INT(30) };
    if ((e = iii_create(NULL, NULL, &box, &err)) == 0 && (e = iii_tty_open(box, &size, &tty, &err)) == 0)
        e = iii_tty_send(tty, keys, strlen(keys), &err);
    while (e == 0 && got > 0 && have < sizeof(seen) - 1) {
        e = iii_tty_read(tty, seen + have, sizeof(seen) - 1 - have, 30000, &got, &err);
        have += got;
    }
    if (e != 0) {
        fprintf(stderr, "%s: %s\n", iii_code_name(err.code), err.message);
        return 1;
    }
    if (strstr(seen, "30 100") && strstr(seen, "42 is the answer") && iii_tty_how(tty, &code) == III_TTY_EXITED)
        printf("the shell ended with %d\n", code);
    return 0;
}
