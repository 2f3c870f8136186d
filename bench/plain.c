// SPDX-License-Identifier: BSD-3-Clause
// A program without MPI: what a process costs anyway.
#include "proc.h"

int main(void)
{
    printf("plain - %ld kB\n", p_private_kb());
    return 0;
}
