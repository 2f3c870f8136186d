// SPDX-License-Identifier: BSD-3-Clause
// Pieces do not overlap, are aligned, and the memory goes back when the last is given back.
#include "coll/sched_mem.h"

#include <stdint.h>
#include <string.h>

#include "t.h"

enum { N = 5000, KEPT = 1 << 18 };

int main(void)
{
    static unsigned char *at[N];
    static size_t size[N];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) {
            size_t align = (size_t)8 << i % 4;
            size[i] = i % 500 == 499 ? 300000 : (size_t)(i * 37 % 900 + 1);
            at[i] = pli_sched_mem_take(size[i], align);
            T_MUST(at[i] != NULL);
            T_EQ((uintptr_t)at[i] % align, 0);
            memset(at[i], i, size[i]);
        }
        T_OK(pli_sched_mem_mapped() > KEPT);
        for (int i = 0; i < N; i++) {
            T_MUST(at[i][0] == (unsigned char)i && at[i][size[i] - 1] == (unsigned char)i);
        }
        for (int i = 0; i < N; i++) {
            int k = i * 7 % N;
            pli_sched_mem_give(at[k]);
        }
        T_OK(pli_sched_mem_mapped() <= KEPT);
    }
    pli_sched_mem_give(NULL);
    T_OK(pli_sched_mem_take(SIZE_MAX - 4, 8) == NULL);
    return t_status();
}
