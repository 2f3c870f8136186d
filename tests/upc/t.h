// SPDX-License-Identifier: BSD-3-Clause
// For the run cases: count what does not hold, end with t_done().
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upc.h>

static int t_bad;
#define CHECK(c) ((c) ? 0 : (printf("line %d: thread %d: %s\n", __LINE__, MYTHREAD, #c), t_bad = 1))

static int t_done(void)
{
    fflush(stdout);
    upc_barrier;
    if (MYTHREAD == 0 && !t_bad) {
        printf("ok\n");
    }
    return t_bad;
}
