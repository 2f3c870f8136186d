// SPDX-License-Identifier: BSD-3-Clause
// Moves endpoints: packs those that leave, sends and unpacks them, makes the new communicator, and
// only then frees the old one. Before each step that cannot be undone all processes agree that all
// have succeeded so far; otherwise all undo what they did.
#include "balance_priv.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_SIZE = 1, TAG_DATA = 2 };

struct transfer {
    int process; // at the other end
    int index;   // among the endpoints here, old ones or new ones
    MPI_Count bytes;
    void *data;
};

struct move {
    struct pli_balance *b;
    int n_ep;
    const int *owner; // the new map
    int n_new, n_out, n_in;
    struct transfer *out, *in;
    MPI_Request *reqs;
    int *ranks;                   // of the endpoints here afterwards
    struct pli_balance_ep **next; // these
    unsigned char *is_new;        // whether it was not here before
    MPI_Comm *comms;
};

int pli_balance_migrate_agree(const struct pli_balance *b, int mine, const char *what)
{
    struct {
        int failed, rank;
    } me = { mine != MPI_SUCCESS, b->rank }, all;
    int code = MPI_Allreduce(&me, &all, 1, MPI_2INT, MPI_MAXLOC, b->private);
    if (mine != MPI_SUCCESS || code != MPI_SUCCESS) {
        return mine != MPI_SUCCESS ? mine : code;
    }
    return all.failed
               ? pli_balance_error_code(MPI_ERR_OTHER,
                                        "rank %d of the parent could not %s; nothing has changed",
                                        all.rank, what)
               : MPI_SUCCESS;
}

static int make_room(struct move *m)
{
    size_t n_old = (size_t)m->b->n_here, n_new;
    for (int r = 0; r < m->n_ep; r++) {
        m->n_new += m->owner[r] == m->b->rank;
    }
    n_new = (size_t)m->n_new;
    m->out = calloc(n_old + 1, sizeof(struct transfer));
    m->in = calloc(n_new + 1, sizeof(struct transfer));
    m->reqs = calloc(n_old + n_new + 1, sizeof(MPI_Request));
    m->ranks = calloc(n_new + 1, sizeof(int));
    m->next = calloc(n_new + 1, sizeof(struct pli_balance_ep *));
    m->is_new = calloc(n_new + 1, 1);
    m->comms = calloc(n_new + 1, sizeof(MPI_Comm));
    return m->out != NULL && m->in != NULL && m->reqs != NULL && m->ranks != NULL &&
                   m->next != NULL && m->is_new != NULL && m->comms != NULL
               ? MPI_SUCCESS
               : pli_balance_error_code(MPI_ERR_NO_MEM, "no memory to move endpoints");
}

// All ranks in ascending order: who has it, who gets it.
static int begin(struct move *m)
{
    struct pli_balance *b = m->b;
    int code = make_room(m), me = b->rank, old = 0, at = 0;
    int is_first = b->owner == NULL; // no process had one: all are new
    for (int r = 0; r < m->n_ep && code == MPI_SUCCESS; r++) {
        int was_here = !is_first && b->owner[r] == me, is_here = m->owner[r] == me;
        if (was_here && !is_here) {
            m->out[m->n_out++] = (struct transfer){ .process = m->owner[r], .index = old };
        }
        if (is_here && was_here) {
            m->next[at] = b->here[old];
        } else if (is_here) {
            m->next[at] = calloc(1, sizeof(struct pli_balance_ep));
            if (m->next[at] == NULL) {
                return pli_balance_error_code(MPI_ERR_NO_MEM, "no memory for an endpoint");
            }
            m->next[at]->comm = MPI_COMM_NULL;
            m->is_new[at] = 1;
            if (!is_first) {
                m->in[m->n_in++] = (struct transfer){ .process = b->owner[r], .index = at };
            }
        }
        if (is_here) {
            m->ranks[at] = r;
        }
        old += was_here;
        at += is_here;
    }
    return code;
}

static int pack(struct move *m)
{
    for (int i = 0; i < m->n_out; i++) {
        struct transfer *c = &m->out[i];
        const struct pli_balance_ep *ep = m->b->here[c->index];
        int code = pli_balance_image_size(m->b, ep, &c->bytes);
        if (code == MPI_SUCCESS) {
            c->data = malloc((size_t)c->bytes);
            code = c->data == NULL ? pli_balance_error_code(MPI_ERR_NO_MEM,
                                                            "no memory to pack %lld bytes of state",
                                                            (long long)c->bytes)
                                   : pli_balance_image_pack(m->b, ep, c->data, c->bytes);
        }
        if (code != MPI_SUCCESS) {
            return code;
        }
    }
    return MPI_SUCCESS;
}

// Two processes exchange endpoints in the order of ranks, so their messages need no other name.
static int ship_sizes(struct move *m)
{
    int n = 0, code = MPI_SUCCESS;
    for (int i = 0; i < m->n_in && code == MPI_SUCCESS; i++) {
        code = MPI_Irecv(&m->in[i].bytes, 1, MPI_COUNT, m->in[i].process, TAG_SIZE, m->b->private,
                         &m->reqs[n++]);
    }
    for (int i = 0; i < m->n_out && code == MPI_SUCCESS; i++) {
        code = MPI_Isend(&m->out[i].bytes, 1, MPI_COUNT, m->out[i].process, TAG_SIZE, m->b->private,
                         &m->reqs[n++]);
    }
    int ended = MPI_Waitall(n, m->reqs, MPI_STATUSES_IGNORE);
    code = code == MPI_SUCCESS ? ended : code;
    for (int i = 0; i < m->n_in && code == MPI_SUCCESS; i++) {
        m->in[i].data = malloc((size_t)m->in[i].bytes);
        if (m->in[i].data == NULL) {
            code =
                pli_balance_error_code(MPI_ERR_NO_MEM, "no memory to receive %lld bytes of state",
                                       (long long)m->in[i].bytes);
        }
    }
    return code;
}

