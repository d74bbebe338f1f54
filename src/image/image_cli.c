/* `iii image …`: works on the store directly, also while a server runs. Options of all commands are parsed into one
 * struct options; a table maps the command to its cmd_*() function, which gets the open store and returns the exit
 * code. Errors go to standard error as one line; data goes to standard output, as a table on a terminal, tab-separated
 * otherwise, JSON with --json. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/strlist.h"
#include "image/build_server.h"
#include "image/image.h"
#include "image/image_build.h"
#include "image/image_cli.h"
#include "image/image_policy.h"

enum exit_code { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_MISSING = 3 };

static const char help_text[] =
    "Usage: iii image COMMAND [OPTIONS]\n"
    "\n"
    "Manage the local image store. Works beside a running server, which sees a new image at once.\n"
    "\n"
    "Commands:\n"
    "  pull NAME              pull an image from its registry: [HOST[:PORT]/]PATH[:TAG][@sha256:DIGEST]\n"
    "                         (default docker.io and latest); an interrupted pull resumes\n"
    "  import FILE.tar NAME   add an image from an archive (docker save, OCI layout or root file system;\n"
    "                         plain, gzip or zstd); an image of that name is replaced\n"
    "  build -t NAME CONTEXT  build an image from CONTEXT/Dockerfile; each step runs in a sandbox\n"
    "  export NAME FILE.tar   write an image as an OCI-layout archive\n"
    "  ls [--json]            list the images and the presets this host can run\n"
    "  inspect NAME           show one image as JSON\n"
    "  verify NAME            check the stored signature of an image against the policy again\n"
    "  rm NAME...             remove images; layers that a sandbox uses stay until it is removed\n"
    "  prune                  remove unused layers, cached build steps and data of interrupted pulls;\n"
    "                         with --max-mb N also pulled images, least recently used first\n"
    "  fsck [--repair]        check every record, layer and pin; --repair removes what is damaged\n"
    "\n"
    "Options:\n"
    "  --data-dir DIR         data folder (default: $III_DATA_DIR, otherwise /var/lib/iii-sandbox as root,\n"
    "                         otherwise ~/.local/share/iii-sandbox)\n"
    "  --tenant NAME          pull, import, inspect, export, verify, rm: images of this tenant (default: the\n"
    "                         operator's, which all tenants may use)\n"
    "  --json                 machine-readable output; for pull one JSON object for each step\n"
    "  --plain-http           pull: use plain HTTP for this registry (one on loopback is tried with HTTPS first)\n"
    "  --max-mb N             prune: disk that the layers may use, MB\n"
    "  --repair               fsck: remove what is damaged or unused\n"
    "  -t, --tag NAME         build: the image's name\n"
    "  -f, --file FILE        build: the Dockerfile (default: CONTEXT/Dockerfile)\n"
    "  --build-arg K=V        build: value of an ARG; may be repeated\n"
    "  --target STAGE         build: the last stage to build, by name or number\n"
    "  --network              build: steps may use the network\n"
    "  --no-cache             build: run every step, ignore the cache\n"
    "  --url URL              build: the server that uses this data folder (default: the one at III_HOST and\n"
    "                         III_REST_PORT if one runs, otherwise one is started for the build)\n"
    "  -h, --help             this text\n"
    "\n"
    "Registry settings: III_REGISTRY_MIRRORS (docker.io=mirror.example,…), III_PLAIN_REGISTRIES (10.0.0.5:5000,…),\n"
    "III_IMAGE_DISK_MB. Policy (registries, signatures): III_IMAGE_POLICY, otherwise that of the server of the data\n"
    "folder. A signature of an archive is in FILE.tar.sigs (`cosign download signature`). Credentials are those of "
    "`docker login` (~/.docker/config.json and its helpers).\n"
    "\n"
    "Examples:\n"
    "  iii image pull python:3.12-slim\n"
    "  iii image pull ghcr.io/acme/tools@sha256:0123…   (exactly this image)\n"
    "  iii image export python:3.12-slim python.tar     (take it to a host without network)\n"
    "  docker save python:3.12-slim -o python.tar && iii image import python.tar python:3.12-slim\n"
    "  iii image import rootfs.tar.zst my-tools\n"
    "  iii image ls --json | jq -r '.[].name'\n"
    "  iii image inspect my-tools | jq .config.env\n"
    "  iii image build -t my-app --build-arg VERSION=3 .\n"
    "  iii image rm my-tools\n"
    "  iii image prune --max-mb 20000\n"
    "\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no such image or file\n";

struct options {
    const char *data_dir;
    const char *max_mb;
    const char *tenant; /* or NULL */
    struct image_scope scope;
    bool is_json, is_help, is_plain, is_repair;
    struct image_build_options build;
    char **words; /* the command and its operands */
    int n_words;
};

