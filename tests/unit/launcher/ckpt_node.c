// SPDX-License-Identifier: BSD-3-Clause
// The memory of a host comes back as it was, holes included; what is no such image is refused, and
// nothing is written beyond the end that it names.
#include "launcher/ckpt/ckpt_node.h"
#include "launcher/base/why.h"
#include "t.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = 1 << 22, FIRST = 4096, SECOND = 1 << 20, LEN = 10000 };

static char path[] = "/tmp/ckpt-node-XXXXXX", why[PLI_CKPT_WHY];

static int make(void)
{
    int fd = memfd_create("test", 0);
    char block[LEN];
    memset(block, 7, sizeof block);
    T_MUST(fd >= 0 && ftruncate(fd, SIZE) == 0);
    T_EQ(pwrite(fd, block, LEN, FIRST), LEN);
    T_EQ(pwrite(fd, block, LEN, SECOND), LEN);
    return fd;
}

static bool read_into(int *fd_out)
{
    *fd_out = memfd_create("copy", 0);
    T_MUST(*fd_out >= 0);
    why[0] = '\0';
    bool is_good = pli_ckpt_node_read(*fd_out, path, why);
    T_OK(is_good || why[0] != '\0');
    return is_good;
}

static void whole(int fd)
{
    static char a[SIZE], b[SIZE];
    struct stat st;
    int copy;
    T_MUST(pli_ckpt_node_write(fd, path, STDERR_FILENO));
    T_MUST(read_into(&copy));
    T_OK(fstat(copy, &st) == 0 && st.st_size == SIZE && st.st_blocks < SIZE / 512 / 8);
    T_EQ(pread(fd, a, SIZE, 0), SIZE);
    T_EQ(pread(copy, b, SIZE, 0), SIZE);
    T_EQ(memcmp(a, b, SIZE), 0);
    close(copy);
}

static void mutated(void)
{
    struct stat st;
    int copy, fd = open(path, O_RDWR);
    T_MUST(fd >= 0 && fstat(fd, &st) == 0);
    size_t len = (size_t)st.st_size;
    unsigned char *good = malloc(len);
    T_MUST(good != NULL);
    T_EQ(pread(fd, good, len, 0), (long long)len);
    for (size_t i = 0; i < 32; i++) { // every byte of the first two heads, with other high bits
        unsigned char byte = good[i] ^ 0xc0;
        T_EQ(pwrite(fd, &byte, 1, (off_t)i), 1);
        if (read_into(&copy)) {
            T_OK(fstat(copy, &st) == 0 && st.st_blocks < SIZE);
        }
        close(copy);
        T_EQ(pwrite(fd, &good[i], 1, (off_t)i), 1);
    }
    for (size_t cut = len - 1; cut > len - 40; cut--) { // in the middle of a run
        T_EQ(ftruncate(fd, (off_t)cut), 0);
        T_OK(!read_into(&copy));
        close(copy);
    }
    for (size_t cut = 39; cut > 0; cut--) {
        T_EQ(ftruncate(fd, (off_t)cut), 0);
        T_OK(read_into(&copy) == (cut == 16)); // the size alone: nothing was in it
        close(copy);
    }
    free(good);
    close(fd);
}

int main(void)
{
    int temp = mkstemp(path), fd = make();
    T_MUST(temp >= 0 && unlink(path) == 0);
    close(temp);
    whole(fd);
    mutated();
    close(fd);
    unlink(path);
    return t_status();
}
