// SPDX-License-Identifier: BSD-3-Clause
// What has become of a job since it began, for a host that joins it: process sets, processes that
// came later, which have ended or died, which communicators are revoked, and which version counts.
#ifndef PLI_LAUNCHER_JOIN_REPLAY_H
#define PLI_LAUNCHER_JOIN_REPLAY_H

struct pli_job;
struct pli_pack;
struct pli_unpack;

// In mpiexec. The host counts among those that say when they need a row no more.
void pli_join_replay_pack(struct pli_job *job, struct pli_pack *to);
// In the daemon, once it has its memory.
void pli_join_replay_take(struct pli_job *job, struct pli_unpack *from);

#endif