static int usage_error(const char *text)
{
    (void)fprintf(stderr, "iii image: %s\nTry `iii image --help`.\n", text);
    return EXIT_USAGE;
}

static int print_failure(int r, const struct err *err)
{
    (void)fprintf(stderr, "iii image: %s\n", err->msg);
    return err->code == ERR_NOT_FOUND ? EXIT_MISSING : EXIT_FAILED;
}

static char *default_data_dir(void)
{
    const char *set = getenv("III_DATA_DIR"), *home = getenv("HOME");
    if (set && *set)
        return xstrdup(set);
    if (geteuid() == 0)
        return xstrdup("/var/lib/iii-sandbox");
    return xasprintf("%s/.local/share/iii-sandbox", home && *home ? home : "/tmp");
}

struct progress {
    int64_t last_us;
};

static void draw_progress(void *arg, int64_t done, int64_t total)
{
    struct progress *p = arg;
    int64_t now = clock_mono_us();
    if (now - p->last_us < 100000)
        return;
    p->last_us = now;
    char a[16], b[16];
    (void)fprintf(stderr, "\r\033[Kimporting: %s of %s (%d%%)", image_cli_size(done, a), image_cli_size(total, b),
                  total > 0 ? (int)(done * 100 / total) : 0);
}

static int print_made(const struct image *i, const struct options *opt)
{
    if (opt->is_json) {
        JSON_OWNED doc = json_pack("{s:s,s:s,s:I,s:I}", "name", i->name, "id", i->id, "size", (json_int_t)i->size_bytes,
                                   "layers", (json_int_t)i->n_layers);
        (void)json_dumpf(doc, stdout, JSON_INDENT(2));
        (void)putchar('\n');
        return EXIT_DONE;
    }
    char size[16];
    (void)printf("%s  %s  %s, %zu layer%s\n", i->name, i->id, image_cli_size(i->size_bytes, size), i->n_layers,
                 i->n_layers == 1 ? "" : "s");
    return EXIT_DONE;
}

static int cmd_import(struct image_store *s, const struct options *opt)
{
    if (opt->n_words != 3)
        return usage_error("import needs FILE.tar and NAME");
    CLEANUP(image_free_p) struct image *i = NULL;
    struct err err = ERR_INIT;
    struct progress progress = { 0 };
    bool is_terminal = isatty(STDERR_FILENO);
    if (is_terminal)
        image_on_progress(s, draw_progress, &progress);
    int r = image_import_for(s, opt->scope.tenant, opt->words[1], opt->words[2], &i, &err);
    if (is_terminal && progress.last_us)
        (void)fprintf(stderr, "\r\033[K");
    if (r < 0)
        return print_failure(r, &err);
    return print_made(i, opt);
}

