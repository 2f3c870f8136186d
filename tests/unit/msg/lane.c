// SPDX-License-Identifier: BSD-3-Clause
// Ways between lanes: which of them stay inside the process, whatever the number of the job is.
#include "msg/lane.h"

#include "t.h"

static void check(uint64_t job)
{
    struct pli_lane lane = { .proc = job | 5 };
    for (uint64_t proc = 4; proc < 8; proc++) {
        for (uint64_t at = 0; at < PLI_NODE_N_LANE; at++) {
            struct pli_conn c = { .key = (job | proc) << 3 | at };
            T_EQ(pli_lane_is_within(&lane, &c), proc == 5);
        }
    }
}

int main(void)
{
    check(0);
    check(UINT64_C(1) << 32);
    check(UINT64_C(0x123) << 32);
    check(UINT64_C(0xdeadbeef) << 32); // the top bits do not fit into a key
    return t_status();
}
