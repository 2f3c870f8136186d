// SPDX-License-Identifier: BSD-3-Clause
// MPI's collectives as the program calls them: blocking, nonblocking and persistent. On a native
// communicator the native library does them, the blocking ones in their nonblocking form, since
// what is under way of ours must not stand still meanwhile.
#include "shim/shim_coll.h"
#include "shim/shim_plan.h"
#include "shim/shim_task.h"
#include <stdlib.h>

// In the nonblocking form in any case: it does not match the blocking one, and whether something of
// ours is under way is not the same in all processes.
static int wait_native(MPI_Request *req, int rc)
{
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    return pli_shim_req_is_busy() ? pli_shim_req_wait_native(req, MPI_STATUS_IGNORE)
                                  : PLI_SHIM_OUTSIDE(PMPI_Wait(req, MPI_STATUS_IGNORE));
}

// m(x) for each argument, with commas between.
#define EACH_1(m, x) m(x)
#define EACH_2(m, x, ...) m(x), EACH_1(m, __VA_ARGS__)
#define EACH_3(m, x, ...) m(x), EACH_2(m, __VA_ARGS__)
#define EACH_4(m, x, ...) m(x), EACH_3(m, __VA_ARGS__)
#define EACH_5(m, x, ...) m(x), EACH_4(m, __VA_ARGS__)
#define EACH_6(m, x, ...) m(x), EACH_5(m, __VA_ARGS__)
#define EACH_7(m, x, ...) m(x), EACH_6(m, __VA_ARGS__)
#define EACH_8(m, x, ...) m(x), EACH_7(m, __VA_ARGS__)
#define NINTH(a, b, c, d, e, f, g, h, i, ...) i
#define EACH_OF(m, ...)                                                                            \
    NINTH(__VA_ARGS__, EACH_8, EACH_7, EACH_6, EACH_5, EACH_4, EACH_3, EACH_2, EACH_1, )           \
    (m, __VA_ARGS__)
#define EACH(m, args) EACH_OF(m, PLI_SHIM_BARE args)
// Each argument as it is kept while the operation is under way: lists with a word on their form.
#define STORE(x) .x = KEEP_##x(x)
#define KEEP_buf(x) x
#define KEEP_sendbuf(x) x
#define KEEP_recvbuf(x) x
#define KEEP_count(x) x
#define KEEP_sendcount(x) x
#define KEEP_recvcount(x) x
#define KEEP_type(x) x
#define KEEP_sendtype(x) x
#define KEEP_recvtype(x) x
#define KEEP_sendtypes(x) x
#define KEEP_recvtypes(x) x
#define KEEP_sbytes(x) x
#define KEEP_rbytes(x) x
#define KEEP_op(x) x
#define KEEP_root(x) x
#define KEEP_counts(x) LIST(x)
#define KEEP_sendcounts(x) LIST(x)
#define KEEP_recvcounts(x) LIST(x)
#define KEEP_displs(x) LIST_AT(x)
#define KEEP_sdispls(x) LIST_AT(x)
#define KEEP_rdispls(x) LIST_AT(x)
#define LOAD(x) a->x

static int begin(MPI_Comm comm, struct shim_span *s, const char *refusal, pli_shim_task_fn fn,
                 const struct shim_coll_args *args, MPI_Request *request)
{
    struct shim_coll_args *a = malloc(sizeof *a);
    if (a == NULL) {
        return pli_shim_end(comm, MPI_ERR_NO_MEM);
    }
    *a = *args;
    return pli_shim_end(comm, pli_shim_task_run(s, refusal, fn, a, request));
}

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT 1
static int prepare(MPI_Comm comm, struct shim_span *s, const char *refusal, pli_shim_task_fn fn,
                   const struct shim_coll_args *args, MPI_Request *request)
{
    struct shim_coll_args *a = malloc(sizeof *a);
    struct shim_req *r;
    if (a == NULL) {
        return pli_shim_end(comm, MPI_ERR_NO_MEM);
    }
    *a = *args;
    int rc = pli_shim_task_create(s, refusal, fn, a, true, &r);
    return pli_shim_end(comm, rc == MPI_SUCCESS ? pli_shim_req_show(r, request) : rc);
}
#endif

// The other ranks learn by what they receive that a number did not fit, but not those that would
// have had it from this process by a native collective. With an error handler that returns they
// would wait for ever.
static int all_know(int rc)
{
    if (rc != MPI_SUCCESS && (rc == pli_shim.misfit || rc == pli_shim.other_length)) {
        pli_shim_die(rc == pli_shim.misfit
                         ? "a number in a collective does not fit external32, in which a long has "
                           "4 bytes and a wchar_t 2; ranks that wait for it cannot be told, so "
                           "the job ends"
                         : "another MPI's part of a collective has another length than ours: its "
                           "count is another, or a number did not fit external32; ranks that wait "
                           "for it cannot be told, so the job ends");
    }
    return rc;
}

static int run_barrier(struct shim_span *s, void *arg)
{
    (void)arg;
    return s->inter != NULL ? pli_shim_across_barrier(s) : pli_shim_plan_barrier(s);
}

PLI_SHIM_API int MPI_Barrier(MPI_Comm comm)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    MPI_Request req;
    if (s != NULL) {
        return pli_shim_end(comm, run_barrier(s, NULL));
    }
    return pli_shim.is_on ? wait_native(&req, PMPI_Ibarrier(comm, &req)) : PMPI_Barrier(comm);
}

PLI_SHIM_API int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    return s == NULL ? PMPI_Ibarrier(comm, request)
                     : pli_shim_end(comm, pli_shim_task_run(s, PLI_SHIM_LATER("MPI_Ibarrier"),
                                                            run_barrier, NULL, request));
}

#ifdef HAS_PERSISTENT
PLI_SHIM_API int MPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    struct shim_coll_args none = { 0 };
    return s == NULL
               ? PMPI_Barrier_init(comm, info, request)
               : prepare(comm, s, PLI_SHIM_LATER("MPI_Barrier_init"), run_barrier, &none, request);
}
#endif

#define COLL(name, small, params, args)                                                            \
    static int run_##small(struct shim_span *s, void *arg)                                         \
    {                                                                                              \
        const struct shim_coll_args *a = arg;                                                      \
        return all_know(s->inter != NULL ? pli_shim_across_##small(s, EACH(LOAD, args))            \
                                         : pli_shim_coll_##small(s, EACH(LOAD, args)));            \
    }
#define NEIGHBOR(name, small, params, args)                                                        \
    static int run_##small(struct shim_span *s, void *arg)                                         \
    {                                                                                              \
        const struct shim_coll_args *a = arg;                                                      \
        return pli_shim_coll_##small(s, EACH(LOAD, args));                                         \
    }
#include "shim/shim_coll.def"
#undef COLL

#define COUNT int
#define COUNTS(name) const int name[]
#define PLACES(name) const int name[]
#define LIST(x) PLI_SHIM_LIST_NARROW(x)
#define LIST_AT(x) PLI_SHIM_LIST_NARROW(x)
#define FORM(name) name
#include "shim/shim_entry.def"
#if MPI_VERSION >= 4
#undef COUNT
#undef COUNTS
#undef PLACES
#undef LIST
#undef LIST_AT
#undef FORM
#define COUNT MPI_Count
#define COUNTS(name) const MPI_Count name[]
#define PLACES(name) const MPI_Aint name[]
#define LIST(x) PLI_SHIM_LIST_WIDE(x)
#define LIST_AT(x) PLI_SHIM_LIST_PLACES(x)
#define FORM(name) name##_c
#include "shim/shim_entry.def"
#endif
