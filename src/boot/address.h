// SPDX-License-Identifier: BSD-3-Clause
// The addresses of this host, and which of another host's to try first.
#ifndef PLI_BOOT_ADDRESS_H
#define PLI_BOOT_ADDRESS_H

#include "base/err.h"
#include "boot/node_wire.h"

#include <stdbool.h>
#include <sys/socket.h>

// This host's addresses that others may use, best first: fast interfaces before slow ones. `only`
// is a list as of PLIANT_TCP_IF, "" for all. Without any other, or when the list asks for it, the
// loopback. Fails when the list fits nothing, or cannot be read, with a sentence.
enum pli_err pli_address_list(const char *only, struct pli_node_addr out[PLI_NODE_N_ADDR],
                              uint16_t *n_out);

// The loopback's address.
struct pli_node_addr pli_address_loopback(void);

// Whether a connection to this address leads back to this host: the loopback, or an address that
// one of its interfaces has. A host whose interfaces cannot be read has none.
bool pli_address_is_own(const struct pli_node_addr *addr);

// A number that two processes have in common when they use the same network stack (one kernel, one
// network namespace), so that the loopback of one is the loopback of the other. 0: it is not known.
uint64_t pli_address_stack(void);

// The order in which a process on `here` should try the addresses of `there`: those on a network of
// its own first. Addresses that `here` has itself are left out, for they lead back to it, unless
// the two are one host. How many are in order[].
int pli_address_order(const struct pli_node_host *here, const struct pli_node_host *there,
                      int order[PLI_NODE_N_ADDR]);

// For the system calls, and for people: "10.0.0.1:4000", "[fe80::1]:4000".
socklen_t pli_address_fill(const struct pli_node_addr *addr, uint16_t port,
                           struct sockaddr_storage *out);
enum { PLI_ADDRESS_TEXT = 64 };
const char *pli_address_text(const struct pli_node_addr *addr, uint16_t port,
                             char to[PLI_ADDRESS_TEXT]);

#endif
