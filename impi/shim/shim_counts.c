// SPDX-License-Identifier: BSD-3-Clause
// Arguments of the functions for large counts as int.
#include "shim/shim_counts.h"
#include "shim/shim_req.h"
#include "shim/shim_topo.h"
#include <limits.h>
#include <stdlib.h>

bool pli_shim_counts_begin(struct shim_counts *l, MPI_Comm comm, const int *root)
{
    *l = (struct shim_counts){ .span = pli_shim_span_find(comm) };
    if (l->span == NULL) {
        return false;
    }
    l->is_root =
        root != NULL && (l->span->inter != NULL ? *root == MPI_ROOT : *root == l->span->rank);
    l->is_idle = root != NULL && *root == MPI_PROC_NULL;
    return true;
}

int pli_shim_counts_int(struct shim_counts *l, bool is_read, MPI_Count v)
{
    if (!is_read || l->is_idle) {
        return 0;
    }
    if (v > INT_MAX || v < INT_MIN) {
        l->err = pli_shim_fail(MPI_ERR_COUNT,
                               "a count or displacement above 2147483647 is not for a communicator "
                               "that spans clients; make a datatype of several elements");
        return 0;
    }
    return (int)v;
}

static int length(struct shim_counts *l, enum pli_shim_counts_reach reach)
{
    struct shim_span *s = l->span;
    struct shim_edges e = { 0 };
    if (reach == PLI_SHIM_COUNTS_PEERS || reach == PLI_SHIM_COUNTS_OWN) {
        return s->inter != NULL && reach == PLI_SHIM_COUNTS_OWN ? pli_shim_inter_size(s) : s->size;
    }
    int rc = pli_shim_topo_edges(s, &e);
    l->err = rc != MPI_SUCCESS ? rc : l->err;
    free(e.in);
    return reach == PLI_SHIM_COUNTS_SEND ? e.n_out : e.n_in;
}

static int *convert(struct shim_counts *l, bool is_read, enum pli_shim_counts_reach reach,
                    const MPI_Count *count, const MPI_Aint *place)
{
    bool is_there = is_read && !l->is_idle && (count != NULL || place != NULL);
    int n = is_there ? length(l, reach) : 0;
    int *list = calloc((size_t)n + 1, sizeof *list);
    if (list == NULL) {
        l->err = MPI_ERR_NO_MEM;
        return NULL;
    }
    l->list[l->n_list++] = list;
    for (int i = 0; i < n; i++) {
        list[i] = pli_shim_counts_int(l, true, count != NULL ? count[i] : place[i]);
    }
    return list;
}

const int *pli_shim_counts_counts(struct shim_counts *l, bool is_read,
                                  enum pli_shim_counts_reach reach, const MPI_Count *v)
{
    return convert(l, is_read, reach, v, NULL);
}

const int *pli_shim_counts_places(struct shim_counts *l, bool is_read,
                                  enum pli_shim_counts_reach reach, const MPI_Aint *v)
{
    return convert(l, is_read, reach, NULL, v);
}

int pli_shim_counts_check(const struct shim_counts *l)
{
    return l->err;
}

void pli_shim_counts_end(struct shim_counts *l, int rc, const MPI_Request *request)
{
    struct shim_req *r = rc == MPI_SUCCESS && request != NULL ? pli_shim_req_find(*request) : NULL;
    for (int i = 0; i < l->n_list; i++) {
        if (r != NULL) {
            r->list[i] = l->list[i];
        } else {
            free(l->list[i]);
        }
    }
}