static int ship_data(struct move *m)
{
    int n = 0, code = MPI_SUCCESS;
    for (int i = 0; i < m->n_in && code == MPI_SUCCESS; i++) {
        code = MPI_Irecv_c(m->in[i].data, m->in[i].bytes, MPI_BYTE, m->in[i].process, TAG_DATA,
                           m->b->private, &m->reqs[n++]);
    }
    for (int i = 0; i < m->n_out && code == MPI_SUCCESS; i++) {
        code = MPI_Isend_c(m->out[i].data, m->out[i].bytes, MPI_BYTE, m->out[i].process, TAG_DATA,
                           m->b->private, &m->reqs[n++]);
    }
    int ended = MPI_Waitall(n, m->reqs, MPI_STATUSES_IGNORE);
    code = code == MPI_SUCCESS ? ended : code;
    for (int i = 0; i < m->n_in && code == MPI_SUCCESS; i++) {
        struct transfer *c = &m->in[i];
        code = pli_balance_image_unpack(m->b, m->next[c->index], c->data, c->bytes);
        free(c->data); // no longer than needed: the state may be most of the memory
        c->data = NULL;
    }
    return code;
}

// Whether the endpoints of each process follow each other, in the order of processes.
static int is_ordered(const struct move *m)
{
    int r = 1;
    while (r < m->n_ep && m->owner[r - 1] <= m->owner[r]) {
        r++;
    }
    return r >= m->n_ep;
}

// The new endpoints; their errors are the user's, not ours.
static int make_comms(struct move *m)
{
    MPI_Errhandler handler;
    int code = is_ordered(m)
                   ? MPI_Comm_create_endpoints(m->b->private, m->n_new, m->b->info, m->comms)
                   : MPIX_Comm_create_endpoints_ranked(m->b->private, m->n_new, m->ranks,
                                                       m->b->info, m->comms);
    if (code == MPI_SUCCESS) {
        code = MPI_Comm_get_errhandler(m->b->parent, &handler);
    }
    if (code == MPI_SUCCESS) {
        for (int i = 0; i < m->n_new; i++) {
            MPI_Comm_set_errhandler(m->comms[i], handler);
        }
        MPI_Errhandler_free(&handler);
    }
    return code;
}

// From here on nothing can fail.
static void commit(struct move *m)
{
    struct pli_balance *b = m->b;
    for (int i = 0; i < b->n_here; i++) {
        if (b->here[i]->comm != MPI_COMM_NULL) {
            MPI_Comm_free(&b->here[i]->comm);
        }
    }
    for (int i = 0; i < m->n_out; i++) {
        pli_balance_image_drop(b, b->here[m->out[i].index]);
        free(b->here[m->out[i].index]);
    }
    for (int i = 0; i < m->n_new; i++) {
        m->next[i]->comm = m->comms[i];
    }
    free(b->here);
    free(b->ranks);
    b->here = m->next;
    b->ranks = m->ranks;
    b->n_here = m->n_new;
    b->n_ep = m->n_ep;
    m->next = NULL;
    m->ranks = NULL;
}

static void end(struct move *m)
{
    struct pli_balance *b = m->b;
    for (int i = 0; m->next != NULL && i < m->n_new; i++) { // it failed: forget what came
        if (m->next[i] != NULL && m->is_new[i]) {
            pli_balance_image_drop(b, m->next[i]);
            free(m->next[i]);
        }
    }
    for (int i = 0; i < m->n_out; i++) {
        free(m->out[i].data);
    }
    for (int i = 0; i < m->n_in; i++) {
        free(m->in[i].data);
    }
    free(m->next);
    free(m->ranks);
    free(m->is_new);
    free(m->out);
    free(m->in);
    free(m->reqs);
    free(m->comms);
}

int pli_balance_migrate(struct pli_balance *b, int n_ep, const int *owner, MPI_Count *bytes_out)
{
    struct move m = { .b = b, .n_ep = n_ep, .owner = owner };
    MPI_Count mine = 0;
    int *copy = malloc(((size_t)n_ep + 1) * sizeof(int));
    int code =
        copy != NULL ? begin(&m) : pli_balance_error_code(MPI_ERR_NO_MEM, "no memory for a map");
    if (code == MPI_SUCCESS) {
        code = pack(&m);
    }
    code = pli_balance_migrate_agree(b, code, "pack its state");
    if (code == MPI_SUCCESS) {
        code = pli_balance_migrate_agree(b, ship_sizes(&m), "make room for the state that comes");
    }
    if (code == MPI_SUCCESS) {
        code = pli_balance_migrate_agree(b, ship_data(&m), "unpack the state that came");
    }
    if (code == MPI_SUCCESS) {
        code = make_comms(&m);
    }
    if (code == MPI_SUCCESS) {
        for (int i = 0; i < m.n_out; i++) {
            mine += m.out[i].bytes;
        }
        commit(&m);
        memcpy(copy, owner, (size_t)n_ep * sizeof(int));
        free(b->owner);
        b->owner = copy;
        copy = NULL;
    }
    free(copy);
    end(&m);
    if (code == MPI_SUCCESS) {
        code = MPI_Allreduce(&mine, bytes_out, 1, MPI_COUNT, MPI_SUM, b->private);
    }
    return code;
}
