// SPDX-License-Identifier: BSD-3-Clause
// Communicators whose members are on several hosts: what a member says to the launcher of its host,
// over its control socket, and what the launchers make known everywhere. The head of the job is the
// one launcher, which counts; if that dies meanwhile, the votes it got stay known.
#ifndef PLI_BOOT_AGREE_WIRE_H
#define PLI_BOOT_AGREE_WIRE_H

#include "boot/failure_wire.h"

#include <stdint.h>

enum { PLI_AGREE_N_LIST = 44 };

enum pli_agree_what {
    PLI_AGREE_MEMBERS = 1, // these are the members from `place` on; before all else from a host
    PLI_AGREE_VOTE,        // `place` has come to an agreement
    PLI_AGREE_REVOKE,      // it is revoked
    PLI_AGREE_LEAVE,       // `place` has freed it
    // Of the world, with --on-resize=error; `place` is the index in the job.
    PLI_AGREE_SAID, // it has heard of version `seq`, and has begun `value` collectives
    PLI_AGREE_TOOK  // it works in version `seq`
};

struct pli_agree_word {
    uint32_t what; // enum pli_agree_what
    uint32_t n_member, n_first;
    uint32_t place;
    uint64_t key;
    uint32_t seq, value, n_acked; // as in struct pli_failure_vote
    uint32_t n_list;
    uint64_t context[2];
    uint32_t list[PLI_AGREE_N_LIST]; // indices in the job
};
_Static_assert(sizeof(struct pli_agree_word) == 232, "goes from host to host");

// News for all hosts.
enum pli_news_what {
    PLI_NEWS_FAILED = 1, // process `index` died
    PLI_NEWS_AGREED,     // agreement `seq` of a communicator: the outcome
    PLI_NEWS_REVOKED,    // a communicator was
    PLI_NEWS_DROPPED,    // no process has it any more
    PLI_NEWS_END         // n_begun collectives are the last in the version before `seq`
};

struct pli_news {
    uint32_t what;            // enum pli_news_what
    uint32_t index, how, pid; // FAILED; `how` as in enum pli_failure_fault
    uint32_t status;          // and what would be its exit status
    uint32_t n_failed; // FAILED: which of all it is; AGREED: up to which members are left out
    uint32_t seq, n_begun;
    uint64_t key;
    struct pli_failure_outcome outcome;
};
_Static_assert(sizeof(struct pli_news) == 88, "goes from host to host");

#endif
