// SPDX-License-Identifier: BSD-3-Clause
// The errors about arguments: each says what is wrong and what would be right.
#include "glue/check.h"

#include "ft/failure.h"
#include "glue/raise.h"
#include "glue/world.h"
#include "obj/handle_predefined.h"

#include <stdio.h>
#include <string.h>

static const enum pli_err err_of[PLI_N_KIND] = {
    [PLI_KIND_NONE] = PLI_ERR_ARG,        [PLI_KIND_COMM] = PLI_ERR_COMM,
    [PLI_KIND_GROUP] = PLI_ERR_GROUP,     [PLI_KIND_DATATYPE] = PLI_ERR_TYPE,
    [PLI_KIND_OP] = PLI_ERR_OP,           [PLI_KIND_REQUEST] = PLI_ERR_REQUEST,
    [PLI_KIND_INFO] = PLI_ERR_INFO,       [PLI_KIND_ERRHANDLER] = PLI_ERR_ERRHANDLER,
    [PLI_KIND_SESSION] = PLI_ERR_SESSION, [PLI_KIND_WIN] = PLI_ERR_WIN,
    [PLI_KIND_FILE] = PLI_ERR_FILE,       [PLI_KIND_MESSAGE] = PLI_ERR_REQUEST,
    [PLI_KIND_LOST] = PLI_ERR_COMM,       [PLI_KIND_BARRED] = PLI_ERR_COMM,
};

// Whether a value names something that is there only while MPI is initialised.
static bool needs_init(uintptr_t v, enum pli_kind kind)
{
    if (v >= PLI_N_PREDEFINED || pli_handle_predefined[v] != NULL) {
        return false;
    }
    return (kind == PLI_KIND_COMM &&
            (v == (uintptr_t)MPI_COMM_WORLD || v == (uintptr_t)MPI_COMM_SELF ||
             (v == (uintptr_t)MPI_COMM_ENDPOINTS &&
              pli_handle_predefined[(uintptr_t)MPI_COMM_WORLD] == NULL))) ||
           (pli_handle_predefined[(uintptr_t)MPI_INT] == NULL &&
            ((kind == PLI_KIND_DATATYPE && v > (uintptr_t)MPI_DATATYPE_NULL) ||
             (kind == PLI_KIND_OP && v > (uintptr_t)MPI_OP_NULL && v < 0x40)));
}

int pli_bad_handle(struct pli_obj *owner, const char *fn, const char *arg, enum pli_kind want,
                   const void *h)
{
    enum pli_err err = err_of[want];
    struct pli_comm *barred = want == PLI_KIND_COMM ? pli_handle_get(h, PLI_KIND_BARRED) : NULL;
    if (barred != NULL) {
        return pli_raise(&barred->obj, fn, pli_failure_refuse("the call", barred));
    }
    if (needs_init((uintptr_t)h, want)) {
        int is_over;
        pli_world_finalized(&is_over);
        err = pli_fail(PLI_ERR_OTHER, "was called %s",
                       is_over ? "after MPI_Finalize" : "before MPI_Init");
    } else if (want == PLI_KIND_COMM && h == (const void *)MPI_COMM_ENDPOINTS) {
        err = pli_endpoint_static_why();
    } else {
        const char *kind = pli_handle_kind_name(want);
        pli_fail(err, "argument %s %s, but must be %s %s", arg, pli_handle_why(h, want),
                 strchr("aeiou", kind[0]) != NULL ? "an" : "a", kind);
    }
    return pli_raise(owner, fn, err);
}

int pli_bad_pointer(struct pli_obj *owner, const char *fn, const char *arg)
{
    return pli_raise(owner, fn,
                     pli_fail(PLI_ERR_ARG, "argument %s is NULL, but must point to memory", arg));
}

int pli_bad_uncommitted(struct pli_obj *owner, const char *fn, const char *arg,
                        const struct pli_datatype *t)
{
    return pli_raise(owner, fn,
                     pli_fail(PLI_ERR_TYPE,
                              "argument %s is datatype %s, which is not committed: call "
                              "MPI_Type_commit first",
                              arg, t->name != NULL && t->name[0] != '\0' ? t->name : "(no name)"));
}

