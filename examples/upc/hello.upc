// SPDX-License-Identifier: BSD-3-Clause
// Every thread leaves a number in shared memory, and thread 0 reads them all.
//   upcc hello.upc -o hello && upcrun -n 4 ./hello
#include <stdio.h>
#include <upc.h>

shared int square[THREADS]; // one element on each thread

int main(void)
{
    square[MYTHREAD] = MYTHREAD * MYTHREAD;
    upc_barrier;
    if (MYTHREAD == 0) {
        printf("%d threads:", THREADS);
        for (int i = 0; i < THREADS; i++) {
            printf(" %d", square[i]);
        }
        printf("\n");
    }
    return 0;
}
