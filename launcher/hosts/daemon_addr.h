// SPDX-License-Identifier: BSD-3-Clause
// The addresses at which a daemon or mpiexec listens for others of the job.
#ifndef PLI_LAUNCHER_DAEMON_ADDR_H
#define PLI_LAUNCHER_DAEMON_ADDR_H

#include "boot/node_wire.h"
#include "launcher/hosts/daemon_handshake_wire.h"

struct pli_pack;
struct pli_unpack;

// A port and the addresses of its host; id tells one listener from another.
struct pli_daemon_addr {
    uint16_t port;
    uint32_t n_addr;
    struct pli_node_addr addr[PLI_NODE_N_ADDR + 1];
    uint64_t stack; // see pli_address_stack
    unsigned char id[PLI_DAEMON_HANDSHAKE_ID];
};

void pli_daemon_addr_pack(const struct pli_daemon_addr *place, struct pli_pack *to);
void pli_daemon_addr_unpack(struct pli_daemon_addr *place, struct pli_unpack *from);

#endif
