// SPDX-License-Identifier: BSD-3-Clause
// A rank that leaves its processor takes the nearest one that it may use and no rank has.
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

int main(void)
{
    cpu_set_t two = of(0, 1, -1), four = of(0, 1, 2, 3, -1), none = of(-1), one = of(1, -1);
    cpu_set_t first = of(0, -1), some = of(1, 2, -1), wide = of(3, CPU_SETSIZE - 1, -1);
    T_OK(pli_placement_target(0, &two, &first) == 1);
    T_OK(pli_placement_target(1, &two, &one) == 0);
    T_OK(pli_placement_target(1, &two, &two) == -1);   // all are taken
    T_OK(pli_placement_target(1, &one, &one) == -1);   // it is bound
    T_OK(pli_placement_target(1, &none, &none) == -1); // its processor is never an answer
    T_OK(pli_placement_target(1, &four, &some) == 0);
    T_OK(pli_placement_target(2, &four, &some) == 3);
    T_OK(pli_placement_target(0, &four, &some) == 3);
    T_OK(pli_placement_target(3, &wide, &none) == CPU_SETSIZE - 1);
    return t_status();
}
