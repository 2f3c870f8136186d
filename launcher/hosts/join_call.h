// SPDX-License-Identifier: BSD-3-Clause
// In the mpiexec of an elastic world: jobs that were started elsewhere, and want to join it by its
// token. Such a one calls, says how many ranks it has, and gets the specification of a daemon as
// ssh would bring it to a host; it becomes that daemon, and the world is resized onto its host.
#ifndef PLI_LAUNCHER_JOIN_CALL_H
#define PLI_LAUNCHER_JOIN_CALL_H

#include <stdbool.h>
#include <stdint.h>

struct pli_answer;
struct pli_daemon_handshake_keys;
struct pli_daemon_spec;
struct pli_job;
struct pli_join_call;

enum {
    PLI_JOIN_CALL_ID = (1 << 30) - 1,  // what such a caller says in place of its number
    PLI_JOIN_CALL_FIRST = 1 << 29,     // requests of callers have hosts from here on
    PLI_JOIN_CALL_LAST = (1 << 30) - 2 // to here
};

// Tell the user the token, where others can join. False with a message.
bool pli_join_call_open(const struct pli_job *job);

// False: not a caller that wants to join.
bool pli_join_call_came(int fd, uint32_t id, const struct pli_daemon_handshake_keys *keys);
// What became of the request of a caller. False: the request is not one of a caller.
bool pli_join_call_answer(uint32_t host, const struct pli_answer *answer);

// The caller that waits to be the host of this name; NULL: there is none.
struct pli_join_call *pli_join_call_find(const char *name);
// Have it be the daemon of this host. False: it is gone.
bool pli_join_call_give(struct pli_join_call *call, const struct pli_daemon_spec *spec,
                        uint32_t host);
void pli_join_call_end(void); // the job is over

// Callers: pli_launcher.join_call.
struct pli_join_call_state {
    struct pli_join_call *calls; // not freed: an event may name one
    uint32_t n_call;
};

#endif
