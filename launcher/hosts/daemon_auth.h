// SPDX-License-Identifier: BSD-3-Clause
// How daemons and mpiexec find each other: one listens, the other calls, and both prove that they
// know the secret of the job before anything else is said.
#ifndef PLI_LAUNCHER_DAEMON_AUTH_H
#define PLI_LAUNCHER_DAEMON_AUTH_H

#include "boot/node_wire.h"
#include "launcher/hosts/daemon_handshake.h"
#include "launcher/base/pack.h"

#include <stdbool.h>
#include <stdint.h>

enum { PLI_GATE_SECRET = PLI_HANDSHAKE_SECRET };

// Where a gate is: a port and addresses; and which one it is.
struct pli_gate_place {
    uint16_t port;
    uint32_t n_addr;
    struct pli_node_addr addr[PLI_NODE_N_ADDR + 1];
    uint64_t stack; // see pli_address_stack
    unsigned char id[PLI_HANDSHAKE_ID];
};

// Somebody has called and proved to be of the job: the connection (to keep), the number of its
// host, and what protects all that is said from here on.
typedef void (*pli_gate_came_fn)(int fd, uint32_t host, const struct pli_handshake_keys *keys);

// Listen. False with a message on failure. Once it is open it only says where.
bool pli_gate_open(const unsigned char *secret, pli_gate_came_fn came, struct pli_gate_place *out);
void pli_gate_close(void);

// Call a gate at all of its addresses that lead to its host; the first that proves to be of the job
// counts. The connection; -1: a sentence in `why` tells what happened at each. Waits for some
// seconds at most.
int pli_gate_call(const struct pli_gate_place *place, const unsigned char *secret, uint32_t host,
                  struct pli_handshake_keys *keys_out, char *why, size_t cap);

// What may have happened, in `why`.
#define PLI_GATE_OWN "not tried, it is this host's own"
#define PLI_GATE_SILENT "it connects, but nobody answers"
#define PLI_GATE_HUNG_UP "it connects, but hangs up"
#define PLI_GATE_NOT_OURS "who listens there is not of this job"

void pli_gate_pack(const struct pli_gate_place *place, struct pli_pack *to);
void pli_gate_unpack(struct pli_gate_place *place, struct pli_unpack *from);

#endif
