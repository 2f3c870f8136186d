// SPDX-License-Identifier: BSD-3-Clause
// Communicators with members on several hosts that were revoked or agreed on: mpiexec counts.
#ifndef PLI_LAUNCHER_AGREEMENT_H
#define PLI_LAUNCHER_AGREEMENT_H

#include <stdbool.h>
#include <stddef.h>

struct pli_job;
struct pli_agree_word;
struct pli_pack;
struct pli_unpack;

// What a rank said. Context: not in a daemon, which sends it to mpiexec.
void pli_agreement_hear(struct pli_job *job, const struct pli_agree_word *word);
// The same, as a daemon has sent it.
void pli_agreement_unpack(struct pli_job *job, const void *data, size_t len);
// Processes died, whose votes need not be waited for.
void pli_agreement_failed(struct pli_job *job);

// All that is known here, for a checkpoint, and from one. False: that makes no sense.
void pli_agreement_save(struct pli_pack *to);
bool pli_agreement_restore(struct pli_unpack *from);

struct pli_agreement_entry;

// Communicators that were revoked or agreed on: pli_launcher.agreement.
struct pli_agreement_state {
    struct pli_agreement_entry *entries; // communicators
};

#endif
