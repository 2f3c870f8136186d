// SPDX-License-Identifier: BSD-3-Clause
// Counts the reasons for which this process must not be frozen now.
#include "ckpt/freeze_hold.h"

#include <stdatomic.h>
#include <stddef.h>

static _Atomic int n_hold;
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

void pli_freeze_forbid(const char *why)
{
    atomic_store(&forbidden, why);
}

bool pli_freeze_is_forbidden(const char **why_out)
{
    *why_out = atomic_load(&forbidden);
    return *why_out != NULL;
}
