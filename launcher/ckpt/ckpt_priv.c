// SPDX-License-Identifier: BSD-3-Clause
// The one instance of what the files of this folder keep in memory.
#include "launcher/ckpt/ckpt_priv.h"

struct pli_ckpt_state pli_ckpt = {
    .node = PLI_HELPER_NONE,
    .commit = PLI_HELPER_NONE,
    .resume = { .listener = { .fd = -1 } },
    .registered = { .commit = PLI_HELPER_NONE },
};
