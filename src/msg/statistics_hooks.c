// SPDX-License-Identifier: BSD-3-Clause
// Says that nothing is counted, until a tool asks.
#include "msg/statistics_hooks.h"

const struct pli_statistics_hooks *_Atomic pli_statistics_hooks;
_Atomic bool pli_statistics_are_on;
_Atomic uint32_t pli_statistics_n_checkpoint;
