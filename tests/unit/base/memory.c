// SPDX-License-Identifier: BSD-3-Clause
// There is some memory left, and not more than the machine has.
#include "base/memory.h"

#include <unistd.h>

#include "t.h"

int main(void)
{
    uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t left = pli_memory_left();
    T_OK(left > 0);
    T_OK(left <= all);
    return t_status();
}
