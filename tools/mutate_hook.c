/* Linked into programs that tools/covermap.py builds: each function that is entered leaves a mark in the file $MUTATE_COVER, one byte for
 * each 16 bytes of code. The file is mapped before main(), so that a process marks also after it dropped its rights, and after a crash. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern const char __executable_start[];

static unsigned char *marks;
static size_t n_marks;

__attribute__((constructor, no_instrument_function)) static void open_marks(void)
{
    const char *path = getenv("MUTATE_COVER");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return;
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (map == MAP_FAILED)
        return;
    n_marks = (size_t)st.st_size;
    marks = map;
}

void __cyg_profile_func_enter(void *function, void *site);
__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    size_t at = (size_t)((const char *)function - __executable_start) >> 4;
    if (at < n_marks)
        marks[at] = 1;
}

void __cyg_profile_func_exit(void *function, void *site);
__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function;
    (void)site;
}
