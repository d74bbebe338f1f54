/* Runs a fuzz target over every file of the folders given, as a TAP test: the regression half of fuzzing. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    uint8_t *data = malloc((size_t)st.st_size + 1);
    ssize_t n = data ? read(fd, data, (size_t)st.st_size) : -1;
    if (n >= 0)
        (void)LLVMFuzzerTestOneInput(data, (size_t)n);
    free(data);
    close(fd);
    return n >= 0;
}

int main(int argc, char **argv)
{
    int ran = 0;
    for (int i = 1; i < argc; i++) {
        DIR *d = opendir(argv[i]);
        for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
            ran += run_file(dirfd(d), e->d_name);
        if (d)
            closedir(d);
    }
    (void)LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    printf("ok 1 - %d kept inputs and the empty one\n1..1\n", ran);
    return 0;
}