static int cmd_ls(struct image_store *s, const struct options *opt)
{
    if (opt->n_words != 1)
        return usage_error("ls takes no names");
    JSON_OWNED list = image_list(s, opt->tenant ? &opt->scope : NULL);
    if (opt->is_json) {
        (void)json_dumpf(list, stdout, JSON_INDENT(2));
        (void)putchar('\n');
        return EXIT_DONE;
    }
    bool is_terminal = isatty(STDOUT_FILENO);
    size_t width = 4;
    for (size_t i = 0; i < json_array_size(list); i++) {
        size_t len = strlen(json_get_str(json_array_get(list, i), "name", ""));
        width = len > width ? len : width;
    }
    if (is_terminal)
        (void)printf("%-*s  %-12s  %10s  %6s  %-20s  %-6s  %-12s  %s\n", (int)width, "NAME", "ID", "SIZE", "LAYERS",
                     "CREATED", "SOURCE", "OWNER", "SIGNED BY");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *name = json_get_str(item, "name", ""), *id = json_get_str(item, "id", "");
        const char *source = json_get_str(item, "source", "");
        const char *owner = json_get_str(item, "tenant", "-"), *by = json_get_str(item, "signedBy", "-");
        long long bytes = json_get_int(item, "size", 0), layers = json_get_int(item, "layers", 0);
        time_t created = (time_t)(json_get_int(item, "createdAt", 0) / 1000);
        char size[16], when[32] = "-";
        struct tm tm;
        if (strcmp(source, "host") != 0 && gmtime_r(&created, &tm))
            (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
        if (is_terminal)
            (void)printf("%-*s  %-12.12s  %10s  %6lld  %-20s  %-6s  %-12s  %.40s\n", (int)width, name,
                         strncmp(id, "sha256:", 7) == 0 ? id + 7 : id, image_cli_size(bytes, size), layers, when,
                         source, owner, by);
        else
            (void)printf("%s\t%s\t%lld\t%lld\t%s\t%s\t%s\t%s\n", name, id, bytes, layers, when, source, owner, by);
    }
    return EXIT_DONE;
}

static int cmd_inspect(struct image_store *s, const struct options *opt)
{
    if (opt->n_words != 2)
        return usage_error("inspect needs one NAME");
    JSON_OWNED record = NULL;
    struct err err = ERR_INIT;
    int r = image_inspect(s, &opt->scope, opt->words[1], &record, &err);
    if (r < 0)
        return print_failure(r, &err);
    (void)json_dumpf(record, stdout, JSON_INDENT(2));
    (void)putchar('\n');
    return EXIT_DONE;
}

static int cmd_verify(struct image_store *s, const struct options *opt)
{
    JSON_OWNED result = NULL;
    struct err err = ERR_INIT;
    if (opt->n_words != 2)
        return usage_error("verify needs one NAME");
    int r = image_verify(s, &opt->scope, opt->words[1], &result, &err);
    if (r < 0)
        return print_failure(r, &err);
    if (opt->is_json) {
        (void)json_dumpf(result, stdout, JSON_INDENT(2));
        (void)putchar('\n');
    } else if (json_get_bool(result, "required", false)) {
        (void)printf("%s  %s  signed by %s (policy \"%s\")\n", opt->words[1], json_get_str(result, "digest", ""),
                     json_get_str(result, "signedBy", ""), json_get_str(result, "pattern", ""));
    } else {
        (void)printf("%s  no signature is required by the policy\n", opt->words[1]);
    }
    return EXIT_DONE;
}

static int cmd_rm(struct image_store *s, const struct options *opt)
{
    if (opt->n_words < 2)
        return usage_error("rm needs a NAME");
    int code = EXIT_DONE;
    for (int i = 1; i < opt->n_words; i++) {
        struct err err = ERR_INIT;
        int r = image_remove(s, &opt->scope, opt->words[i], &err);
        if (r < 0)
            code = print_failure(r, &err);
        else
            (void)printf("removed %s\n", opt->words[i]);
    }
    return code;
}

static int cmd_prune(struct image_store *s, const struct options *opt)
{
    struct err err = ERR_INIT;
    size_t removed = 0;
    if (opt->n_words != 1)
        return usage_error("prune takes no names");
    int r = 0;
    if (opt->max_mb) {
        char *end = NULL;
        errno = 0;
        long long mb = strtoll(opt->max_mb, &end, 10);
        if (errno || end == opt->max_mb || *end || mb < 0 || mb > 1000000000)
            return usage_error("--max-mb takes a number from 0 to 1000000000");
        r = image_evict(s, mb << 20, NULL, &removed, &err);
    }
    if (r == 0)
        r = image_prune(s, &err);
    if (r < 0)
        return print_failure(r, &err);
    if (opt->max_mb)
        (void)printf("removed %zu image%s\n", removed, removed == 1 ? "" : "s");
    return EXIT_DONE;
}

