// SPDX-License-Identifier: BSD-3-Clause
// A copy that two threads or two processes do together.
// The message is cut into chunks and both sides take chunks until none is left, one from the front
// and one from the back. The side that finishes the last one tells the other. Which side begins at
// which end depends on who they are and not on which one sends: when the same buffers are used
// again, to and fro, each core finds its part of them in its own cache, where chunks taken by
// chance would be fetched from the other's. bench: ep_bw size=1048576. The first chunk that each
// side takes may be larger than the others: where the kernel copies, a chunk costs a call, and
// small ones are needed only for both to end at the same time.
#ifndef PLI_MSG_COPY_JOB_H
#define PLI_MSG_COPY_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pli_copy_job {
    uint64_t src, dst;   // addresses at the sender and at the receiver
    uint64_t size, recv; // bytes; the receiver's request
    uint32_t n, chunk;   // how many chunks; bytes of each but the first and the last
    uint64_t first;      // bytes of the first; the last has as many, or what is left
    _Alignas(64) _Atomic uint64_t taken; // from the front in the low half, from the back above
    _Atomic uint32_t n_done;
    _Atomic uint32_t refs;      // both sides hold one
    _Atomic uint32_t is_failed; // a chunk could not be copied
};

static inline void pli_copy_job_init(struct pli_copy_job *j, uint64_t src, uint64_t dst,
                                     uint64_t size, uint64_t first, uint32_t chunk, uint64_t recv)
{
    *j = (struct pli_copy_job){
        .src = src, .dst = dst, .size = size, .recv = recv, .first = first, .chunk = chunk
    };
    j->n = size <= first       ? 1
           : size <= 2 * first ? 2
                               : 2 + (uint32_t)((size - 2 * first + chunk - 1) / chunk);
    atomic_store_explicit(&j->refs, 2, memory_order_relaxed);
}

// Where chunk i begins.
static inline uint64_t pli_copy_job_at(const struct pli_copy_job *j, uint32_t i)
{
    if (i == 0 || i == j->n) {
        return i == 0 ? 0 : j->size;
    }
    return i == j->n - 1 && j->n > 2 ? j->size - j->first : j->first + (uint64_t)(i - 1) * j->chunk;
}

// The next chunk for this side; false: there is none.
static inline bool pli_copy_job_take(struct pli_copy_job *j, bool is_back, uint64_t *at_out,
                                     uint64_t *len_out)
{
    uint64_t one = is_back ? UINT64_C(1) << 32 : 1;
    uint64_t old = atomic_fetch_add_explicit(&j->taken, one, memory_order_relaxed);
    uint32_t front = (uint32_t)old, back = (uint32_t)(old >> 32);
    if (front + back >= j->n) {
        return false;
    }
    uint32_t i = is_back ? j->n - 1 - back : front;
    *at_out = pli_copy_job_at(j, i);
    *len_out = pli_copy_job_at(j, i + 1) - *at_out;
    return true;
}

// This side has copied so many chunks and takes no more. True: it finished the last one.
static inline bool pli_copy_job_end(struct pli_copy_job *j, uint32_t mine)
{
    return mine > 0 &&
           atomic_fetch_add_explicit(&j->n_done, mine, memory_order_acq_rel) + mine == j->n;
}

// True: the other side has let go before; the memory is free.
static inline bool pli_copy_job_release(struct pli_copy_job *j)
{
    return atomic_fetch_sub_explicit(&j->refs, 1, memory_order_acq_rel) == 1;
}

#endif
