// SPDX-License-Identifier: BSD-3-Clause
// Processes with the same cores have the same key, and those with others have another one.
#include "boot/cores.h"
#include "t.h"

#include <sched.h>

int main(void)
{
    cpu_set_t all, one;
    T_MUST(sched_getaffinity(0, sizeof all, &all) == 0); // of up to 1,024 processors
    uint32_t n = pli_cores_usable();
    uint64_t key = pli_cores_key();
    T_OK(n >= 1 && n <= (uint32_t)CPU_COUNT(&all));
    T_OK(pli_cores_key() == key);
    T_OK((key != 0) == (n == (uint32_t)CPU_COUNT(&all))); // no control group cuts the time
    if (CPU_COUNT(&all) < 2 || key == 0) {
        printf("the processors cannot be divided here\n");
        return t_status();
    }
    int first = 0;
    while (!CPU_ISSET(first, &all)) {
        first++;
    }
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    T_MUST(sched_setaffinity(0, sizeof one, &one) == 0);
    T_OK(pli_cores_usable() == 1);
    T_OK(pli_cores_key() != key);
    T_MUST(sched_setaffinity(0, sizeof all, &all) == 0);
    T_OK(pli_cores_key() == key);
    return t_status();
}
