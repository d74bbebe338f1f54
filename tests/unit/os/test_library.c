#include "os/library.h"

#include <errno.h>
#include <pthread.h>

#include "tap.h"

static struct {
    double (*cos)(double);
    double (*pow)(double, double);
} functions;

#define AT(name) (size_t)((char *)&functions.name - (char *)&functions)

static struct library make(const char *file, const struct library_symbol *symbols, size_t n)
{
    return (struct library){ .file = file,
                             .package = "its-package",
                             .symbols = symbols,
                             .n = n,
                             .functions = &functions,
                             .lock = PTHREAD_MUTEX_INITIALIZER };
}

TEST(loaded_once)
{
    const struct library_symbol symbols[] = { { "cos", AT(cos) }, { "pow", AT(pow) } };
    struct library l = make("libm.so.6", symbols, 2);
    struct err err = ERR_INIT;
    CHECK_INT(library_load(&l, &err), 0);
    CHECK(functions.cos(0) == 1 && functions.pow(2, 10) == 1024);
    l.file = "gone";
    CHECK_INT(library_load(&l, &err), 0);
}

TEST(missing_file)
{
    struct library l = make("libnowhere.so.9", NULL, 0);
    struct err err = ERR_INIT;
    CHECK_INT(library_load(&l, &err), -ENOSYS);
    CHECK(strstr(err.msg, "libnowhere.so.9") && strstr(err.msg, "its-package"));
    l.file = "libm.so.6"; /* installed meanwhile */
    CHECK_INT(library_load(&l, &err), 0);
}

TEST(missing_function)
{
    const struct library_symbol symbols[] = { { "cos", AT(cos) }, { "no_such_function", AT(pow) } };
    struct library l = make("libm.so.6", symbols, 2);
    struct err err = ERR_INIT;
    CHECK_INT(library_load(&l, &err), -ENOSYS);
    CHECK(strstr(err.msg, "no_such_function") && strstr(err.msg, "its-package"));
}

int main(void)
{
    RUN(loaded_once);
    RUN(missing_file);
    RUN(missing_function);
    return tap_done();
}
