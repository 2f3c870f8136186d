// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing of files that span clients, by the native library, in atomic mode under a
// lock. Collective accesses are done by each process alone; the
// blocking and the split ones end with an agreement, so that all have the same error. Nonblocking
// ones have none: each request tells of its own access.
#include "shim/shim_coll.h"
#include "shim/shim_file.h"
#include "shim/shim_req.h"

// Etypes in an access.
static int etypes(const struct shim_file *f, MPI_Count count, MPI_Datatype type, int64_t *out)
{
    MPI_Count size = 0, bytes = 0;
    int rc = count < 0 ? MPI_ERR_COUNT : PMPI_Type_size_x(type, &size);
    if (rc == MPI_SUCCESS && __builtin_mul_overflow(size, count, &bytes)) {
        rc = MPI_ERR_COUNT;
    }
    *out = rc == MPI_SUCCESS ? bytes / f->unit : 0;
    return rc;
}

static int check_offset(const struct shim_file *f, MPI_Offset offset)
{
    return offset < 0 ? pli_shim_fail(MPI_ERR_ARG, "the offset of an access is negative")
                      : pli_shim_file_check_split(f);
}

static int place_shared(struct shim_file *f, MPI_Count count, MPI_Datatype type, MPI_Offset *out)
{
    int64_t n, at = 0;
    int rc = etypes(f, count, type, &n);
    rc = rc == MPI_SUCCESS ? pli_shim_file_advance(f, n, &at) : rc;
    *out = at;
    return rc;
}

// By rank; the others count on this member, whatever is wrong here. The last one knows the sum.
static int place_ordered(struct shim_file *f, MPI_Count count, MPI_Datatype type, MPI_Offset *out)
{
    int64_t n, sum = 0, now = 0;
    int last = f->span->size - 1;
    int rc = etypes(f, count, type, &n);
    int met = pli_shim_coll_scan(f->span, &n, &sum, 1, MPI_INT64_T, MPI_SUM);
    if (met == MPI_SUCCESS && f->span->rank == last) {
        met = pli_shim_file_advance(f, sum, &now);
    }
    int told = pli_shim_coll_bcast(f->span, &now, 1, MPI_INT64_T, last);
    *out = now + sum - n;
    return rc != MPI_SUCCESS ? rc : met != MPI_SUCCESS ? met : told;
}

// A collective access of this member is over, rc being native if it was tried.
static int settle(struct shim_file *f, int rc, bool is_tried)
{
    return pli_shim_file_end(f, pli_shim_file_agree(f, rc), is_tried && rc != MPI_SUCCESS);
}

// The first half of a split collective: all of the access, but for its outcome.
static int begin(struct shim_file *f, const char *name, const void *buf, int rc, bool is_tried)
{
    f->begin = name;
    f->buf = buf;
    f->rc = rc;
    f->is_told = is_tried && rc != MPI_SUCCESS;
    return MPI_SUCCESS;
}

static int end_split(struct shim_file *f, const char *name, const void *buf, MPI_Status *status)
{
    if (f->begin != name) {
        return pli_shim_file_end(
            f, pli_shim_fail(MPI_ERR_OTHER, "the end of a split collective that was not begun"),
            false);
    }
    if (f->buf != buf) {
        return pli_shim_file_end(f,
                                 pli_shim_fail(MPI_ERR_BUFFER, "a split collective ends with "
                                                               "another buffer than it began with"),
                                 false);
    }
    f->begin = NULL;
    pli_shim_req_copy(status, &f->status);
    return settle(f, f->rc, f->is_told);
}

static const char *const begun[] = { "read_all",  "read_at_all",  "read_ordered",
                                     "write_all", "write_at_all", "write_ordered" };
enum { READ_ALL, READ_AT_ALL, READ_ORDERED, WRITE_ALL, WRITE_AT_ALL, WRITE_ORDERED };
enum { READ_IS_WRITE = false, WRITE_IS_WRITE = true };

// The file `f`; a file of the native library has `call`.
#define FIND(call)                                                                                 \
    PLI_SHIM_ENTER;                                                                                \
    struct shim_file *f = pli_shim_file_find(fh);                                                  \
    if (f == NULL) {                                                                               \
        return PLI_SHIM_OUTSIDE(call);                                                             \
    }

