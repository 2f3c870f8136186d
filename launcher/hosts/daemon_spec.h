// SPDX-License-Identifier: BSD-3-Clause
// Tells a daemon over its standard input, before it can call back: the secret of the job, the
// addresses to call, and what to run. It travels inside ssh, so that neither the secret nor the
// environment is seen on a command line or on the network.
#ifndef PLI_LAUNCHER_DAEMON_SPEC_H
#define PLI_LAUNCHER_DAEMON_SPEC_H

#include "launcher/hosts/daemon_addr.h"
#include "launcher/base/pack.h"
#include "launcher/hosts/daemon_tree.h"

#include <stdbool.h>

struct pli_job;

struct pli_daemon_spec {
    unsigned char secret[PLI_DAEMON_HANDSHAKE_SECRET];
    uint64_t job_id;
    struct pli_daemon_tree tree;
    uint32_t join_id;             // of a host that joins: what it calls itself, 0: its number
    char **launcher;              // words before the name of the host; NULL: srun has started all
    char *agent;                  // program to run there
    struct pli_daemon_addr place; // the addresses to call
    struct pli_pack body;         // what is the same for all
};

enum pli_daemon_spec_result { PLI_DAEMON_SPEC_GOOD, PLI_DAEMON_SPEC_BAD, PLI_DAEMON_SPEC_VERSION };

// Put job and spec->tree, join_id, launcher, agent and job_id into spec->body.
void pli_daemon_spec_make(struct pli_daemon_spec *spec, const struct pli_job *job);

// All for one daemon: length, version, secret, place, body.
void pli_daemon_spec_write(const struct pli_daemon_spec *spec, const struct pli_daemon_addr *place,
                           struct pli_pack *to);

// Read it in a daemon that is host `here` (UINT32_MAX: the one of this name). Fills in the job: all
// hosts and procs, and the tasks of this host. PLI_DAEMON_SPEC_VERSION: `theirs` is another
// version's.
enum pli_daemon_spec_result pli_daemon_spec_read(struct pli_daemon_spec *spec, int fd,
                                                 uint32_t here, const char *name,
                                                 struct pli_job *job, char **theirs);

#endif
