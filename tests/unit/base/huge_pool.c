// SPDX-License-Identifier: BSD-3-Clause
// Blocks do not overlap and are aligned; what is given back is used again, and its pages go back.
#include "base/huge_pool.h"

#include "t.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N = 12, SIZE = 3 << 20, KEPT = 4 << 20 };

// Bytes that are in memory; what is not mapped is not.
static size_t resident(char *at, size_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 0;
    for (size_t i = 0; i < len; i += page) {
        unsigned char is_there = 0;
        n += mincore(at + i, page, &is_there) == 0 && (is_there & 1) != 0 ? page : 0;
    }
    return n;
}

int main(void)
{
    static char *at[N];
    for (int i = 0; i < N; i++) { // more than one stretch
        T_MUST((at[i] = pli_huge_pool_take(SIZE)) != NULL);
        T_EQ((uintptr_t)at[i] % PLI_HUGE_POOL_ALIGN, 0);
        memset(at[i], i, SIZE);
    }
    for (int i = 0; i < N; i++) {
        T_OK(at[i][0] == i && at[i][SIZE - 1] == i);
    }
    char *hole = at[N / 2];
    T_OK(pli_huge_pool_give(hole));
    T_OK(!pli_huge_pool_give(hole));
    T_OK((at[N / 2] = pli_huge_pool_take(PLI_HUGE_POOL_MIN)) == hole);
    void *other = malloc(SIZE);
    T_OK(!pli_huge_pool_give(other));
    free(other);
    T_OK(!pli_huge_pool_give(NULL));
    size_t n = 0;
    for (int i = 0; i < N; i++) {
        T_OK(pli_huge_pool_give(at[i]));
    }
    for (int i = 0; i < N; i++) {
        n += resident(at[i], SIZE);
    }
    T_OK(n <= KEPT);
    return t_status();
}
