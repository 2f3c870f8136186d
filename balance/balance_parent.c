// SPDX-License-Identifier: BSD-3-Clause
// Puts another communicator in the place of a balance's parent, so that endpoints can move to
// processes that came later. Nothing moves here: each process keeps what it has.
#include "balance_priv.h"

#include <stdlib.h>
#include <string.h>

// What each process tells the others.
struct summary {
    uint64_t parts;
    int32_t n_ep, n_here;
};

// What takes the place of what the balance has.
struct change {
    struct pli_balance next; // communicator, rank, size, endpoints
    struct summary *summary;
    int *count, *first, *ranks; // ranks: of all endpoints, ordered by process
    MPI_Comm *comms;
};

static int hear(const struct pli_balance *b, struct change *c)
{
    struct pli_balance *n = &c->next;
    struct summary mine = { pli_balance_image_names(b), b->n_ep, b->n_here };
    c->summary = calloc((size_t)n->size, sizeof *c->summary);
    c->count = calloc((size_t)n->size, sizeof(int));
    c->first = calloc((size_t)n->size + 1, sizeof(int));
    int code = c->summary != NULL && c->count != NULL && c->first != NULL
                   ? MPI_SUCCESS
                   : pli_balance_error_code(MPI_ERR_NO_MEM, "no memory for %d processes", n->size);
    code = pli_balance_migrate_agree(n, code, "begin");
    return code == MPI_SUCCESS ? MPI_Allgather(&mine, sizeof mine, MPI_BYTE, c->summary,
                                               sizeof mine, MPI_BYTE, n->private)
                               : code;
}

// All processes see the same, and fail alike.
static int check(struct change *c)
{
    struct pli_balance *n = &c->next;
    for (int i = 0; i < n->size; i++) {
        const struct summary *s = &c->summary[i];
        if (s->parts != c->summary[0].parts) {
            return pli_balance_error_code(MPI_ERR_ARG,
                                          "ranks 0 and %d of the parent have registered different "
                                          "kinds of state",
                                          i);
        }
        if (s->n_ep > 0 && n->n_ep > 0 && s->n_ep != n->n_ep) {
            return pli_balance_error_code(
                MPI_ERR_ARG, "the balance of rank %d has %d endpoints, and another one has %d", i,
                (int)s->n_ep, n->n_ep);
        }
        n->n_ep = s->n_ep > 0 ? s->n_ep : n->n_ep;
        c->count[i] = s->n_here;
        c->first[i + 1] = c->first[i] + s->n_here;
    }
    return c->first[n->size] == n->n_ep
               ? MPI_SUCCESS
               : pli_balance_error_code(
                     MPI_ERR_ARG,
                     "the members of the new parent have %d endpoints, but there are %d; a process "
                     "that leaves gives its endpoints away first (MPIX_Balance_weight)",
                     c->first[n->size], n->n_ep);
}

// Who has which rank.
static int gather_ranks(const struct pli_balance *b, struct change *c)
{
    struct pli_balance *n = &c->next;
    c->ranks = calloc((size_t)n->n_ep + 1, sizeof(int));
    c->comms = calloc((size_t)b->n_here + 1, sizeof(MPI_Comm));
    n->owner = malloc(((size_t)n->n_ep + 1) * sizeof(int));
    int code = c->ranks != NULL && c->comms != NULL && n->owner != NULL
                   ? MPI_SUCCESS
                   : pli_balance_error_code(MPI_ERR_NO_MEM, "no memory for %d endpoints", n->n_ep);
    code = pli_balance_migrate_agree(n, code, "make room");
    if (code == MPI_SUCCESS) {
        code = MPI_Allgatherv(b->ranks, b->n_here, MPI_INT, c->ranks, c->count, c->first, MPI_INT,
                              n->private);
    }
    for (int r = 0; r < n->n_ep && code == MPI_SUCCESS; r++) {
        n->owner[r] = -1;
    }
    for (int p = 0; p < n->size && code == MPI_SUCCESS; p++) {
        for (int i = c->first[p]; i < c->first[p + 1]; i++) {
            if (n->owner[c->ranks[i]] >= 0) {
                return pli_balance_error_code(
                    MPI_ERR_ARG,
                    "ranks %d and %d of the parent both have endpoint %d: "
                    "their balances are not one",
                    n->owner[c->ranks[i]], p, c->ranks[i]);
            }
            n->owner[c->ranks[i]] = p;
        }
    }
    return code;
}

// The same endpoints, on the new communicator.
static int make_comms(const struct pli_balance *b, struct change *c)
{
    MPI_Errhandler handler;
    int code =
        MPIX_Comm_create_endpoints_ranked(c->next.private, b->n_here, b->ranks, b->info, c->comms);
    if (code == MPI_SUCCESS) {
        code = MPI_Comm_get_errhandler(c->next.parent, &handler);
    }
    if (code == MPI_SUCCESS) {
        for (int i = 0; i < b->n_here; i++) {
            MPI_Comm_set_errhandler(c->comms[i], handler);
        }
        MPI_Errhandler_free(&handler);
    }
    return code;
}

// From here on nothing can fail.
static void commit(struct pli_balance *b, struct change *c)
{
    for (int i = 0; i < b->n_here; i++) {
        MPI_Comm_free(&b->here[i]->comm);
        b->here[i]->comm = c->comms[i];
    }
    MPI_Comm_free(&b->private);
    free(b->owner);
    b->parent = c->next.parent;
    b->private = c->next.private;
    b->rank = c->next.rank;
    b->size = c->next.size;
    b->n_ep = c->next.n_ep;
    b->owner = c->next.owner;
    c->next.owner = NULL;
    c->next.private = MPI_COMM_NULL;
}

int MPIX_Balance_set_parent(MPIX_Balance b, MPI_Comm parent)
{
    int is_inter = 0;
    if (b == NULL) {
        return pli_balance_error(NULL, MPI_ERR_ARG, "argument balance is MPIX_BALANCE_NULL");
    }
    int code = MPI_Comm_test_inter(parent, &is_inter);
    if (code != MPI_SUCCESS) {
        return code;
    }
    struct change c = { .next = { .parent = parent, .private = MPI_COMM_NULL } };
    if (is_inter) {
        return pli_balance_error(&c.next, MPI_ERR_COMM, "parent is an intercommunicator");
    }
    code = MPI_Comm_dup(parent, &c.next.private);
    if (code != MPI_SUCCESS) {
        return code; // its error handler was called
    }
    MPI_Comm_set_errhandler(c.next.private, MPI_ERRORS_RETURN);
    MPI_Comm_rank(c.next.private, &c.next.rank);
    MPI_Comm_size(c.next.private, &c.next.size);
    code = hear(b, &c);
    code = code == MPI_SUCCESS ? check(&c) : code;
    code = code == MPI_SUCCESS ? gather_ranks(b, &c) : code;
    code = code == MPI_SUCCESS ? make_comms(b, &c) : code;
    if (code == MPI_SUCCESS) {
        commit(b, &c);
    }
    if (c.next.private != MPI_COMM_NULL) {
        MPI_Comm_free(&c.next.private);
    }
    free(c.next.owner);
    free(c.summary);
    free(c.count);
    free(c.first);
    free(c.ranks);
    free(c.comms);
    const struct pli_balance judge = { .parent = parent };
    return pli_balance_error_raise(&judge, code);
}
