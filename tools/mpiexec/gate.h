// SPDX-License-Identifier: BSD-3-Clause
// How daemons and mpiexec find each other: one listens, the other calls, and both prove that they
// know the secret of the job before anything else is said.
#ifndef PLI_MPIEXEC_GATE_H
#define PLI_MPIEXEC_GATE_H

#include "boot/node_wire.h"
#include "pack.h"

#include <stdbool.h>
#include <stdint.h>

enum { PLI_GATE_SECRET = 32 };

// Where a gate is: a port and addresses.
struct pli_gate_place {
    uint16_t port;
    uint32_t n_addr;
    struct pli_node_addr addr[PLI_NODE_N_ADDR + 1];
};

// Listen; `came` gets the connection (to keep) and the number of the host that has proved to be of
// the job. False with a message on failure. Once it is open it only says where.
bool pli_gate_open(const unsigned char *secret, void (*came)(int fd, uint32_t host),
                   struct pli_gate_place *out);
void pli_gate_close(void);

// Call a gate, at whichever of its addresses answers first. The connection; -1: a sentence in `why`
// tells what was tried. Waits for some seconds at most.
int pli_gate_call(const struct pli_gate_place *place, const unsigned char *secret, uint32_t host,
                  char *why, size_t cap);

void pli_gate_pack(const struct pli_gate_place *place, struct pli_pack *to);
void pli_gate_unpack(struct pli_gate_place *place, struct pli_unpack *from);

#endif
