// SPDX-License-Identifier: BSD-3-Clause
// Barriers of the runtime itself, and the words that far threads send for barriers.
#ifndef PLI_UPC_RT_BARRIER_H
#define PLI_UPC_RT_BARRIER_H

#include <stdint.h>

// Which collective operation a barrier of the runtime belongs to.
enum rt_what {
    RT_START,
    RT_FINAL,
    RT_ALL_ALLOC,
    RT_ALL_FREE,
    RT_ALL_LOCK_ALLOC,
    RT_ALL_LOCK_FREE,
    RT_DOMAIN_ALLOC,
    RT_DOMAIN_FREE,
    RT_BROADCAST,
    RT_SCATTER,
    RT_GATHER,
    RT_GATHER_ALL,
    RT_EXCHANGE,
    RT_PERMUTE,
    RT_REDUCE,
    RT_PREFIX_REDUCE,
    RT_FOPEN,
    RT_FCLOSE,
    RT_FSYNC,
    RT_FSEEK,
    RT_FSIZE,
    RT_FREAD,
    RT_FWRITE,
    RT_VALUES,
    RT_N_WHAT
};
void pli_rt_barrier_sync(enum rt_what what);
// Far threads: the word of thread t arrived, or thread 0 lets this thread go on.
void pli_rt_barrier_far_notify(int t, uint64_t word);
void pli_rt_barrier_far_release(uint64_t word);

#endif
