// SPDX-License-Identifier: BSD-3-Clause
// Members that share a cache count themselves in together, on machines that hwloc makes up.
#include "coll/board/board_group.h"

#include "boot/hwtree.h"
#include "coll/board/board_wire.h"
#include "t.h"

#include <stdlib.h>
#include <string.h>

enum { MAX = 256, SPREAD = 8 };

static uint64_t masks[MAX][PLI_BOARD_GROUP_WORDS];
static uint32_t group[MAX];

static void machine(const char *text)
{
    pli_hwtree_unload();
    setenv("HWLOC_SYNTHETIC", text, 1);
    setenv("HWLOC_THISSYSTEM", "0", 1);
}

static void bind(int member, int from, int n)
{
    memset(masks[member], 0, sizeof masks[member]);
    for (int cpu = from; cpu < from + n; cpu++) {
        masks[member][cpu / 64] |= UINT64_C(1) << cpu % 64;
    }
}

static uint32_t groups(int n)
{
    return pli_board_group_bound(&masks[0][0], n, group);
}

// Whether members are together exactly if their parts of so many processors are.
static int follows(int n, int (*cpu_of)(int member), int per_part)
{
    int is_so = 1;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++) {
            int is_same = cpu_of(i) / per_part == cpu_of(k) / per_part;
            is_so &= is_same == (group[i] == group[k]);
        }
    }
    return is_so;
}

static int in_order(int member)
{
    return member;
}

// The next member is in the next domain of eight.
static int spread(int member)
{
    return member % SPREAD * 8 + member / SPREAD;
}

// 2 sockets of 4 domains of 8 cores.
static void large_machine(void)
{
    machine("pack:2 numa:4 l3:1 core:8 pu:1");
    for (int i = 0; i < 64; i++) {
        bind(i, in_order(i), 1);
    }
    T_OK(groups(64) == 8);
    T_OK(follows(64, in_order, 8));
    for (int i = 0; i < 64; i++) {
        bind(i, spread(i), 1);
    }
    T_OK(groups(64) == 8);
    T_OK(follows(64, spread, 8));
    T_OK(groups(16) == 8); // two in each domain
    T_OK(follows(16, spread, 8));
}

static void not_bound(void)
{
    for (int i = 0; i < 16; i++) {
        bind(i, 0, 64);
    }
    T_OK(groups(16) == 0);
    bind(3, 0, 8);
    T_OK(groups(16) == 0); // most are in no domain
    for (int i = 0; i < 16; i++) {
        bind(i, i % 8, 1);
    }
    T_OK(groups(16) == 0); // all in one domain
}

// Two processors of each core, and memory without a cache that tells more.
static void threads(void)
{
    machine("pack:2 numa:2 core:8 pu:2");
    for (int i = 0; i < 32; i++) {
        bind(i, 2 * i, 2);
    }
    T_OK(groups(32) == 4);
    T_OK(follows(32, in_order, 8));
}

// More caches than groups: by sockets then, and these are divided.
static void many_caches(void)
{
    machine("pack:2 l3:16 core:4 pu:1");
    for (int i = 0; i < 128; i++) {
        bind(i, in_order(i), 1);
    }
    uint32_t n = groups(128);
    T_OK(n >= 2 && n <= PLI_BOARD_N_GROUP);
    for (int i = 0; i < 64; i++) {
        for (int k = 64; k < 128; k++) {
            T_OK(group[i] != group[k]);
        }
    }
}

static void in_a_row(void)
{
    T_OK(pli_board_group_row(16, group) == 4);
    T_OK(group[0] == 0 && group[3] == 0 && group[4] == 1 && group[15] == 3);
    T_OK(pli_board_group_row(9, group) == 3 && group[8] == 2);
    T_OK(pli_board_group_row(256, group) == PLI_BOARD_N_GROUP && group[255] == 15);
}

int main(void)
{
    large_machine();
    not_bound();
    threads();
    many_caches();
    in_a_row();
    pli_hwtree_unload();
    return t_status();
}
