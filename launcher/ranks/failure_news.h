// SPDX-License-Identifier: BSD-3-Clause
// Bad news, and what was agreed about it: written where the ranks of a host look.
#ifndef PLI_LAUNCHER_FAILURE_NEWS_H
#define PLI_LAUNCHER_FAILURE_NEWS_H

#include <stddef.h>

struct pli_job;
struct pli_news;

// Make something known on all hosts, in the order of the calls. Context: not in a daemon.
void pli_failure_news_tell(struct pli_job *job, const struct pli_news *n);
// In a daemon: write it into the memory of this host.
void pli_failure_news_unpack(struct pli_job *job, const void *data, size_t len);

// All that still counts, for a host that joins; and there.
struct pli_pack;
struct pli_unpack;
void pli_failure_news_pack_replay(const struct pli_job *job, struct pli_pack *to);
void pli_failure_news_take_replay(struct pli_job *job, struct pli_unpack *from);

#endif
