// SPDX-License-Identifier: BSD-3-Clause
// Counts votes. Failures are numbered, so that all processes that count up to the same one leave
// out the same members.
#include "ft/agree_count.h"

bool pli_agree_count_is_out(const struct pli_node *node, uint64_t proc, uint32_t n_failed)
{
    const struct pli_node_proc *p = pli_node_find(node, (uint32_t)proc);
    return p != NULL && atomic_load_explicit(&p->failure, memory_order_acquire) != 0 &&
           p->failed_at <= n_failed;
}

static const struct pli_failure_vote *vote(const struct pli_failure_agreement *agreement,
                                           uint32_t i, uint32_t seq)
{
    return &agreement->members[i].votes[seq % PLI_FAILURE_N_VOTE];
}

bool pli_agree_count_is_full(const struct pli_node *node,
                             const struct pli_failure_agreement *agreement, uint32_t seq,
                             uint32_t n_failed)
{
    for (uint32_t i = 0; i < agreement->n_member; i++) {
        if (!pli_agree_count_is_out(node, agreement->members[i].proc, n_failed) &&
            atomic_load_explicit(&vote(agreement, i, seq)->seq, memory_order_seq_cst) < seq) {
            return false;
        }
    }
    return true;
}

struct pli_failure_outcome pli_agree_count_count(const struct pli_node *node,
                                                 const struct pli_failure_agreement *agreement,
                                                 uint32_t seq, uint32_t n_failed)
{
    struct pli_failure_outcome o = { .flags = { UINT32_MAX, UINT32_MAX } };
    uint32_t n_dead = 0, least = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < agreement->n_member; i++) {
        const struct pli_failure_vote *v = vote(agreement, i, seq);
        int group = i >= agreement->n_first;
        if (pli_agree_count_is_out(node, agreement->members[i].proc, n_failed)) {
            n_dead++;
            continue;
        }
        uint32_t acked = atomic_load_explicit(&v->n_acked, memory_order_relaxed);
        o.flags[group] &= atomic_load_explicit(&v->value, memory_order_relaxed);
        least = acked < least ? acked : least;
        most = acked > most ? acked : most;
        for (int k = 0; k < 2 && o.context[group][k] == 0; k++) { // those of the first one
            o.context[group][k] = atomic_load_explicit(&v->context[k], memory_order_relaxed);
        }
    }
    o.is_known = least == n_dead && most == n_dead;
    return o;
}
