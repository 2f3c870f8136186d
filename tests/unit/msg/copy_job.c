// SPDX-License-Identifier: BSD-3-Clause
// Two sides that share a copy take each byte once, in whatever order they come; and the one that
// finishes last knows it.
#include "msg/copy_job.h"

#include "t.h"

#include <string.h>

enum { LONGEST = 4200 };

static unsigned char seen[LONGEST];

// Which side comes next: both by turns, one alone, or one that comes late.
static bool is_back_next(int order, int turn)
{
    return order == 0 ? turn % 2 != 0 : order == 1 ? false : order == 2 ? true : turn > 1;
}

static void share(uint64_t size, uint64_t first, uint32_t chunk, int order)
{
    struct pli_copy_job j;
    uint32_t mine[2] = { 0, 0 };
    bool is_over[2] = { false, false };
    memset(seen, 0, sizeof seen);
    pli_copy_job_init(&j, 0, 0, size, first, chunk, 0);
    for (int turn = 0; !is_over[0] || !is_over[1]; turn++) {
        bool is_back = is_over[0] || (is_back_next(order, turn) && !is_over[1]);
        uint64_t at, len;
        if (!pli_copy_job_take(&j, is_back, &at, &len)) {
            is_over[is_back] = true;
            continue;
        }
        mine[is_back]++;
        T_MUST(len > 0 && at + len <= size);
        for (uint64_t i = at; i < at + len; i++) {
            seen[i]++;
        }
    }
    for (uint64_t i = 0; i < size; i++) {
        T_MUST(seen[i] == 1);
    }
    T_EQ(mine[0] + mine[1], j.n);
    bool is_last = pli_copy_job_end(&j, mine[0]);
    T_OK(is_last == (mine[1] == 0));
    T_OK(pli_copy_job_end(&j, mine[1]) == (mine[1] > 0));
    T_OK(!pli_copy_job_release(&j));
    T_OK(pli_copy_job_release(&j));
}

int main(void)
{
    static const uint64_t first[] = { 32, 96, 384, 1000 };
    static const uint32_t chunk[] = { 32, 64 };
    static const uint64_t sizes[] = {
        1,   31,   32,   33,   64,   65,   192,  193,  256,  768,
        769, 1023, 1024, 1999, 2000, 2001, 2063, 2064, 2065, LONGEST
    };
    for (unsigned i = 0; i < sizeof first / sizeof first[0]; i++) {
        for (unsigned k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            for (int order = 0; order < 4; order++) {
                share(sizes[k], first[i], chunk[i % 2], order);
            }
        }
    }
    return t_status();
}
