// SPDX-License-Identifier: BSD-3-Clause
// Hosts that join a job while it runs. Their daemons are started, and say what is wrong there; when
// all are fit, the others learn of them and they learn what has become of the job, in one turn.
// Until then they do not count, and whatever fails leaves the job as it was.
#ifndef PLI_LAUNCHER_HOST_JOIN_H
#define PLI_LAUNCHER_HOST_JOIN_H

#include "launcher/base/loop.h"
#include "launcher/job/role.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_daemon_handshake_keys;
struct pli_answer;
struct pli_job;

// Have all hosts of a list, "b:2,c", in the job. PLI_HOST_JOIN_DONE: they are, or `a` says why not.
// PLI_HOST_JOIN_LATER: `done` will be called, once.
enum pli_host_join pli_host_join_ask(struct pli_job *job, const char *list, pli_host_join_fn done,
                                     void *arg, struct pli_answer *a);

// The same in a job that was started with --movable, which is to have n more ranks on hosts of the
// list, or on any where that is empty: there is a daemon that has no rank yet for each of them.
enum pli_host_join pli_host_join_own(struct pli_job *job, const char *list, uint32_t n,
                                     pli_host_join_fn done, void *arg, struct pli_answer *a);

// Whether processes can come: all hosts have begun; else a refusal.
bool pli_host_join_may_grow(struct pli_answer *a);

// Whether more than processes that are only on their way goes with a host.
bool pli_host_join_is_missed(const struct pli_job *job, uint32_t host);

// False: not for a host that joins.
bool pli_host_join_came(int fd, uint32_t join_id, const struct pli_daemon_handshake_keys *keys);
// The job that was to be this host has ended, see join_call.h.
void pli_host_join_caller_lost(uint32_t host);
bool pli_host_join_is_on(void); // hosts are on their way
void pli_host_join_end(void);   // the job is over

// Hosts that are about to join the job: pli_launcher.host_join.
struct pli_host_join_state {
    uint32_t n, n_here; // hosts, and those that have said hello; n 0: there are none
    uint32_t join_id;   // of the first of them
    pli_host_join_fn done;
    void *arg;
    char said[1024]; // by one of them: the reason, if it fails
    struct pli_timer timer, patience;
};
void pli_host_join_init(void); // its first values

#endif