static int cmd_build(struct image_store *s, const struct options *opt)
{
    CLEANUP(image_free_p) struct image *i = NULL;
    CLEANUP(free_p) char *data_dir = opt->data_dir ? xstrdup(opt->data_dir) : default_data_dir();
    struct image_build_options build = opt->build;
    struct err err = ERR_INIT;
    if (opt->n_words != 2 || !build.name)
        return usage_error("build needs -t NAME and one CONTEXT");
    for (char **arg = build.build_args; arg && *arg; arg++)
        if (!strchr(*arg, '=') || **arg == '=')
            return usage_error("--build-arg takes NAME=value");
    build.context = opt->words[1];
    build.data_dir = data_dir;
    int r = build_server_catch(&build.stop, &err);
    if (r == 0)
        r = image_build(s, &build, &i, &err);
    return r < 0 ? print_failure(r, &err) : print_made(i, opt);
}

static int cmd_pull(struct image_store *s, const struct options *opt)
{
    if (opt->n_words != 2)
        return usage_error("pull needs one NAME");
    struct err err = ERR_INIT;
    int r = image_cli_pull(s, &(struct image_cli_pull_how){ opt->scope.tenant, opt->is_plain, opt->is_json },
                           opt->words[1], &err);
    return r < 0 ? print_failure(r, &err) : EXIT_DONE;
}

static int cmd_export(struct image_store *s, const struct options *opt)
{
    if (opt->n_words != 3)
        return usage_error("export needs NAME and FILE.tar");
    struct err err = ERR_INIT;
    int r = image_export(s, &opt->scope, opt->words[1], opt->words[2], &err);
    if (r < 0)
        return print_failure(r, &err);
    struct stat st = { 0 };
    char size[16];
    (void)stat(opt->words[2], &st); /* a failure leaves the size 0 in the line below */
    (void)printf("%s: %s\n", opt->words[2], image_cli_size(st.st_size, size));
    return EXIT_DONE;
}

static int cmd_fsck(struct image_store *s, const struct options *opt)
{
    if (opt->n_words != 1)
        return usage_error("fsck takes no names");
    JSON_OWNED report = NULL;
    struct err err = ERR_INIT;
    int r = image_fsck(s, opt->is_repair, &report, &err);
    if (r < 0)
        return print_failure(r, &err);
    const json_t *problems = json_get(report, "problems");
    size_t n = json_array_size(problems);
    if (opt->is_json) {
        (void)json_dumpf(report, stdout, JSON_INDENT(2));
        (void)putchar('\n');
    } else {
        for (size_t i = 0; i < n; i++)
            (void)printf("%s\n", json_string_value(json_array_get(problems, i)));
        (void)printf("%lld images, %lld layers, %lld unfinished downloads: %zu problem%s%s\n",
                     (long long)json_get_int(report, "records", 0), (long long)json_get_int(report, "layers", 0),
                     (long long)json_get_int(report, "partial", 0), n, n == 1 ? "" : "s",
                     n && opt->is_repair ? ", repaired where possible" : "");
    }
    return n && !opt->is_repair ? EXIT_FAILED : EXIT_DONE;
}

static const struct {
    const char *name;
    int (*run)(struct image_store *s, const struct options *opt);
} commands[] = {
    { "import", cmd_import },   { "ls", cmd_ls },       { "list", cmd_ls },       { "rm", cmd_rm },
    { "inspect", cmd_inspect }, { "prune", cmd_prune }, { "pull", cmd_pull },     { "export", cmd_export },
    { "fsck", cmd_fsck },       { "build", cmd_build }, { "verify", cmd_verify },
};

