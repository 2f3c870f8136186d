// SPDX-License-Identifier: BSD-3-Clause
// Members of communicators by MPI job and by host.
#include "obj/impi_span.h"

#include "boot/boot.h"
#include "boot/gateway_wire.h"
#include "obj/comm.h"

#include <stdatomic.h>
#include <stdlib.h>

struct pli_impi_span {
    int attr[PLI_N_SPAN];
};

uint32_t pli_impi_span_client(uint32_t proc)
{
    const struct pli_gateway *g = pli_boot.gateway;
    uint32_t i = 0;
    while (g != NULL && i + 1 < g->n_client && proc >= g->clients[i + 1].first) {
        i++;
    }
    return i;
}

static uint32_t host_of(uint32_t proc)
{
    const struct pli_gateway *g = pli_boot.gateway;
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

bool pli_impi_span_is_inside(uint64_t proc)
{
    return pli_boot.gateway != NULL && pli_node_job_of(proc) == pli_boot.job &&
           (uint32_t)proc < pli_boot.n_world;
}

static bool is_outside(uint64_t proc)
{
    return !pli_impi_span_is_inside(proc);
}

bool pli_impi_span_is_far(uint64_t proc)
{
    const struct pli_gateway *g = pli_boot.gateway;
    return pli_impi_span_is_inside(proc) &&
           (uint32_t)proc - g->clients[g->client].first >= g->clients[g->client].n;
}

// A run goes one way: if both ends are of MPI_COMM_WORLD, or neither is, all between are.
static bool has(const struct pli_group *g, bool (*is)(uint64_t proc))
{
    for (int i = 0; g->size > 0 && i < g->n_run; i++) {
        const struct pli_group_run *r = &g->runs[i];
        uint64_t last = r->first.proc + (uint64_t)((int64_t)(r->n - 1) * r->proc_step);
        if (is(r->first.proc) || is(last)) {
            return true;
        }
        for (int64_t k = 1; is_outside(r->first.proc) != is_outside(last) && k < r->n; k++) {
            if (is(r->first.proc + (uint64_t)(k * r->proc_step))) {
                return true;
            }
        }
    }
    return false;
}

bool pli_impi_span_has_far(const struct pli_group *g)
{
    return pli_boot.gateway != NULL && has(g, pli_impi_span_is_far);
}

bool pli_impi_span_has_outside(const struct pli_group *g)
{
    return pli_boot.gateway == NULL || has(g, is_outside);
}

// How many different clients or hosts the members have, and which of them is that of the caller. A
// member that is not of MPI_COMM_WORLD counts with the caller's.
static void count(const struct pli_comm *c, uint32_t (*of)(uint32_t), bool *seen, int *size_out,
                  int *color_out)
{
    uint32_t mine = of((uint32_t)c->group->me.proc);
    for (int i = 0; i < c->size; i++) {
        uint64_t proc = pli_group_at(c->group, i).proc;
        uint32_t k = pli_impi_span_is_inside(proc) ? of((uint32_t)proc) : mine;
        if (!seen[k]) {
            seen[k] = true;
            ++*size_out;
            *color_out += k < mine;
        }
    }
}

static struct pli_impi_span *create(const struct pli_comm *c)
{
    const struct pli_gateway *g = pli_boot.gateway;
    struct pli_impi_span *s = calloc(1, sizeof *s);
    bool *seen = calloc(g->n_client + g->n_host, sizeof *seen);
    if (s == NULL || seen == NULL) {
        free(s);
        free(seen);
        return NULL;
    }
    count(c, pli_impi_span_client, seen, &s->attr[PLI_IMPI_SPAN_CLIENT_SIZE],
          &s->attr[PLI_IMPI_SPAN_CLIENT_COLOR]);
    count(c, host_of, seen + g->n_client, &s->attr[PLI_IMPI_SPAN_HOST_SIZE],
          &s->attr[PLI_IMPI_SPAN_HOST_COLOR]);
    free(seen);
    return s;
}

const int *pli_impi_span_attr(struct pli_comm *c, enum pli_impi_span_what what)
{
    static const int alone[PLI_N_SPAN] = { 1, 0, 1, 0 };
    if (pli_boot.gateway == NULL) {
        return &alone[what];
    }
    struct pli_impi_span *s = __atomic_load_n(&c->span, __ATOMIC_ACQUIRE);
    if (s == NULL) {
        struct pli_impi_span *made = create(c);
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

void pli_impi_span_end(struct pli_comm *c)
{
    free(c->span);
    c->span = NULL;
}

bool pli_impi_span_has_later(void)
{
    return pli_boot.gateway == NULL || pli_boot.gateway->has_later != 0;
}

enum pli_err pli_impi_span_check_later(const char *what, const struct pli_comm *c)
{
    if (pli_impi_span_has_later()) {
        return PLI_OK;
    }
    return pli_fail(
        PLI_ERR_UNSUPPORTED,
        "%s on %s: not all clients of the IMPI job are of Pliant MPI or libimpi, and only these "
        "can do it nonblocking, persistent, along a topology or without the whole parent; use the "
        "blocking form, or split off a communicator of one client (IMPI_CLIENT_COLOR)",
        what, pli_comm_say(c));
}

enum pli_err pli_impi_span_check_windows(const struct pli_comm *c)
{
    if (pli_boot.gateway->has_windows != 0) {
        return PLI_OK;
    }
    return pli_fail(PLI_ERR_UNSUPPORTED,
                    "%s cannot have windows: a client of the IMPI job is neither of Pliant MPI nor "
                    "of libimpi, or its machine has another form of data; split off a communicator "
                    "of one client (IMPI_CLIENT_COLOR)",
                    pli_comm_say(c));
}

bool pli_impi_span_has_files(void)
{
    return pli_boot.gateway->has_files != 0;
}

bool pli_impi_span_has_atomic(void)
{
    return pli_boot.gateway->has_atomic != 0;
}

enum pli_err pli_impi_span_check_files(const struct pli_comm *c)
{
    if (pli_impi_span_has_files()) {
        return PLI_OK;
    }
    return pli_fail(
        PLI_ERR_UNSUPPORTED,
        "%s cannot have files: a client of the IMPI job is neither of Pliant MPI nor of "
        "libimpi, or an older one of them, or its machine has another form of data; "
        "split off a communicator of one client (IMPI_CLIENT_COLOR)",
        pli_comm_say(c));
}

bool pli_impi_span_has_made(void)
{
    return pli_boot.gateway != NULL && pli_boot.gateway->has_made != 0;
}

int pli_impi_span_tag_ub(const struct pli_comm *c)
{
    return c->is_span ? pli_boot.gateway->tag_ub : PLI_TAG_UB;
}
