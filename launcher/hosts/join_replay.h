// SPDX-License-Identifier: BSD-3-Clause
// Tells a host that joins what has become of the job since it began: process sets, processes that
// were started later, which have ended or died, which communicators are revoked, and which version
// counts.
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
