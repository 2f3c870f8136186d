// SPDX-License-Identifier: BSD-3-Clause
// Members of communicators by MPI job and by host.
#include "obj/span.h"

#include "boot/boot.h"
#include "boot/gate_wire.h"
#include "obj/comm.h"

#include <stdatomic.h>
#include <stdlib.h>

struct pli_span {
    int attr[PLI_N_SPAN];
};

uint32_t pli_span_client(uint32_t proc)
{
    const struct pli_gate *g = pli_boot.gate;
    uint32_t i = 0;
    while (g != NULL && i + 1 < g->n_client && proc >= g->clients[i + 1].first) {
        i++;
    }
    return i;
}

static uint32_t host_of(uint32_t proc)
{
    const struct pli_gate *g = pli_boot.gate;
    uint32_t lo = 0, hi = g != NULL && g->n_host > 0 ? g->n_host - 1 : 0;
    while (lo < hi) {
        uint32_t mid = (lo + hi + 1) / 2;
        if (g->host_first[mid] <= proc) {
            lo = mid;
        } else {
            hi = mid - 1;
        }
    }
    return lo;
}

static bool is_far(const struct pli_gate_client *mine, uint64_t proc)
{
    return (uint32_t)proc - mine->first >= mine->n;
}

bool pli_span_has_far(const struct pli_group *g)
{
    const struct pli_gate *gate = pli_boot.gate;
    if (gate == NULL) {
        return false;
    }
    const struct pli_gate_client *mine = &gate->clients[gate->client];
    for (int i = 0; g->size > 0 && i < g->n_run; i++) { // a run goes one way: look at its ends
        const struct pli_group_run *r = &g->runs[i];
        uint64_t last = r->first.proc + (uint64_t)((int64_t)(r->n - 1) * r->proc_step);
        if (is_far(mine, r->first.proc) || is_far(mine, last)) {
            return true;
        }
    }
    return false;
}

// How many different ones of `n` the members have, and which of them mine is.
static void count(const struct pli_comm *c, uint32_t (*of)(uint32_t), bool *seen, int *size_out,
                  int *color_out)
{
    uint32_t mine = of((uint32_t)c->group->me.proc);
    for (int i = 0; i < c->size; i++) {
        uint32_t k = of((uint32_t)pli_group_at(c->group, i).proc);
        if (!seen[k]) {
            seen[k] = true;
            ++*size_out;
            *color_out += k < mine;
        }
    }
}

static struct pli_span *create(const struct pli_comm *c)
{
    const struct pli_gate *g = pli_boot.gate;
    struct pli_span *s = calloc(1, sizeof *s);
    bool *seen = calloc(g->n_client + g->n_host, sizeof *seen);
    if (s == NULL || seen == NULL) {
        free(s);
        free(seen);
        return NULL;
    }
    count(c, pli_span_client, seen, &s->attr[PLI_SPAN_CLIENT_SIZE],
          &s->attr[PLI_SPAN_CLIENT_COLOR]);
    count(c, host_of, seen + g->n_client, &s->attr[PLI_SPAN_HOST_SIZE],
          &s->attr[PLI_SPAN_HOST_COLOR]);
    free(seen);
    return s;
}

const int *pli_span_attr(struct pli_comm *c, enum pli_span_what what)
{
    static const int alone[PLI_N_SPAN] = { 1, 0, 1, 0 };
    if (pli_boot.gate == NULL) {
        return &alone[what];
    }
    struct pli_span *s = __atomic_load_n(&c->span, __ATOMIC_ACQUIRE);
    if (s == NULL) {
        struct pli_span *made = create(c);
        if (made == NULL) {
            return NULL;
        }
        if (__atomic_compare_exchange_n(&c->span, &s, made, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            s = made;
        } else {
            free(made); // another thread was first
        }
    }
    return &s->attr[what];
}

void pli_span_end(struct pli_comm *c)
{
    free(c->span);
    c->span = NULL;
}
