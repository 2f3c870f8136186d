// SPDX-License-Identifier: BSD-3-Clause
// The launcher writes the notice into the row of each rank that is to leave, before the version
// that is without it counts.
#include "elastic/leave_notice.h"

#include "boot/boot.h"

#include <stdatomic.h>

enum pli_err pli_leave_notice_notice(int *flag_out)
{
    const struct pli_node *node = &pli_boot.node;
    *flag_out = node->rows != NULL &&
                atomic_load_explicit(&node->rows[pli_boot.row].leave, memory_order_acquire) != 0;
    return PLI_OK;
}
