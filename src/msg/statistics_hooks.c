// SPDX-License-Identifier: BSD-3-Clause
// Says that nothing is counted, until a tool asks.
#include "msg/statistics_hooks.h"

#include <stddef.h>

const struct pli_statistics_hooks *_Atomic pli_statistics_hooks;
_Atomic uint8_t pli_statistics_asked;
void (*_Atomic pli_statistics_looked)(uint32_t n_look);
_Atomic uint32_t pli_statistics_n_checkpoint;
_Atomic uint32_t pli_statistics_n_retry;

void pli_statistics_look(uint32_t n_look)
{
    void (*looked)(uint32_t) = atomic_load(&pli_statistics_looked);
    if (looked != NULL) {
        looked(n_look);
    }
}