// An access of the native library at `at` of the view, or the individual pointer (-1).
#define DONE(is_write, at, call)                                                                   \
    PLI_SHIM_OUTSIDE(({                                                                            \
        struct shim_range range_;                                                                  \
        int done_ = pli_shim_file_lock_take(f, is_write, at, count, type, &range_);                \
        if (done_ == MPI_SUCCESS) {                                                                \
            done_ = (call);                                                                        \
            pli_shim_file_lock_drop(f, &range_);                                                   \
        }                                                                                          \
        done_;                                                                                     \
    }))
// One that has a request: `call`. In atomic mode it is over before the lock is given back, so it is
// `now` that is done, with the status `over`.
#define BEGUN(is_write, at, call, now)                                                             \
    ({                                                                                             \
        MPI_Status over;                                                                           \
        int begun_ = f->is_atomic ? DONE(is_write, at, now) : PLI_SHIM_OUTSIDE(call);              \
        begun_ == MPI_SUCCESS && f->is_atomic ? pli_shim_file_lock_show(&over, request) : begun_;  \
    })

#define ACCESS(way, WAY, buffer, suffix, count_t)                                                  \
    PLI_SHIM_API int MPI_File_##way##suffix(MPI_File fh, buffer *buf, count_t count,               \
                                            MPI_Datatype type, MPI_Status *status)                 \
    {                                                                                              \
        FIND(PMPI_File_##way##suffix(fh, buf, count, type, status))                                \
        return DONE(WAY##_IS_WRITE, -1, PMPI_File_##way##suffix(fh, buf, count, type, status));    \
    }                                                                                              \
    PLI_SHIM_API int MPI_File_##way##_at##suffix(MPI_File fh, MPI_Offset offset, buffer *buf,      \
                                                 count_t count, MPI_Datatype type,                 \
                                                 MPI_Status *status)                               \
    {                                                                                              \
        FIND(PMPI_File_##way##_at##suffix(fh, offset, buf, count, type, status))                   \
        return DONE(WAY##_IS_WRITE, offset,                                                        \
                    PMPI_File_##way##_at##suffix(fh, offset, buf, count, type, status));           \
    }                                                                                              \
    PLI_SHIM_API int MPI_File_i##way##suffix(MPI_File fh, buffer *buf, count_t count,              \
                                             MPI_Datatype type, MPI_Request *request)              \
    {                                                                                              \
        FIND(PMPI_File_i##way##suffix(fh, buf, count, type, request))                              \
        return BEGUN(WAY##_IS_WRITE, -1, PMPI_File_i##way##suffix(fh, buf, count, type, request),  \
                     PMPI_File_##way##suffix(fh, buf, count, type, &over));                        \
    }                                                                                              \
    PLI_SHIM_API int MPI_File_i##way##_at##suffix(MPI_File fh, MPI_Offset offset, buffer *buf,     \
                                                  count_t count, MPI_Datatype type,                \
                                                  MPI_Request *request)                            \
    {                                                                                              \
        FIND(PMPI_File_i##way##_at##suffix(fh, offset, buf, count, type, request))                 \
        return BEGUN(WAY##_IS_WRITE, offset,                                                       \
                     PMPI_File_i##way##_at##suffix(fh, offset, buf, count, type, request),         \
                     PMPI_File_##way##_at##suffix(fh, offset, buf, count, type, &over));           \
    }                                                                                              \
    PLI_SHIM_API int MPI_File_##way##_all##suffix(MPI_File fh, buffer *buf, count_t count,         \
                                                  MPI_Datatype type, MPI_Status *status)           \
    {                                                                                              \
        FIND(PMPI_File_##way##_all##suffix(fh, buf, count, type, status))                          \
        int rc = pli_shim_file_check_split(f), ready = rc;                                         \
        if (rc == MPI_SUCCESS) {                                                                   \
            rc = DONE(WAY##_IS_WRITE, -1, PMPI_File_##way##suffix(fh, buf, count, type, status));  \
        }                                                                                          \
        return settle(f, rc, ready == MPI_SUCCESS);                                                \
    }                                                                                              \
    PLI_SHIM_API int MPI_File_##way##_at_all##suffix(MPI_File fh, MPI_Offset offset, buffer *buf,  \
                                                     count_t count, MPI_Datatype type,             \
                                                     MPI_Status *status)                           \
    {                                                                                              \
        FIND(PMPI_File_##way##_at_all##suffix(fh, offset, buf, count, type, status))               \
        int rc = check_offset(f, offset), ready = rc;                                              \
        if (rc == MPI_SUCCESS) {                                                                   \
            rc = DONE(WAY##_IS_WRITE, offset,                                                      \
                      PMPI_File_##way##_at##suffix(fh, offset, buf, count, type, status));         \
        }                                                                                          \
        return settle(f, rc, ready == MPI_SUCCESS);                                                \
    }                                                                                              \
    PLI_SHIM_API int MPI_File_##way##_shared##suffix(MPI_File fh, buffer *buf, count_t count,      \
                                                     MPI_Datatype type, MPI_Status *status)        \
    {                                                                                              \
        FIND(PMPI_File_##way##_shared##suffix(fh, buf, count, type, status))                       \
        MPI_Offset at;                                                                             \
        int rc = place_shared(f, count, type, &at);                                                \
        return rc != MPI_SUCCESS                                                                   \
                   ? pli_shim_file_end(f, rc, false)                                               \
                   : DONE(WAY##_IS_WRITE, at,                                                      \
                          PMPI_File_##way##_at##suffix(fh, at, buf, count, type, status));         \
    }                                                                                              \
    PLI_SHIM_API int MPI_File_##way##_ordered##suffix(MPI_File fh, buffer *buf, count_t count,     \
                                                      MPI_Datatype type, MPI_Status *status)       \
    {                                                                                              \
        FIND(PMPI_File_##way##_ordered##suffix(fh, buf, count, type, status))                      \
        MPI_Offset at;                                                                             \
        int rc = place_ordered(f, count, type, &at), ready = rc;                                   \
        if (rc == MPI_SUCCESS) {                                                                   \
            rc = DONE(WAY##_IS_WRITE, at,                                                          \
                      PMPI_File_##way##_at##suffix(fh, at, buf, count, type, status));             \
        }                                                                                          \
        return settle(f, rc, ready == MPI_SUCCESS);                                                \
    }                                                                                              \
    PLI_SHIM_API int MPI_File_i##way##_all##suffix(MPI_File fh, buffer *buf, count_t count,        \
                                                   MPI_Datatype type, MPI_Request *request)        \
    {                                                                                              \
        FIND(PMPI_File_i##way##_all##suffix(fh, buf, count, type, request))                        \
        return BEGUN(WAY##_IS_WRITE, -1, PMPI_File_i##way##suffix(fh, buf, count, type, request),  \
                     PMPI_File_##way##suffix(fh, buf, count, type, &over));                        \
    }                                                                                              \
    PLI_SHIM_API int MPI_File_i##way##_at_all##suffix(MPI_File fh, MPI_Offset offset, buffer *buf, \
                                                      count_t count, MPI_Datatype type,            \
                                                      MPI_Request *request)                        \
    {                                                                                              \
        FIND(PMPI_File_i##way##_at_all##suffix(fh, offset, buf, count, type, request))             \
        return BEGUN(WAY##_IS_WRITE, offset,                                                       \
                     PMPI_File_i##way##_at##suffix(fh, offset, buf, count, type, request),         \
                     PMPI_File_##way##_at##suffix(fh, offset, buf, count, type, &over));           \
    }                                                                                              \
    PLI_SHIM_API int MPI_File_i##way##_shared##suffix(MPI_File fh, buffer *buf, count_t count,     \
                                                      MPI_Datatype type, MPI_Request *request)     \
    {                                                                                              \
        FIND(PMPI_File_i##way##_shared##suffix(fh, buf, count, type, request))                     \
        MPI_Offset at;                                                                             \
        int rc = place_shared(f, count, type, &at);                                                \
        return rc != MPI_SUCCESS                                                                   \
                   ? pli_shim_file_end(f, rc, false)                                               \
                   : BEGUN(WAY##_IS_WRITE, at,                                                     \
                           PMPI_File_i##way##_at##suffix(fh, at, buf, count, type, request),       \
                           PMPI_File_##way##_at##suffix(fh, at, buf, count, type, &over));         \
    }                                                                                              \
    PLI_SHIM_API int MPI_File_##way##_all_begin##suffix(MPI_File fh, buffer *buf, count_t count,   \
                                                        MPI_Datatype type)                         \
    {                                                                                              \
        FIND(PMPI_File_##way##_all_begin##suffix(fh, buf, count, type))                            \
        int rc = pli_shim_file_check_split(f);                                                     \
        return rc != MPI_SUCCESS                                                                   \
                   ? pli_shim_file_end(f, rc, false)                                               \
                   : begin(f, begun[WAY##_ALL], buf,                                               \
                           DONE(WAY##_IS_WRITE, -1,                                                \
                                PMPI_File_##way##suffix(fh, buf, count, type, &f->status)),        \
                           true);                                                                  \
    }                                                                                              \
    PLI_SHIM_API int MPI_File_##way##_at_all_begin##suffix(                                        \
        MPI_File fh, MPI_Offset offset, buffer *buf, count_t count, MPI_Datatype type)             \
    {                                                                                              \
        FIND(PMPI_File_##way##_at_all_begin##suffix(fh, offset, buf, count, type))                 \
        int rc = pli_shim_file_check_split(f);                                                     \
        if (rc != MPI_SUCCESS) {                                                                   \
            return pli_shim_file_end(f, rc, false);                                                \
        }                                                                                          \
        rc = check_offset(f, offset);                                                              \
        bool is_right = rc == MPI_SUCCESS;                                                         \
        if (is_right) {                                                                            \
            rc = DONE(WAY##_IS_WRITE, offset,                                                      \
                      PMPI_File_##way##_at##suffix(fh, offset, buf, count, type, &f->status));     \
        }                                                                                          \
        return begin(f, begun[WAY##_AT_ALL], buf, rc, is_right);                                   \
    }                                                                                              \
    PLI_SHIM_API int MPI_File_##way##_ordered_begin##suffix(MPI_File fh, buffer *buf,              \
                                                            count_t count, MPI_Datatype type)      \
    {                                                                                              \
        FIND(PMPI_File_##way##_ordered_begin##suffix(fh, buf, count, type))                        \
        MPI_Offset at;                                                                             \
        int rc = pli_shim_file_check_split(f);                                                     \
        if (rc != MPI_SUCCESS) {                                                                   \
            return pli_shim_file_end(f, rc, false);                                                \
        }                                                                                          \
        rc = place_ordered(f, count, type, &at);                                                   \
        bool is_placed = rc == MPI_SUCCESS;                                                        \
        if (is_placed) {                                                                           \
            rc = DONE(WAY##_IS_WRITE, at,                                                          \
                      PMPI_File_##way##_at##suffix(fh, at, buf, count, type, &f->status));         \
        }                                                                                          \
        return begin(f, begun[WAY##_ORDERED], buf, rc, is_placed);                                 \
    }
ACCESS(read, READ, void, , int)
ACCESS(write, WRITE, const void, , int)
#if MPI_VERSION >= 4
ACCESS(read, READ, void, _c, MPI_Count)
ACCESS(write, WRITE, const void, _c, MPI_Count)
#endif

#define END(way, WAY, buffer)                                                                      \
    PLI_SHIM_API int MPI_File_##way##_all_end(MPI_File fh, buffer *buf, MPI_Status *status)        \
    {                                                                                              \
        FIND(PMPI_File_##way##_all_end(fh, buf, status))                                           \
        return end_split(f, begun[WAY##_ALL], buf, status);                                        \
    }                                                                                              \
    PLI_SHIM_API int MPI_File_##way##_at_all_end(MPI_File fh, buffer *buf, MPI_Status *status)     \
    {                                                                                              \
        FIND(PMPI_File_##way##_at_all_end(fh, buf, status))                                        \
        return end_split(f, begun[WAY##_AT_ALL], buf, status);                                     \
    }                                                                                              \
    PLI_SHIM_API int MPI_File_##way##_ordered_end(MPI_File fh, buffer *buf, MPI_Status *status)    \
    {                                                                                              \
        FIND(PMPI_File_##way##_ordered_end(fh, buf, status))                                       \
        return end_split(f, begun[WAY##_ORDERED], buf, status);                                    \
    }
END(read, READ, void)
END(write, WRITE, const void)
