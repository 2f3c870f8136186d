// SPDX-License-Identifier: BSD-3-Clause
// How daemons and mpiexec find each other: one listens, the other calls, and both prove that they
// know the secret of the job before anything else is said.
#ifndef PLI_LAUNCHER_DAEMON_AUTH_H
#define PLI_LAUNCHER_DAEMON_AUTH_H

#include "launcher/base/loop.h"
#include "boot/node_wire.h"
#include "launcher/hosts/daemon_handshake.h"
#include "launcher/base/pack.h"

#include <stdbool.h>
#include <stdint.h>

enum { PLI_DAEMON_AUTH_SECRET = PLI_DAEMON_HANDSHAKE_SECRET };

// Where a gate is: a port and addresses; and which one it is.
struct pli_daemon_auth_place {
    uint16_t port;
    uint32_t n_addr;
    struct pli_node_addr addr[PLI_NODE_N_ADDR + 1];
    uint64_t stack; // see pli_address_stack
    unsigned char id[PLI_DAEMON_HANDSHAKE_ID];
};

// Somebody has called and proved to be of the job: the connection (to keep), the number of its
// host, and what protects all that is said from here on.
typedef void (*pli_daemon_auth_came_fn)(int fd, uint32_t host,
                                        const struct pli_daemon_handshake_keys *keys);

// Listen. False with a message on failure. Once it is open it only says where.
bool pli_daemon_auth_open(const unsigned char *secret, pli_daemon_auth_came_fn came,
                          struct pli_daemon_auth_place *out);
void pli_daemon_auth_close(void);

// Call a gate at all of its addresses that lead to its host; the first that proves to be of the job
// counts. The connection; -1: a sentence in `why` tells what happened at each. Waits for some
// seconds at most.
int pli_daemon_auth_call(const struct pli_daemon_auth_place *place, const unsigned char *secret,
                         uint32_t host, struct pli_daemon_handshake_keys *keys_out, char *why,
                         size_t cap);

// What may have happened, in `why`.
#define PLI_DAEMON_AUTH_OWN "not tried, it is this host's own"
#define PLI_DAEMON_AUTH_SILENT "it connects, but nobody answers"
#define PLI_DAEMON_AUTH_HUNG_UP "it connects, but hangs up"
#define PLI_DAEMON_AUTH_NOT_OURS "who listens there is not of this job"

void pli_daemon_auth_pack(const struct pli_daemon_auth_place *place, struct pli_pack *to);
void pli_daemon_auth_unpack(struct pli_daemon_auth_place *place, struct pli_unpack *from);

struct pli_daemon_auth_caller;

// The listening socket for daemons: pli_launcher.daemon_auth.
struct pli_daemon_auth_state {
    struct pli_watch listener;
    struct pli_timer timer;
    struct pli_daemon_handshake_known known;
    pli_daemon_auth_came_fn on_came;
    struct pli_daemon_auth_caller *knocks; // callers; not freed: an event may name one
    unsigned n_silent;
    struct pli_daemon_auth_place ours; // once it is open
};
void pli_daemon_auth_init(void); // its first values

#endif
