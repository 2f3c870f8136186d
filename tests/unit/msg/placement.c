// SPDX-License-Identifier: BSD-3-Clause
// A rank leaves its processor where fewer are on another one that it may use, for the nearest of
// those that have the fewest.
#include "msg/placement.h"

#include "t.h"

#include <stdarg.h>

// The set of these processors; -1 ends the list.
static cpu_set_t of(int first, ...)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    va_list more;
    va_start(more, first);
    for (int cpu = first; cpu >= 0; cpu = va_arg(more, int)) {
        CPU_SET(cpu, &set);
    }
    va_end(more);
    return set;
}

static int target(int here, cpu_set_t allowed, uint16_t n0, uint16_t n1, uint16_t n2, uint16_t n3)
{
    uint16_t n[CPU_SETSIZE] = { n0, n1, n2, n3 };
    return pli_placement_target(here, &allowed, n);
}

int main(void)
{
    cpu_set_t two = of(0, 1, -1), four = of(0, 1, 2, 3, -1), one = of(1, -1), none = of(-1);
    cpu_set_t wide = of(3, CPU_SETSIZE - 1, -1);
    T_EQ(target(0, two, 1, 0, 0, 0), 1);
    T_EQ(target(1, two, 0, 1, 0, 0), 0);
    T_EQ(target(1, two, 1, 1, 0, 0), -1); // both are taken, and it may use no other
    T_EQ(target(1, one, 0, 1, 0, 0), -1); // it is bound
    T_EQ(target(1, none, 0, 1, 0, 0), -1);
    T_EQ(target(1, four, 0, 0, 0, 0), -1); // it is alone
    T_EQ(target(1, four, 0, 1, 1, 0), 0);
    T_EQ(target(2, four, 0, 1, 1, 0), 3);
    T_EQ(target(0, four, 1, 1, 1, 0), 3);
    T_EQ(target(3, wide, 0, 0, 0, 1), CPU_SETSIZE - 1);
    // More ranks than cores: three others here and none there, then two and one, then one and two.
    T_EQ(target(0, two, 3, 0, 0, 0), 1);
    T_EQ(target(0, two, 2, 1, 0, 0), 1);
    T_EQ(target(0, two, 1, 2, 0, 0), -1);
    T_EQ(target(0, two, 1, 1, 0, 0), -1); // three ranks: to move would only turn it around
    T_EQ(target(1, four, 1, 3, 2, 1), 0);
    T_EQ(target(1, four, 2, 3, 2, 1), 3); // the fewest, not the nearest with fewer
    return t_status();
}
