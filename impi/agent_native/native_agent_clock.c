// SPDX-License-Identifier: BSD-3-Clause
// How far the clock of this client is ahead of that of the world, for timelines: the clock of the
// first client that has one is the world's. A question is an empty message in a context of its own,
// all of which is in the fields of the envelope that IMPI carries and gives no meaning. Only
// clients that say PLI_IMPI_HAS_CLOCK are asked, and only while this one records.
#include "impi/agent_native/native_agent_priv.h"

#include "base/clock.h"
#include "base/host_clock.h"

enum { N_FIRST = 16, EVERY_MS = 500, QUESTION = 0, ANSWER = 1 };
static const uint64_t clock_cid = UINT64_MAX; // no communicator has it

static uint32_t reference(const struct pli_impi_job *job)
{
    uint32_t c = 0;
    while (c < job->n_client && (job->client[c].features & PLI_IMPI_HAS_CLOCK) == 0) {
        c++;
    }
    return c;
}

// The world begins when the agent of its first client does, which is before any rank.
void pli_native_agent_clock_open(struct pli_native_agent *a, const struct pli_impi_job *job)
{
    uint32_t of = reference(job);
    a->clock_rank = UINT32_MAX;
    if (a->conf->host != 0 || of == job->n_client) {
        return;
    }
    if (of == a->client) {
        a->gateway->world_begin = a->begin_ns;
        pli_host_clock_add(&a->gateway->clock, a->begin_ns, 0, 0);
    } else if (a->conf->is_recorded) {
        a->clock_rank = job->client[of].first_rank;
        a->is_clock_near = pli_impi_job_is_near(job, a->client, of);
    }
}

static void post(struct pli_native_agent *a, uint32_t to, int32_t tag, uint64_t asked, uint64_t now)
{
    struct pli_impi_send s = { .env = { .src = a->first,
                                        .dst = to,
                                        .cid = clock_cid,
                                        .tag = tag,
                                        .seqnum = asked,
                                        .count = now,
                                        .dtype = a->gateway->world_begin },
                               .data = "" };
    uint64_t req;
    (void)pli_impi_engine_send(a->engine, &s, &req); // where the job ends it is not needed any more
}

int pli_native_agent_clock_ask(struct pli_native_agent *a)
{
    if (a->clock_rank == UINT32_MAX || pli_impi_net_state(a->net) != PLI_IMPI_NET_RUN) {
        return -1;
    }
    uint64_t now = pli_clock_ns();
    if (now >= a->clock_due) {
        a->clock_due = now + (uint64_t)EVERY_MS * 1000000;
        post(a, a->clock_rank, QUESTION, now, 0);
    }
    return (int)((a->clock_due - now) / 1000000) + 1;
}

// Processes of one machine have one clock, unless what was measured says otherwise.
static void hear(struct pli_native_agent *a, const struct pli_impi_envelope *e, uint64_t now)
{
    uint64_t way = now - e->seqnum, middle = e->seqnum + way / 2;
    int64_t ahead = (int64_t)(middle - e->count);
    bool is_same = a->is_clock_near && ahead <= (int64_t)way && -ahead <= (int64_t)way;
    a->gateway->world_begin = e->dtype;
    pli_host_clock_add(&a->gateway->clock, middle, is_same ? 0 : ahead, is_same ? 0 : way);
    if (++a->n_clock < N_FIRST) {
        a->clock_due = 0; // the fastest of several
    }
}

bool pli_native_agent_clock_arrived(struct pli_native_agent *a, const struct pli_impi_envelope *e)
{
    if (e->cid != clock_cid) {
        return false;
    }
    uint64_t now = pli_clock_ns();
    if (e->tag == QUESTION) {
        post(a, e->src, ANSWER, e->seqnum, now);
    } else if (e->src == a->clock_rank && e->seqnum <= now) {
        hear(a, e, now);
    }
    return true;
}
