// SPDX-License-Identifier: BSD-3-Clause
// Decides agreements of communicators on several hosts. Votes come here from all hosts, and results
// go to all. Only mpiexec decides, so it does not matter which rank dies: its votes are here, and a
// host that gets no result has lost mpiexec and ends.
#include "launcher/ranks/agreement.h"

#include "launcher/base/launcher.h"
#include "launcher/base/pack.h"
#include "boot/agree_wire.h"
#include "ft/agree_count.h"
#include "launcher/job/job.h"
#include "launcher/ranks/failure_news.h"
#include "launcher/ranks/resize_notify.h"
#include "launcher/base/say.h"

#include <stdlib.h>
#include <string.h>

struct pli_agreement_entry {
    struct pli_agreement_entry *next;
    uint64_t key;
    uint32_t n_listed; // members that are known
    uint32_t n_done;   // agreements
    bool is_revoked;
    struct pli_failure_agreement agreement; // last
};

static struct pli_agreement_entry *add(uint64_t key, uint32_t n_member, uint32_t n_first)
{
    struct pli_agreement_state *self = pli_launcher.agreement;
    struct pli_agreement_entry *e =
        pli_say_need(calloc(1, sizeof *e + n_member * sizeof(struct pli_failure_member)));
    e->key = key;
    e->agreement.n_member = n_member;
    e->agreement.n_first = n_first;
    e->next = self->entries;
    self->entries = e;
    return e;
}

static struct pli_agreement_entry *find(const struct pli_agree_word *word)
{
    struct pli_agreement_entry *e = pli_launcher.agreement->entries;
    while (e != NULL && e->key != word->key) {
        e = e->next;
    }
    if (e == NULL && word->what != PLI_AGREE_LEAVE && word->n_member > 0) {
        e = add(word->key, word->n_member, word->n_first);
    }
    bool is_good = e != NULL && e->agreement.n_member == word->n_member;
    return is_good && word->place < e->agreement.n_member ? e : NULL;
}

static void list(struct pli_agreement_entry *e, const struct pli_agree_word *word)
{
    for (uint32_t i = 0; i < word->n_list && i < PLI_AGREE_N_LIST; i++) {
        uint32_t place = word->place + i;
        if (place < e->agreement.n_member && e->agreement.members[place].proc == 0) {
            e->agreement.members[place].proc = (uint64_t)1 << 32 | word->list[i]; // never 0
            e->n_listed++;
        }
    }
}

static void note(struct pli_agreement_entry *e, const struct pli_agree_word *word)
{
    struct pli_failure_vote *v =
        &e->agreement.members[word->place].votes[word->seq % PLI_FAILURE_N_VOTE];
    v->value = word->value;
    v->n_acked = word->n_acked;
    v->context[0] = word->context[0];
    v->context[1] = word->context[1];
    v->seq = word->seq;
}

static bool has_vote(const struct pli_agreement_entry *e, uint32_t seq)
{
    for (uint32_t i = 0; i < e->agreement.n_member; i++) {
        if (e->agreement.members[i].votes[seq % PLI_FAILURE_N_VOTE].seq == seq) {
            return true;
        }
    }
    return false;
}

// Agreements are decided in the order in which all members come to them.
static void decide(struct pli_job *job, struct pli_agreement_entry *e)
{
    uint32_t n_failed = atomic_load(&job->node.header->n_failed);
    while (e->n_listed == e->agreement.n_member && has_vote(e, e->n_done + 1) &&
           pli_agree_count_is_full(&job->node, &e->agreement, e->n_done + 1, n_failed)) {
        e->n_done++;
        struct pli_news n = {
            .what = PLI_NEWS_AGREED, .key = e->key, .seq = e->n_done, .n_failed = n_failed
        };
        n.outcome = pli_agree_count_count(&job->node, &e->agreement, e->n_done, n_failed);
        pli_failure_news_tell(job, &n);
    }
}

