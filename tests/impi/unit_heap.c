// SPDX-License-Identifier: BSD-3-Clause
// Memory that a process shares with its agent: places do not overlap, are used again, and their
// pages go back to the system when they were not wanted for a while, not while somebody streams
// through them.
#include "engine/impi_heap.h"
#include "t.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MIB = 1 << 20, BEGIN = 4096, N = 64 };

static struct pli_impi_heap heap;
static int fd;
static char *base;

static void make(void)
{
    fd = memfd_create("heap", MFD_CLOEXEC);
    T_TRUE(fd >= 0 && ftruncate(fd, (off_t)BEGIN + 512 * (off_t)MIB) == 0);
    base = mmap(NULL, BEGIN + 512 * (size_t)MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    T_TRUE(base != MAP_FAILED);
    T_TRUE(pli_impi_heap_init(&heap, fd, BEGIN, 512 * (uint64_t)MIB));
}

// So much of it has pages, give or take a large one.
static bool has_mib(long n)
{
    struct stat st;
    T_EQ(fstat(fd, &st), 0);
    return labs((long)(st.st_blocks / 2048) - n) <= 2;
}

// Take a place and write a byte to each of its pages.
static uint64_t take(uint64_t size)
{
    uint64_t at = pli_impi_heap_take(&heap, size);
    T_TRUE(at >= BEGIN);
    for (uint64_t i = 0; i < size; i += 4096) {
        base[at + i] = 1;
    }
    return at;
}

static void places(void)
{
    uint64_t a = pli_impi_heap_take(&heap, 100), b = pli_impi_heap_take(&heap, 1),
             c = pli_impi_heap_take(&heap, 5000);
    T_EQ(a, BEGIN);
    T_EQ(b, a + 128);
    T_EQ(c, b + 64);
    pli_impi_heap_give(&heap, b);
    T_EQ(pli_impi_heap_take(&heap, 65), c + 5056); // does not fit where b was
    T_EQ(pli_impi_heap_take(&heap, 64), b);
    pli_impi_heap_give(&heap, b);
    pli_impi_heap_give(&heap, a);
    T_EQ(pli_impi_heap_take(&heap, 192), a); // neighbours become one
    T_EQ(pli_impi_heap_take(&heap, 512 * (uint64_t)MIB), 0);
    T_EQ(pli_impi_heap_take(&heap, UINT64_MAX), 0);
    pli_impi_heap_give(&heap, a);
    pli_impi_heap_give(&heap, a); // nobody's: no harm
    pli_impi_heap_give(&heap, 77);
    pli_impi_heap_give(&heap, c);
    pli_impi_heap_give(&heap, c + 5056);
    T_EQ(heap.used, 0);
    T_EQ(pli_impi_heap_trim(&heap, 0), -1); // so little is kept for good
}

static void pages(void)
{
    uint64_t at[N];
    for (int i = 0; i < N; i++) {
        at[i] = take(4 * MIB);
    }
    T_TRUE(has_mib(256));
    T_EQ(pli_impi_heap_trim(&heap, 5000), -1); // all in use: nothing to look after
    // Emptied, and soon filled again.
    for (int round = 0; round < 3; round++) {
        uint64_t now = 10000 + (uint64_t)round * 600;
        for (int i = 0; i < N; i++) {
            pli_impi_heap_give(&heap, at[i]);
        }
        int wait = pli_impi_heap_trim(&heap, now);
        T_TRUE(wait > 0 && wait <= 1000);
        T_TRUE(has_mib(256));
        for (int i = 0; i < N; i++) {
            at[i] = take(4 * MIB);
        }
    }
    // Emptied but for some, for good.
    for (int i = 16; i < N; i++) {
        pli_impi_heap_give(&heap, at[i]);
    }
    uint64_t now = 20000;
    int wait = pli_impi_heap_trim(&heap, now);
    T_EQ(wait, 1000);
    T_TRUE(has_mib(256));
    T_EQ(pli_impi_heap_trim(&heap, now + 999), 1);
    T_TRUE(has_mib(256));
    T_EQ(pli_impi_heap_trim(&heap, now + 1000), -1);
    T_TRUE(has_mib(64));
    T_EQ(base[at[15]], 1);
    for (int i = 0; i < 16; i++) {
        pli_impi_heap_give(&heap, at[i]);
    }
    T_EQ(pli_impi_heap_trim(&heap, now + 9000), -1);
    T_TRUE(has_mib(64));
}

// One place high up stays; what lies below it goes back all the same.
static void hole(void)
{
    uint64_t at[N];
    for (int i = 0; i < N; i++) {
        at[i] = take(4 * MIB);
    }
    for (int i = 0; i < N - 1; i++) {
        pli_impi_heap_give(&heap, at[i]);
    }
    T_TRUE(pli_impi_heap_trim(&heap, 40000) > 0);
    T_EQ(pli_impi_heap_trim(&heap, 41000), -1);
    T_TRUE(has_mib(68));
    T_EQ(base[at[N - 1]], 1);
    pli_impi_heap_give(&heap, at[N - 1]);
}

int main(void)
{
    make();
    places();
    pages();
    hole();
    pli_impi_heap_fini(&heap);
    return 0;
}
