// SPDX-License-Identifier: BSD-3-Clause
// Sends requests to far threads about their heaps and locks, and the messages of barriers.
#include "rt_ask.h"
#include "rt.h"

#include "base/err.h"
#include "boot/boot.h"
#include "onesided/region.h"

#include <string.h>

static void check(enum pli_err err, int to)
{
    if (err != PLI_OK) {
        pli_boot_let_launcher_judge();
        pli_rt_die("thread %d cannot be reached: %s", to, pli_fail_take(NULL));
    }
}

uint64_t pli_rt_ask(int to, enum rt_ask_kind kind, uint64_t value)
{
    struct rt_ask q = { .kind = (uint32_t)kind, .value = value };
    unsigned char answer[PLI_REGION_ASK];
    size_t len = 0;
    uint64_t a = 0;
    check(pli_region_ask(rt_me()->region, to, &q, sizeof q, answer, &len), to);
    memcpy(&a, answer, len == sizeof a ? sizeof a : 0);
    return a;
}

void pli_rt_ask_tell(int to, enum rt_ask_kind kind, uint64_t value)
{
    struct rt_ask q = { .kind = (uint32_t)kind, .value = value };
    check(pli_region_tell(rt_me()->region, to, &q, sizeof q), to);
}
