#include "main/config/config_help.h"

#include <stdio.h>
#include <string.h>

#include "base/settings.h"

/* What most servers set; --config is the tenth. */
static const char *const first[] = { "host",     "rest_port", "engine_port", "data_dir",     "auth_token",
                                     "tls_cert", "tls_key",   "backend",     "max_sandboxes" };
/* The other rows by the first word of their key in the file; what is in none of these comes last. */
static const struct group {
    const char *title, *keys; /* keys: words with a blank behind each */
} groups[] = {
    { "REST API", "rest mcp " },
    { "TLS", "tls " },
    { "Engine", "engine functions " },
    { "Sandboxes", "sandbox pool " },
    { "Limits", "limits rate " },
    { "Images", "images " },
    { "Network", "ports proxy egress " },
    { "Backends", "docker vm " },
    { "Logs, audit, traces", "log audit otel " },
    { "Process", "" },
};

static bool is_first(const struct settings_row *row)
{
    for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
        if (strcmp(first[i], row->field) == 0)
            return true;
    return false;
}

static size_t group_of(const struct settings_row *row)
{
    char key[32];
    size_t i = 0, last = sizeof(groups) / sizeof(*groups) - 1;
    (void)snprintf(key, sizeof(key), "%.*s ", (int)strcspn(row->yaml, "."), row->yaml);
    while (i < last && !strstr(groups[i].keys, key))
        i++;
    return i;
}

static void print_row(const struct settings_row *row)
{
    char names[96];
    const char *value = row->type == 'b' || !*row->flag ? "" : row->type == 'i' ? " N" : " TEXT";
    (void)snprintf(names, sizeof(names), "%s%s%s%s", row->flag, value, *row->flag ? ", " : "", row->env);
    printf("  %-38s %s%s%s%s\n", names, row->help, *row->fallback ? " [" : "", row->fallback,
           *row->fallback ? "]" : "");
}

void config_help_print(void)
{
    printf("Usage: iii serve [OPTIONS]\n\n"
           "Run the server. A setting is given as an option, as a variable of the environment, or in the file of\n"
           "--config; the first of these counts. The default is in brackets.\n\n"
           "The ten that matter:\n"
           "  %-38s %s\n",
           "-c, --config FILE", "Read settings from a YAML file");
    for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
        for (const struct settings_row *row = settings_rows; row->field; row++)
            if (strcmp(first[i], row->field) == 0)
                print_row(row);
    for (size_t g = 0; g < sizeof(groups) / sizeof(*groups); g++) {
        printf("\n%s:\n", groups[g].title);
        for (const struct settings_row *row = settings_rows; row->field; row++)
            if (group_of(row) == g && !is_first(row))
                print_row(row);
    }
    printf("\nExamples:\n"
           "  iii serve                                   # for this host only\n"
           "  III_AUTH_TOKEN=secret iii serve --host 0.0.0.0\n"
           "  iii serve -c config.yaml --data-dir /srv/iii\n\n"
           "docs/configuration.md has the keys of the file. Exit codes: 0 stopped, 1 failed, 2 wrong usage\n");
}
