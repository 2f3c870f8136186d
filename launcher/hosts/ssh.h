// SPDX-License-Identifier: BSD-3-Clause
// Starts daemons on other hosts, through ssh or whatever reaches them, and explains why one could
// not be started.
#ifndef PLI_LAUNCHER_SSH_H
#define PLI_LAUNCHER_SSH_H

#include <stdbool.h>
#include <stdint.h>

struct pli_daemon_addr;
struct pli_job;
struct pli_daemon_spec;

// Exit statuses of a daemon that cannot even call; what it says then goes to its standard error.
enum { PLI_SSH_NO_CALL = 70, PLI_SSH_VERSION = 71, PLI_SSH_SPEC = 72 };

// Whether srun starts daemons; ends with a message where that is asked for and cannot be.
bool pli_ssh_is_by_srun(const struct pli_job *job);

// Words that start a daemon when the host's name and a command follow, by --launcher and
// --launcher-exec or the setting; NULL: srun starts all at once. Ends mpiexec when it makes no
// sense.
char **pli_ssh_words(const struct pli_job *job);

// The path of mpiexec itself, for hosts that have it at the same place.
char *pli_ssh_self(void);

// Start the daemons of the hosts that `me` (a host or PLI_DAEMON_TREE_TOP) starts itself. They will
// call at `place`. `failed`: a host (UINT32_MAX: all that srun was to start) will not call, and
// why.
void pli_ssh_begin(const struct pli_job *job, const struct pli_daemon_spec *spec, int64_t me,
                   const struct pli_daemon_addr *place,
                   void (*failed)(uint32_t host, const char *why));

// Start one for a host while the job runs, at a place that stays where it is. False: errno.
struct pli_host;
bool pli_ssh_one(const struct pli_daemon_spec *spec, uint32_t host, const struct pli_host *at,
                 const struct pli_daemon_addr *place,
                 void (*failed)(uint32_t host, const char *why));

// The daemon of this host has called.
void pli_ssh_came(uint32_t host);

// The daemon that was started last for this host is not waited for any more.
void pli_ssh_drop(uint32_t host);

// All daemons have left: see to it that ssh and the like end too.
void pli_ssh_end(void);

struct pli_ssh_runner;

// How daemons are started: pli_launcher.ssh.
struct pli_ssh_state {
    struct pli_ssh_runner *runners; // processes that start daemons
    const struct pli_daemon_spec *spec;
    uint32_t n_wanted; // hosts that srun starts and that have not called
};

#endif
