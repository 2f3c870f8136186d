// SPDX-License-Identifier: BSD-3-Clause
// The memory of a host comes back as it was, holes included; what is no such image is refused, and
// nothing is written beyond the end that it names.
#include "launcher/ckpt/ckpt_node.h"
#include "launcher/base/say.h"
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

// Three memories, each based on the one before: pages that changed, came, and went.
static void changed(void)
{
    static char a[SIZE], b[SIZE];
    char dir[] = "/tmp/ckpt-chain-XXXXXX", image[3][64], hashes[3][64], link[256];
    struct stat st[3];
    int fd = make(), copy = -1;
    T_MUST(mkdtemp(dir) != NULL);
    for (int i = 0; i < 3; i++) {
        snprintf(image[i], sizeof image[i], "%s/%d", dir, i);
        snprintf(hashes[i], sizeof hashes[i], "%s/hashes.%d", dir, i);
        snprintf(link, sizeof link, "%s.parent", image[i]);
        T_OK(i == 0 || symlink(image[i - 1] + strlen(dir) + 1, link) == 0);
        if (i == 1) { // one byte, and a page that is not there any more
            T_EQ(pwrite(fd, "x", 1, SECOND + 5), 1);
            T_EQ(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, FIRST, 4096), 0);
        } else if (i == 2) { // a new one
            T_EQ(pwrite(fd, "y", 1, SIZE - 1), 1);
        }
        T_MUST(pli_ckpt_node_write_hashed(fd, image[i], hashes[i], i > 0 ? hashes[i - 1] : NULL,
                                          STDERR_FILENO));
        copy = memfd_create("copy", 0);
        T_MUST(copy >= 0);
        T_OK(pli_ckpt_node_read(copy, image[i], why));
        T_EQ(pread(fd, a, SIZE, 0), SIZE);
        T_EQ(pread(copy, b, SIZE, 0), SIZE);
        T_EQ(memcmp(a, b, SIZE), 0);
        T_EQ(stat(image[i], &st[i]), 0);
        close(copy);
    }
    T_OK(st[1].st_size < st[0].st_size && st[2].st_size < st[0].st_size);
    T_EQ(unlink(image[0]), 0); // without the first none can be read
    copy = memfd_create("copy", 0);
    T_OK(!pli_ckpt_node_read(copy, image[2], why) && strstr(why, ".parent") != NULL);
    close(copy);
    close(fd);
    for (int i = 0; i < 3; i++) {
        snprintf(link, sizeof link, "%s.parent", image[i]);
        unlink(link);
        unlink(image[i]);
        unlink(hashes[i]);
    }
    T_EQ(rmdir(dir), 0);
}

int main(void)
{
    int temp = mkstemp(path), fd = make();
    T_MUST(temp >= 0 && unlink(path) == 0);
    close(temp);
    whole(fd);
    mutated();
    changed();
    close(fd);
    unlink(path);
    return t_status();
}
