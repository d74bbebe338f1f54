#include "os/library.h"

#include <dlfcn.h>
#include <string.h>

const char *library_bind(void *handle, const struct library_symbol *symbols, size_t n, void *functions)
{
    for (size_t i = 0; i < n; i++) {
        void *symbol = dlsym(handle, symbols[i].name);
        if (!symbol)
            return symbols[i].name;
        memcpy((char *)functions + symbols[i].at, &symbol, sizeof(symbol));
    }
    return NULL;
}

static int load_locked(struct library *l, struct err *err)
{
    if (l->is_loaded)
        return 0;
    void *handle = dlopen(l->file, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return err_set(err, ERR_UNSUPPORTED, 0, "%s: install the package %s", dlerror(), l->package);
    const char *missing = library_bind(handle, l->symbols, l->n, l->functions);
    if (missing) {
        (void)dlclose(handle); /* of no use */
        return err_set(err, ERR_UNSUPPORTED, 0, "%s has no function %s: install a newer package %s", l->file, missing,
                       l->package);
    }
    l->is_loaded = true;
    return 0;
}

int library_load(struct library *l, struct err *err)
{
    (void)pthread_mutex_lock(&l->lock); /* fails only when it is misused */
    int r = load_locked(l, err);
    (void)pthread_mutex_unlock(&l->lock);
    return r;
}
