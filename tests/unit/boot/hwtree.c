// SPDX-License-Identifier: BSD-3-Clause
// Sets of processors in made-up machines: the levels that hold a set are found, and no others.
#include "boot/hwtree.h"

#include "t.h"

#define ANY PLI_HWTREE_ANY

static void machine(const char *what)
{
    pli_hwtree_unload();
    setenv("HWLOC_SYNTHETIC", what, 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    T_EQ(pli_hwtree_load(), PLI_OK);
    T_EQ(pli_hwtree_load(), PLI_OK);
}

static void lies(uint64_t low, uint64_t high, enum pli_hwtree_level level, uint32_t want)
{
    uint64_t mask[] = { low, high };
    uint32_t at[PLI_N_HWTREE];
    T_EQ(pli_hwtree_find(mask, 2, at), PLI_OK);
    T_EQ(at[level], want);
    T_EQ(at[PLI_HWTREE_MACHINE], 0);
}

// 16 processors: four to a memory node, eight to a package, two to a core.
static void test_levels(void)
{
    machine("pack:2 numa:2 l3:1 core:2 pu:2");
    lies(1 << 9, 0, PLI_HWTREE_PACKAGE, 1);
    lies(1 << 9, 0, PLI_HWTREE_NUMA, 2);
    lies(1 << 9, 0, PLI_HWTREE_L3, 2);
    lies(1 << 9, 0, PLI_HWTREE_CORE, 4);
    lies(1 << 9, 0, PLI_HWTREE_PU, 9);
    lies(3 << 14, 0, PLI_HWTREE_CORE, 7);
    lies(3 << 14, 0, PLI_HWTREE_PU, ANY);
    lies(3 << 13, 0, PLI_HWTREE_CORE, ANY); // half of two cores
    lies(3 << 13, 0, PLI_HWTREE_NUMA, 3);
    lies(1 << 3 | 1 << 4, 0, PLI_HWTREE_NUMA, ANY);
    lies(1 << 3 | 1 << 4, 0, PLI_HWTREE_PACKAGE, 0);
    lies(1 << 7 | 1 << 8, 0, PLI_HWTREE_PACKAGE, ANY);
    lies(0xffff, 0, PLI_HWTREE_PACKAGE, ANY);
    lies(0, 0, PLI_HWTREE_PACKAGE, ANY);
    T_OK(pli_hwtree_has(PLI_HWTREE_MACHINE) && pli_hwtree_has(PLI_HWTREE_NUMA));
    T_OK(pli_hwtree_has(PLI_HWTREE_L3) && pli_hwtree_has(PLI_HWTREE_PU));
    T_OK(!pli_hwtree_has(PLI_HWTREE_L2) && !pli_hwtree_has(PLI_HWTREE_DIE));
    lies(1, 0, PLI_HWTREE_L2, ANY);
    lies(1, 0, PLI_HWTREE_DIE, ANY);
}

// More processors than a word has bits, numbered across the packages; and one it does not have.
static void test_numbers(void)
{
    machine("pack:2 die:2 l2:25 pu:1(indexes=50*2:1*50)");
    lies(1, 0, PLI_HWTREE_PACKAGE, 0);
    lies(2, 0, PLI_HWTREE_PACKAGE, 1);
    lies(0, (uint64_t)1 << 35, PLI_HWTREE_PACKAGE, 1);
    lies(0, (uint64_t)1 << 35, PLI_HWTREE_DIE, 3);
    lies(0, (uint64_t)1 << 35, PLI_HWTREE_L2, 99);
    lies(4, (uint64_t)1 << 34, PLI_HWTREE_PACKAGE, 0);
    lies(4, (uint64_t)1 << 34, PLI_HWTREE_DIE, ANY);
    lies(1, (uint64_t)1 << 36, PLI_HWTREE_PACKAGE, ANY);
}

// A memory node of the whole machine beside those of the packages, and one larger than a package.
static void test_memory(void)
{
    machine("[numa] pack:2 [numa] core:2 pu:1");
    lies(1, 0, PLI_HWTREE_NUMA, 0);
    lies(12, 0, PLI_HWTREE_NUMA, 1);
    lies(6, 0, PLI_HWTREE_NUMA, ANY); // far memory does not make it one place
    machine("group:2 [numa] pack:2 core:1 pu:1");
    lies(1, 0, PLI_HWTREE_NUMA, 0);
    lies(3, 0, PLI_HWTREE_NUMA, 0);
    lies(3, 0, PLI_HWTREE_PACKAGE, ANY);
    lies(8, 0, PLI_HWTREE_NUMA, 1);
    lies(8, 0, PLI_HWTREE_PACKAGE, 3);
}

// Without a made-up machine it is this one, whatever it is.
static void test_here(void)
{
    pli_hwtree_unload();
    unsetenv("HWLOC_SYNTHETIC");
    unsetenv("HWLOC_THISSYSTEM");
    T_EQ(pli_hwtree_load(), PLI_OK);
    T_OK(pli_hwtree_has(PLI_HWTREE_PU));
    lies(0, 0, PLI_HWTREE_PU, ANY);
}

int main(void)
{
    test_levels();
    test_numbers();
    test_memory();
    test_here();
    pli_hwtree_unload();
    return t_status();
}