static bool is_over(const struct pli_job *job, const struct pli_agreement_entry *e)
{
    for (uint32_t i = 0; i < e->agreement.n_member; i++) {
        const struct pli_failure_member *m = &e->agreement.members[i];
        if (m->has_left == 0 &&
            (m->proc == 0 || (!pli_node_has_ended(&job->node, (uint32_t)m->proc) &&
                              pli_node_failure(&job->node, (uint32_t)m->proc) == 0))) {
            return false;
        }
    }
    return true;
}

// Forget communicators that no process has any more.
static void sweep(struct pli_job *job)
{
    struct pli_agreement_state *self = pli_launcher.agreement;
    struct pli_agreement_entry **at = &self->entries;
    while (*at != NULL) {
        struct pli_agreement_entry *e = *at;
        if (!is_over(job, e)) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        pli_failure_news_tell(job, &(struct pli_news){ .what = PLI_NEWS_DROPPED, .key = e->key });
        free(e);
    }
}

static void revoke(struct pli_job *job, struct pli_agreement_entry *e)
{
    if (!e->is_revoked) {
        e->is_revoked = true;
        pli_failure_news_tell(job, &(struct pli_news){ .what = PLI_NEWS_REVOKED, .key = e->key });
    }
}

void pli_agreement_hear(struct pli_job *job, const struct pli_agree_word *word)
{
    if (word->what == PLI_AGREE_SAID || word->what == PLI_AGREE_TOOK) {
        pli_resize_notify_hear(job, word);
        return;
    }
    struct pli_agreement_entry *e = find(word);
    if (e == NULL) {
        return; // the last member that left has spoken for it
    }
    switch (word->what) {
    case PLI_AGREE_MEMBERS:
        list(e, word);
        decide(job, e);
        break;
    case PLI_AGREE_VOTE:
        note(e, word);
        decide(job, e);
        break;
    case PLI_AGREE_REVOKE:
        revoke(job, e);
        break;
    case PLI_AGREE_LEAVE:
        e->agreement.members[word->place].has_left = 1;
        sweep(job);
        break;
    default:
        break;
    }
}

void pli_agreement_unpack(struct pli_job *job, const void *data, size_t len)
{
    struct pli_agree_word word;
    if (len == sizeof word) {
        memcpy(&word, data, sizeof word);
        pli_agreement_hear(job, &word);
    }
}

void pli_agreement_failed(struct pli_job *job)
{
    struct pli_agreement_state *self = pli_launcher.agreement;
    for (struct pli_agreement_entry *e = self->entries; e != NULL; e = e->next) {
        decide(job, e);
    }
    sweep(job);
}

void pli_agreement_save(struct pli_pack *to)
{
    const struct pli_agreement_entry *e = pli_launcher.agreement->entries;
    uint32_t n = 0;
    for (const struct pli_agreement_entry *k = e; k != NULL; k = k->next) {
        n++;
    }
    pli_pack_u32(to, n);
    for (; e != NULL; e = e->next) {
        pli_pack_u64(to, e->key);
        pli_pack_u32(to, e->agreement.n_member);
        pli_pack_u32(to, e->agreement.n_first);
        pli_pack_u32(to, e->n_listed);
        pli_pack_u32(to, e->n_done);
        pli_pack_u32(to, e->is_revoked);
        pli_pack_bytes(to, e->agreement.members,
                       e->agreement.n_member * sizeof *e->agreement.members);
    }
}

bool pli_agreement_restore(struct pli_unpack *from)
{
    enum { EACH = 28 };
    uint32_t n = pli_unpack_count(from, EACH);
    for (uint32_t i = 0; i < n && !from->is_bad; i++) {
        uint64_t key = pli_unpack_u64(from);
        uint32_t n_member = pli_unpack_count(from, sizeof(struct pli_failure_member));
        struct pli_agreement_entry *e = add(key, n_member, pli_unpack_u32(from));
        e->n_listed = pli_unpack_u32(from);
        e->n_done = pli_unpack_u32(from);
        e->is_revoked = pli_unpack_u32(from) != 0;
        size_t len = n_member * sizeof *e->agreement.members;
        const void *members = pli_unpack_bytes(from, len);
        if (members != NULL) {
            memcpy(e->agreement.members, members, len);
        }
    }
    return !from->is_bad;
}
