#include "image/preset.h"

#include <string.h>

static const struct preset presets[] = {
    { "python", "docker.io/iiidev/python:latest", "python3", "Python" },
    { "node", "docker.io/iiidev/node:latest", "node", "Node.js" },
    { "shell", NULL, "sh", NULL },
    { "host", NULL, "sh", NULL },
};

const struct preset *preset_at(size_t i)
{
    return i < sizeof(presets) / sizeof(presets[0]) ? &presets[i] : NULL;
}

const struct preset *preset_find(const char *name)
{
    for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}

const char *preset_pull_name(const char *name)
{
    const struct preset *p = preset_find(name);
    bool has_scheme = strncmp(name, "oci:", 4) == 0 && strchr(name, '/'); /* as reference_canonical() reads it */
    return p ? p->reference : has_scheme ? name + 4 : name;
}
