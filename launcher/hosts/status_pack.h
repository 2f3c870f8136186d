// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a host do, for mpiexec on another: their states as they change, and for a
// deadlock report what each of them waits for.
#ifndef PLI_LAUNCHER_STATUS_PACK_H
#define PLI_LAUNCHER_STATUS_PACK_H

#include "boot/node.h"
#include "launcher/base/pack.h"

#include <stdbool.h>

// Pack the states of rows that are not as in last[], and note them there. False: nothing is new.
bool pli_status_pack_pack_states(const struct pli_node *node, uint32_t *last, struct pli_pack *to);
// Pack all rows; has_sites: with places in the source, which takes a while.
void pli_status_pack_pack_rows(const struct pli_node *node, bool has_sites, struct pli_pack *to);

// Into the rows of a node that has one for every rank of the job. False: makes no sense.
bool pli_status_pack_unpack_states(struct pli_node *node, struct pli_unpack *from);
bool pli_status_pack_unpack_rows(struct pli_node *node, struct pli_unpack *from, char **sites);

#endif
