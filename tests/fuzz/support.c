// SPDX-License-Identifier: BSD-3-Clause
// What fuzz targets use, whoever drives them.
#include "fuzz.h"

#include <ftw.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

jmp_buf fuzz_end;
int fuzz_is_trying, fuzz_is_used_up;

_Noreturn void __real_exit(int status);
_Noreturn void __real__exit(int status);
_Noreturn void __wrap_exit(int status);
_Noreturn void __wrap__exit(int status);

_Noreturn void __wrap_exit(int status)
{
    if (fuzz_is_trying) {
        longjmp(fuzz_end, 1);
    }
    __real_exit(status);
}

_Noreturn void __wrap__exit(int status)
{
    if (fuzz_is_trying) {
        longjmp(fuzz_end, 1);
    }
    __real__exit(status);
}

// In targets that are linked with --wrap=pli_futex_wait nobody else is there to wait for.
void __wrap_pli_futex_wait(_Atomic int *word, int expect, bool is_private, uint64_t timeout_ns);

void __wrap_pli_futex_wait(_Atomic int *word, int expect, bool is_private, uint64_t timeout_ns)
{
    (void)word;
    (void)expect;
    (void)is_private;
    FUZZ_MUST(timeout_ns != 0); // a wait without a limit would be one for ever
}

int fuzz_file(const void *data, size_t len)
{
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
    }
    FUZZ_MUST(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, len, 0) == (ssize_t)len &&
              lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static char dir[] = "/tmp/pliant-fuzz-XXXXXX";
static pid_t maker;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static void remove_dir(void)
{
    if (maker == getpid()) {
        nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}

const char *fuzz_dir(void)
{
    if (maker == 0) {
        FUZZ_MUST(mkdtemp(dir) != NULL && atexit(remove_dir) == 0);
        maker = getpid();
    }
    return dir;
}

const char *fuzz_path(const char *name, const void *data, size_t len)
{
    static char path[128], target[64];
    snprintf(path, sizeof path, "%s/%s", fuzz_dir(), name);
    snprintf(target, sizeof target, "/proc/self/fd/%d", fuzz_file(data, len));
    char is[64] = "";
    ssize_t n = readlink(path, is, sizeof is - 1);
    if (n < 0 || strcmp(is, target) != 0) {
        unlink(path);
        FUZZ_MUST(symlink(target, path) == 0);
    }
    return path;
}