static int read_options(int argc, char **argv, struct options *ret)
{
    static const struct option known[] = { { "data-dir", required_argument, NULL, 'd' },
                                           { "json", no_argument, NULL, 'j' },
                                           { "tenant", required_argument, NULL, 'T' },
                                           { "plain-http", no_argument, NULL, 'p' },
                                           { "max-mb", required_argument, NULL, 'm' },
                                           { "repair", no_argument, NULL, 'r' },
                                           { "tag", required_argument, NULL, 't' },
                                           { "file", required_argument, NULL, 'f' },
                                           { "build-arg", required_argument, NULL, 'a' },
                                           { "network", no_argument, NULL, 'n' },
                                           { "no-cache", no_argument, NULL, 'c' },
                                           { "target", required_argument, NULL, 'g' },
                                           { "url", required_argument, NULL, 'u' },
                                           { "help", no_argument, NULL, 'h' },
                                           { 0 } };
    int c;
    optind = 0; /* reset getopt: the caller may have used it on its own arguments */
    ret->build.has_cache = true;
    while ((c = getopt_long(argc, argv, "ht:f:", known, NULL)) != -1)
        switch (c) {
        case 'd':
            ret->data_dir = optarg;
            break;
        case 'j':
            ret->is_json = true;
            break;
        case 'T':
            ret->tenant = optarg;
            break;
        case 'p':
            ret->is_plain = true;
            break;
        case 'm':
            ret->max_mb = optarg;
            break;
        case 'r':
            ret->is_repair = true;
            break;
        case 't':
            ret->build.name = optarg;
            break;
        case 'g':
            ret->build.target = optarg;
            break;
        case 'f':
            ret->build.dockerfile = optarg;
            break;
        case 'a':
            strlist_add(&ret->build.build_args, optarg);
            break;
        case 'n':
            ret->build.has_network = true;
            break;
        case 'c':
            ret->build.has_cache = false;
            break;
        case 'u':
            ret->build.url = optarg;
            break;
        case 'h':
            ret->is_help = true;
            break;
        default:
            return -EINVAL;
        }
    ret->scope.tenant = ret->tenant ? ret->tenant : "";
    ret->words = argv + optind;
    ret->n_words = argc - optind;
    return 0;
}

static int run_command(const struct options *opt)
{
    if (opt->is_help || (opt->n_words > 0 && strcmp(opt->words[0], "help") == 0)) {
        (void)fputs(help_text, stdout);
        return EXIT_DONE;
    }
    if (opt->n_words == 0)
        return usage_error("which command? pull, import, build, export, ls, inspect, verify, rm, prune or fsck");
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(opt->words[0], commands[i].name) != 0)
            continue;
        CLEANUP(image_store_close_p) struct image_store *s = NULL;
        CLEANUP(free_p) char *data_dir = opt->data_dir ? xstrdup(opt->data_dir) : default_data_dir();
        CLEANUP(free_p) char *dir = xasprintf("%s/images", data_dir);
        struct err err = ERR_INIT;
        int r = image_store_open(dir, &s, &err);
        if (r < 0)
            return print_failure(r, &err);
        const char *presets = getenv("III_PRESETS");
        image_store_allow_host(s, !presets || strcmp(presets, "image") != 0);
        CLEANUP(image_policy_free_p) struct image_policy *policy = NULL;
        r = image_policy_load(data_dir, &policy, &err);
        if (r < 0)
            return print_failure(r, &err);
        image_store_use_policy(s, policy);
        return commands[i].run(s, opt);
    }
    char text[100];
    (void)snprintf(text, sizeof(text), "no command \"%.40s\"", opt->words[0]);
    return usage_error(text);
}

int image_cli(int argc, char **argv)
{
    struct options opt = { 0 };
    int code = EXIT_USAGE;
    if (read_options(argc, argv, &opt) < 0)
        (void)fprintf(stderr, "Try `iii image --help`.\n");
    else
        code = run_command(&opt);
    strlist_free(opt.build.build_args);
    return code;
}
