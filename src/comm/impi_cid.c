// SPDX-License-Identifier: BSD-3-Clause
// Agreement on the numbers of communicators between MPI jobs.
#include "comm/impi_cid.h"

#include "coll/coll.h"
#include "impi/coll/impi_coll.h"
#include "comm/comm_make.h"
#include "msg/msg_wire.h"
#include "msg/process.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/group_build.h"
#include "obj/impi_span.h"
#include "obj/op.h"

#include <stdlib.h>

#define MADE ((uint64_t)3 << 61)        // bits of numbers that a process makes
#define LOCAL_GROUP ((uint64_t)1 << 37) // no count gets there

static bool is_made(uint64_t cid)
{
    return (cid & MADE) == MADE;
}

static _Atomic uint64_t largest = 1; // MPI_COMM_WORLD has 0 and 1

enum pli_err pli_impi_cid_max(struct pli_comm *comm, uint64_t *max_out)
{
    // the largest of numbers that are each used once is one that is used once
    uint64_t mine = pli_impi_span_has_made() ? pli_process_context() : largest;
    struct pli_op *op = pli_handle_get(MPI_MAX, PLI_KIND_OP);
    return pli_coll_allreduce(&mine, max_out, 1, pli_datatype_basic(MPI_UINT64_T), op, comm);
}

enum pli_err pli_impi_cid_take(uint64_t max, unsigned n, uint64_t *cid_out)
{
    if (is_made(max)) {
        *cid_out = max;
        return PLI_OK;
    }
    max |= 1; // pairs begin with an even number
    if (pli_impi_coll_take_cid(&max, n, cid_out) != PLI_IMPI_OK || *cid_out >> 58 != 0) {
        return pli_fail(PLI_ERR_OTHER, "IMPI has no numbers for communicators any more");
    }
    largest = max;
    return PLI_OK;
}

uint64_t pli_impi_cid_context(uint64_t cid)
{
    return is_made(cid) ? cid : PLI_MSG_SPAN | cid << 2;
}

uint64_t pli_impi_cid_local(uint64_t cid)
{
    return is_made(cid) ? cid ^ LOCAL_GROUP : cid + 2;
}

enum pli_err pli_impi_cid_agree(struct pli_comm *parent, uint64_t *context_out)
{
    uint64_t max = 0, cid = 0;
    enum pli_err err = pli_impi_cid_max(parent, &max);
    if (err == PLI_OK) {
        err = pli_impi_cid_take(max, 2, &cid);
    }
    *context_out = pli_impi_cid_context(cid);
    return err;
}

struct place {
    int key, rank;
};

static int by_key(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->rank > y->rank) - (x->rank < y->rank);
}

enum pli_err pli_impi_cid_group(const struct pli_group *from, const int *votes, int color,
                                struct pli_id me, struct pli_group **out)
{
    struct place *places = malloc((size_t)from->size * sizeof *places);
    struct pli_group_build b;
    int n = 0;
    if (places == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory to split %d ranks", from->size);
    }
    for (int i = 0; i < from->size; i++) {
        if (votes[2 * i] == color) {
            places[n++] = (struct place){ votes[2 * i + 1], i };
        }
    }
    qsort(places, (size_t)n, sizeof *places, by_key);
    pli_group_build_init(&b);
    for (int i = 0; i < n; i++) {
        pli_group_build_add_id(&b, pli_group_at(from, places[i].rank));
    }
    free(places);
    return pli_group_build_finish(&b, from->session, me, out);
}

enum pli_err pli_impi_cid_votes(struct pli_comm *comm, int color, int key, int **out)
{
    struct pli_datatype *type = pli_datatype_basic(MPI_INT);
    int mine[2] = { color >= 0 ? color : -1, key };
    *out = malloc(2 * (size_t)comm->size * sizeof **out);
    return *out == NULL ? pli_fail(PLI_ERR_NOMEM, "no memory to split %d ranks", comm->size)
                        : pli_coll_allgather(mine, 2, type, *out, 2, type, comm);
}

enum pli_err pli_impi_cid_split(struct pli_comm *comm, int color, int key, struct pli_comm **out)
{
    int *votes;
    uint64_t context = 0;
    enum pli_err err = pli_impi_cid_votes(comm, color, key, &votes);
    if (err == PLI_OK) {
        err = pli_impi_cid_agree(comm, &context);
    }
    struct pli_group *group = NULL;
    if (err == PLI_OK && color >= 0) {
        err = pli_impi_cid_group(comm->group, votes, color, comm->group->me, &group);
    }
    if (err == PLI_OK && color >= 0) {
        err = pli_comm_make_child(comm, group, NULL, context, out);
    }
    pli_group_release(group);
    free(votes);
    return err;
}
