// SPDX-License-Identifier: BSD-3-Clause
// Connects daemons and mpiexec: one listens, the other calls, and both prove that they know the
// secret of the job before anything else is sent.
#ifndef PLI_LAUNCHER_DAEMON_AUTH_H
#define PLI_LAUNCHER_DAEMON_AUTH_H

#include "launcher/base/loop.h"
#include "launcher/hosts/daemon_addr.h"
#include "launcher/hosts/daemon_handshake.h"

#include <stdbool.h>
#include <stdint.h>

// A caller has proved to be of the job: the connection (to keep), the number of its
// host, and what protects all that is said from here on.
typedef void (*pli_daemon_auth_came_fn)(int fd, uint32_t host,
                                        const struct pli_daemon_handshake_keys *keys);

// Listen. False with a message on failure. Once it is open it only says where.
bool pli_daemon_auth_open(const unsigned char *secret, pli_daemon_auth_came_fn came,
                          struct pli_daemon_addr *out);
void pli_daemon_auth_close(void);
// The listener of the process that this one was forked from, which is gone, in a new loop. False
// with a message.
bool pli_daemon_auth_inherit(pli_daemon_auth_came_fn came);

// Call a listener at all of its addresses that lead to its host; the first that proves to be of the
// job counts. The connection; -1: a sentence in `why` tells what happened at each. Waits for some
// seconds at most.
int pli_daemon_auth_call(const struct pli_daemon_addr *place, const unsigned char *secret,
                         uint32_t host, struct pli_daemon_handshake_keys *keys_out, char *why,
                         size_t cap);

// What may have happened, in `why`.
#define PLI_DAEMON_AUTH_OWN "not tried, it is this host's own"
#define PLI_DAEMON_AUTH_SILENT "it connects, but there is no answer"
#define PLI_DAEMON_AUTH_HUNG_UP "it connects, but hangs up"
#define PLI_DAEMON_AUTH_NOT_OURS "the listener there is not of this job"

// All that a caller hears whose hello was made with another secret. One that was not heard for want
// of room hears nothing, and calls again.
#define PLI_DAEMON_AUTH_NO '!'

struct pli_daemon_auth_caller;

// The listening socket for daemons: pli_launcher.daemon_auth.
struct pli_daemon_auth_state {
    struct pli_watch listener;
    struct pli_timer timer;
    struct pli_daemon_handshake_known known;
    pli_daemon_auth_came_fn on_came;
    struct pli_daemon_auth_caller *callers; // callers; not freed: an event may name one
    unsigned n_silent;
    struct pli_daemon_addr ours; // once it is open
};
void pli_daemon_auth_init(void); // its first values

#endif