static int bad_number(struct pli_obj *owner, const char *fn, enum pli_err err, const char *arg,
                      long long n, const char *valid)
{
    return pli_raise(owner, fn,
                     pli_fail(err, "argument %s is %lld, but must be %s", arg, n, valid));
}

int pli_bad_count(struct pli_obj *owner, const char *fn, const char *arg, int64_t n)
{
    return bad_number(owner, fn, PLI_ERR_COUNT, arg, n, "0 or more");
}

int pli_bad_length(struct pli_obj *owner, const char *fn, const char *arg, int64_t n)
{
    return bad_number(owner, fn, PLI_ERR_ARG, arg, n, "0 or more");
}

int pli_bad_tag(struct pli_obj *owner, const char *fn, const char *arg, int tag)
{
    if (tag == MPI_ANY_TAG) {
        return pli_raise(owner, fn,
                         pli_fail(PLI_ERR_TAG,
                                  "argument %s is MPI_ANY_TAG, which only receives and "
                                  "probes accept: here it must be 0 to %d",
                                  arg, PLI_TAG_UB));
    }
    char valid[64];
    snprintf(valid, sizeof valid, "0 to %d (MPI_TAG_UB)", PLI_TAG_UB);
    return bad_number(owner, fn, PLI_ERR_TAG, arg, tag, valid);
}

int pli_bad_tag_any(struct pli_obj *owner, const char *fn, const char *arg, int tag)
{
    char valid[64];
    snprintf(valid, sizeof valid, "0 to %d (MPI_TAG_UB), or MPI_ANY_TAG", PLI_TAG_UB);
    return bad_number(owner, fn, PLI_ERR_TAG, arg, tag, valid);
}

// The name of a special rank, or its digits.
static const char *say_rank(int rank, char *buf, size_t cap)
{
    switch (rank) {
    case MPI_ANY_SOURCE:
        return "MPI_ANY_SOURCE";
    case MPI_PROC_NULL:
        return "MPI_PROC_NULL";
    case MPI_ROOT:
        return "MPI_ROOT";
    default:
        snprintf(buf, cap, "%d", rank);
        return buf;
    }
}

static int bad_rank(struct pli_obj *owner, const char *fn, enum pli_err err, const char *arg,
                    const struct pli_comm *c, int rank, const char *also)
{
    char digits[16], range[32];
    snprintf(range, sizeof range, c->n_peer > 1 ? ": 0 to %d" : ": 0", c->n_peer - 1);
    return pli_raise(owner, fn,
                     pli_fail(err, "argument %s is %s, but %s has %d rank%s%s%s%s", arg,
                              say_rank(rank, digits, sizeof digits), pli_comm_say(c), c->n_peer,
                              c->n_peer == 1 ? "" : "s", c->is_inter ? " in its remote group" : "",
                              c->n_peer > 0 ? range : "", also));
}

int pli_bad_dest(struct pli_obj *owner, const char *fn, const char *arg, const struct pli_comm *c,
                 int rank)
{
    return bad_rank(owner, fn, PLI_ERR_RANK, arg, c, rank, ", or MPI_PROC_NULL");
}

int pli_bad_source(struct pli_obj *owner, const char *fn, const char *arg, const struct pli_comm *c,
                   int rank)
{
    return bad_rank(owner, fn, PLI_ERR_RANK, arg, c, rank, ", or MPI_ANY_SOURCE or MPI_PROC_NULL");
}

int pli_bad_any_rank(struct pli_obj *owner, const char *fn, const char *arg, int rank)
{
    return bad_number(owner, fn, PLI_ERR_RANK, arg, rank, "0 or more, or MPI_PROC_NULL");
}

int pli_bad_root(struct pli_obj *owner, const char *fn, const char *arg, const struct pli_comm *c,
                 int rank)
{
    return bad_rank(owner, fn, PLI_ERR_ROOT, arg, c, rank,
                    c->is_inter ? ", or MPI_ROOT or MPI_PROC_NULL" : "");
}
