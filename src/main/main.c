/* iii: one binary with many names. This file only picks the part that runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/version.h"
#include "base/json.h"
#include "cli/doctor.h"
#include "image/image.h"
#include "main/daemon.h"
#include "main/datadir.h"
#include "runtime/native/native.h"

struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help; /* NULL: not for people */
};

static int run_doctor(int argc, char **argv)
{
    const char *given = getenv("III_DATA_DIR");
    CLEANUP(free_p) char *dir = datadir_nearest(given ? given : "");
    JSON_OWNED checks = native_doctor(dir);
    return doctor_print(checks, argc, argv);
}

static int run_version(int argc, char **argv)
{
    (void)argc, (void)argv;
    printf("iii %s\n", API_VERSION);
    return 0;
}

static int run_help(int argc, char **argv);

static const struct verb verbs[] = {
    { "serve", daemon_main, "Run the sandbox server" },
    { "image", image_cli, "Import, list and remove images" },
    { "doctor", run_doctor, "Say what this host can do and what is missing" },
    { "version", run_version, "Print the version" },
    { "help", run_help, "Print this text" },
    { "--version", run_version, NULL },
    { "--help", run_help, NULL },
    { "-h", run_help, NULL },
};

static int run_help(int argc, char **argv)
{
    (void)argc, (void)argv;
    printf("iii: run untrusted code in sandboxes that start in milliseconds\n\nUsage: iii COMMAND [OPTIONS]\n\nCommands:\n");
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (verbs[i].help)
            printf("  %-10s %s\n", verbs[i].name, verbs[i].help);
    printf("\nExamples:\n"
           "  iii serve                             serve on http://127.0.0.1:3111\n"
           "  iii image import rootfs.tar alpine    make an archive usable as an image\n"
           "  iii doctor                            check this host\n\n"
           "`iii COMMAND --help` tells more.\n");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return run_help(argc, argv), 2;
    if (strcmp(argv[1], "--launcher") == 0)
        return native_launcher_main(argc, argv);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].run(argc - 1, argv + 1);
    fprintf(stderr, "iii: unknown command \"%s\"; `iii help` lists them\n", argv[1]);
    return 2;
}
