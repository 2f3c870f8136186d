// SPDX-License-Identifier: BSD-3-Clause
// Counts the reasons for which this process must not be frozen now.
#include "ckpt/freeze_hold.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static _Atomic int n_hold;
static _Atomic int64_t waited;        // the second of the last wait; 0: there was none
static const char *_Atomic forbidden; // NULL: it is not

void pli_freeze_hold(void)
{
    atomic_fetch_add(&n_hold, 1);
}

void pli_freeze_let(void)
{
    atomic_fetch_sub(&n_hold, 1);
}

bool pli_freeze_is_held(void)
{
    return atomic_load(&n_hold) > 0;
}

static int64_t seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec;
}

void pli_freeze_note_wait(void)
{
    atomic_store(&waited, seconds());
}

bool pli_freeze_is_waited_for(void)
{
    int64_t at = atomic_load(&waited);
    return at != 0 && seconds() - at <= 1;
}

void pli_freeze_forbid(const char *why)
{
    atomic_store(&forbidden, why);
}

bool pli_freeze_is_forbidden(const char **why_out)
{
    *why_out = atomic_load(&forbidden);
    return *why_out != NULL;
}
