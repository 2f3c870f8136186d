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
    const int *first; // the new sharing out
    int n_new, n_out, n_in;
    struct transfer *out, *in;
    MPI_Request *reqs;
    struct pli_balance_ep **next; // the endpoints here afterwards
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

static int begin(struct move *m)
{
    struct pli_balance *b = m->b;
    int me = b->rank, old0 = b->first[me], old1 = b->first[me + 1];
    int new0 = m->first[me], new1 = m->first[me + 1];
    m->n_new = new1 - new0;
    size_t n_old = (size_t)(old1 - old0), n_new = (size_t)m->n_new;
    m->out = calloc(n_old + 1, sizeof(struct transfer));
    m->in = calloc(n_new + 1, sizeof(struct transfer));
    m->reqs = calloc(n_old + n_new + 1, sizeof(MPI_Request));
    m->next = calloc(n_new + 1, sizeof(struct pli_balance_ep *));
    m->comms = calloc(n_new + 1, sizeof(MPI_Comm));
    if (m->out == NULL || m->in == NULL || m->reqs == NULL || m->next == NULL || m->comms == NULL) {
        return pli_balance_error_code(MPI_ERR_NO_MEM, "no memory to move endpoints");
    }
    for (int r = old0, p = 0; r < old1; r++) {
        while (m->first[p + 1] <= r) {
            p++;
        }
        if (p == me) {
            m->next[r - new0] = b->here[r - old0];
        } else {
            m->out[m->n_out++] = (struct transfer){ .process = p, .index = r - old0 };
        }
    }
    int is_first = b->n_ep == 0; // no process had one: all are new
    for (int r = new0, p = 0; r < new1; r++) {
        while (!is_first && b->first[p + 1] <= r) {
            p++;
        }
        if (m->next[r - new0] == NULL) {
            m->next[r - new0] = calloc(1, sizeof(struct pli_balance_ep));
            m->in[m->n_in++] = (struct transfer){ .process = is_first ? me : p, .index = r - new0 };
            if (m->next[r - new0] == NULL) {
                return pli_balance_error_code(MPI_ERR_NO_MEM, "no memory for an endpoint");
            }
            m->next[r - new0]->comm = MPI_COMM_NULL;
        }
    }
    m->n_in = is_first ? 0 : m->n_in;
    return MPI_SUCCESS;
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

// The new endpoints; their errors are the user's, not ours.
static int make_comms(struct move *m)
{
    MPI_Errhandler handler;
    int code = MPI_Comm_create_endpoints(m->b->private, m->n_new, m->b->info, m->comms);
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
    for (int i = 0; i < pli_balance_n(b); i++) {
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
    b->here = m->next;
    m->next = NULL;
    memcpy(b->first, m->first, ((size_t)b->size + 1) * sizeof(int));
}

static void end(struct move *m)
{
    struct pli_balance *b = m->b;
    int from = b->first[b->rank] - m->first[b->rank];
    for (int i = 0; m->next != NULL && i < m->n_new; i++) { // it failed: forget what came
        int at = i - from;
        int is_old = at >= 0 && at < pli_balance_n(b) && m->next[i] == b->here[at];
        if (m->next[i] != NULL && !is_old) {
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
    free(m->out);
    free(m->in);
    free(m->reqs);
    free(m->comms);
}

int pli_balance_migrate(struct pli_balance *b, const int *first, MPI_Count *bytes_out)
{
    struct move m = { .b = b, .first = first };
    MPI_Count mine = 0;
    int code = begin(&m);
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
    }
    end(&m);
    if (code == MPI_SUCCESS) {
        code = MPI_Allreduce(&mine, bytes_out, 1, MPI_COUNT, MPI_SUM, b->private);
    }
    return code;
}
