// SPDX-License-Identifier: BSD-3-Clause
// Every reading and writing function is one of three ways to know the place (an offset, the
// individual or the shared pointer), alone or together, at once, later, or in two calls.
#include "io/file_calls.h"

#include "io/file.h"
#include "io/file_access.h"
#include "io/file_async.h"
#include "io/file_coll.h"
#include "io/file_shared.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "obj/comm.h"
#include "obj/status.h"

#include <string.h>

// How the place is known.
enum where { AT, INDIVIDUAL, SHARED, ORDERED };

struct call {
    struct pli_file *f;
    bool is_write;
    enum where where;
    bool is_coll;
    MPI_Offset offset; // AT
    const void *buf;
    MPI_Count count;
    struct pli_datatype *type;
};

static enum pli_err check_place(const struct call *c)
{
    const struct pli_file *f = c->f;
    if (c->where == AT && c->offset < 0) {
        return pli_fail(PLI_ERR_ARG, "argument offset is %lld, but must not be negative",
                        (long long)c->offset);
    }
    return (f->amode & MPI_MODE_SEQUENTIAL) == 0 || c->where == SHARED || c->where == ORDERED
               ? PLI_OK
               : pli_fail(PLI_ERR_UNSUPPORTED,
                          "file %s was opened with MPI_MODE_SEQUENTIAL: only functions with the "
                          "shared pointer can be used",
                          f->name);
}

// Find the place, and move the pointer behind the access. SHARED: known, unless negative, is it.
static enum pli_err find_place(const struct call *c, struct pli_file_access *a, MPI_Offset known,
                               enum pli_err err)
{
    struct pli_file *f = c->f;
    MPI_Offset unit = f->view.unit, at = known;
    MPI_Offset n = err == PLI_OK ? pli_file_view_etypes(&f->view, (MPI_Offset)a->len) : 0;
    switch (c->where) {
    case AT:
        a->pos = err == PLI_OK ? c->offset * unit : 0;
        return err;
    case INDIVIDUAL:
        pthread_mutex_lock(&f->lock);
        a->pos = f->pos;
        f->pos += n * unit;
        pthread_mutex_unlock(&f->lock);
        return err;
    case SHARED:
        a->is_shared = true;
        err = err == PLI_OK && known < 0 ? pli_file_shared_advance(f, n, &at) : err;
        break;
    case ORDERED: { // the others count on this member, whatever is wrong here
        struct pli_fail_saved why;
        pli_fail_save(&why, err);
        enum pli_err order = pli_file_shared_order(f, n, &at);
        err = err != PLI_OK ? pli_fail_repeat(&why) : order;
        break;
    }
    }
    a->pos = at * unit;
    return err;
}

static enum pli_err begin(const struct call *c, struct pli_file_access *a, MPI_Offset known)
{
    enum pli_err err = check_place(c);
    enum pli_err ready = pli_file_access_begin(a, c->f, c->is_write, c->buf, c->count, c->type);
    return find_place(c, a, known, err == PLI_OK ? ready : err);
}

static enum pli_err check_split(const struct call *c)
{
    const struct pli_file *f = c->f;
    return !c->is_coll || f->split.begin == NULL
               ? PLI_OK
               : pli_fail(PLI_ERR_OTHER,
                          "a collective access was begun while %s waits for its end on this file",
                          f->split.begin);
}

// Collectives of one communicator are in order, so those that are under way come first.
static enum pli_err run(const struct call *c, MPI_Status *status)
{
    struct pli_file_access a;
    size_t bytes = 0;
    MPI_Offset at = -1;
    enum pli_err err = check_split(c);
    if (err != PLI_OK) {
        return err;
    }
    if (c->where == SHARED && c->is_write &&
        pli_file_access_line(c->f, c->buf, c->count, c->type, &at, &bytes, &err)) {
        pli_status_set_one(status, MPI_ANY_SOURCE, MPI_ANY_TAG, bytes);
        return err;
    }
    if (c->is_coll) {
        pli_file_async_drain(c->f);
    }
    err = begin(c, &a, at);
    if (c->is_coll) {
        err = pli_file_coll_run(&a, err);
    } else if (err == PLI_OK) {
        err = pli_file_access_run(&a);
    }
    err = pli_file_access_end(&a, err, &bytes);
    pli_status_set_one(status, MPI_ANY_SOURCE, MPI_ANY_TAG, bytes);
    return err;
}

static enum pli_err start(const struct call *c, struct pli_request **out)
{
    struct pli_file_access a;
    enum pli_err err = check_split(c);
    if (err != PLI_OK) {
        return err;
    }
    if (c->where == ORDERED) {
        pli_file_async_drain(c->f); // its order is made by collectives now
    }
    err = begin(c, &a, -1);
    return pli_file_async_start(&a, err, c->is_coll, out);
}

static enum pli_err begin_split(const struct call *c, const char *name)
{
    struct pli_file_split *s = &c->f->split;
    enum pli_err err = check_split(c);
    err = err == PLI_OK ? start(c, &s->request) : err;
    if (err == PLI_OK) {
        s->begin = name;
        s->buf = c->buf;
    }
    return err;
}

static enum pli_err end_split(struct pli_file *f, const char *begin_name, const void *buf,
                              MPI_Status *status)
{
    struct pli_file_split *s = &f->split;
    bool is_gone;
    if (s->begin == NULL || strcmp(s->begin, begin_name) != 0) {
        return pli_fail(PLI_ERR_OTHER, "the end of %s was called, but %s%s", begin_name,
                        s->begin == NULL ? "no split collective is open on this file" : s->begin,
                        s->begin == NULL ? "" : " is open on this file");
    }
    if (buf != s->buf) {
        return pli_fail(PLI_ERR_BUFFER, "argument buf is not the buffer that %s was called with",
                        s->begin);
    }
    struct pli_request *r = s->request;
    *s = (struct pli_file_split){ .begin = NULL };
    pli_progress_wait(r);
    enum pli_err err = pli_request_report(r, status, &is_gone);
    // Of several clients of an IMPI job each member has done its part by itself.
    return f->comm->is_span ? pli_file_agree(f, err) : err;
}

#define CALL(is_write, where, is_coll, offset)                                                     \
    &(struct call)                                                                                 \
    {                                                                                              \
        f, is_write, where, is_coll, offset, buf, count, type                                      \
    }

#define DEFINE_ALL(way, WRITES, buffer)                                                            \
    PLI_FILE_CALL(way, buffer, PLI_FILE_DATA(buffer), MPI_Status *status)                          \
    {                                                                                              \
        return run(CALL(WRITES, INDIVIDUAL, false, 0), status);                                    \
    }                                                                                              \
    PLI_FILE_CALL(way##_all, buffer, PLI_FILE_DATA(buffer), MPI_Status *status)                    \
    {                                                                                              \
        return run(CALL(WRITES, INDIVIDUAL, true, 0), status);                                     \
    }                                                                                              \
    PLI_FILE_CALL(way##_at, buffer, MPI_Offset offset, PLI_FILE_DATA(buffer), MPI_Status *status)  \
    {                                                                                              \
        return run(CALL(WRITES, AT, false, offset), status);                                       \
    }                                                                                              \
    PLI_FILE_CALL(way##_at_all, buffer, MPI_Offset offset, PLI_FILE_DATA(buffer),                  \
                  MPI_Status *status)                                                              \
    {                                                                                              \
        return run(CALL(WRITES, AT, true, offset), status);                                        \
    }                                                                                              \
    PLI_FILE_CALL(way##_shared, buffer, PLI_FILE_DATA(buffer), MPI_Status *status)                 \
    {                                                                                              \
        return run(CALL(WRITES, SHARED, false, 0), status);                                        \
    }                                                                                              \
    PLI_FILE_CALL(way##_ordered, buffer, PLI_FILE_DATA(buffer), MPI_Status *status)                \
    {                                                                                              \
        return run(CALL(WRITES, ORDERED, true, 0), status);                                        \
    }                                                                                              \
    PLI_FILE_CALL(i##way, buffer, PLI_FILE_DATA(buffer), struct pli_request **out)                 \
    {                                                                                              \
        return start(CALL(WRITES, INDIVIDUAL, false, 0), out);                                     \
    }                                                                                              \
    PLI_FILE_CALL(i##way##_all, buffer, PLI_FILE_DATA(buffer), struct pli_request **out)           \
    {                                                                                              \
        return start(CALL(WRITES, INDIVIDUAL, true, 0), out);                                      \
    }                                                                                              \
    PLI_FILE_CALL(i##way##_at, buffer, MPI_Offset offset, PLI_FILE_DATA(buffer),                   \
                  struct pli_request **out)                                                        \
    {                                                                                              \
        return start(CALL(WRITES, AT, false, offset), out);                                        \
    }                                                                                              \
    PLI_FILE_CALL(i##way##_at_all, buffer, MPI_Offset offset, PLI_FILE_DATA(buffer),               \
                  struct pli_request **out)                                                        \
    {                                                                                              \
        return start(CALL(WRITES, AT, true, offset), out);                                         \
    }                                                                                              \
    PLI_FILE_CALL(i##way##_shared, buffer, PLI_FILE_DATA(buffer), struct pli_request **out)        \
    {                                                                                              \
        return start(CALL(WRITES, SHARED, false, 0), out);                                         \
    }                                                                                              \
    PLI_FILE_CALL(way##_all_begin, buffer, PLI_FILE_DATA(buffer))                                  \
    {                                                                                              \
        return begin_split(CALL(WRITES, INDIVIDUAL, true, 0), "MPI_File_" #way "_all_begin");      \
    }                                                                                              \
    PLI_FILE_CALL(way##_at_all_begin, buffer, MPI_Offset offset, PLI_FILE_DATA(buffer))            \
    {                                                                                              \
        return begin_split(CALL(WRITES, AT, true, offset), "MPI_File_" #way "_at_all_begin");      \
    }                                                                                              \
    PLI_FILE_CALL(way##_ordered_begin, buffer, PLI_FILE_DATA(buffer))                              \
    {                                                                                              \
        return begin_split(CALL(WRITES, ORDERED, true, 0), "MPI_File_" #way "_ordered_begin");     \
    }                                                                                              \
    PLI_FILE_CALL(way##_all_end, buffer, buffer *buf, MPI_Status *status)                          \
    {                                                                                              \
        return end_split(f, "MPI_File_" #way "_all_begin", buf, status);                           \
    }                                                                                              \
    PLI_FILE_CALL(way##_at_all_end, buffer, buffer *buf, MPI_Status *status)                       \
    {                                                                                              \
        return end_split(f, "MPI_File_" #way "_at_all_begin", buf, status);                        \
    }                                                                                              \
    PLI_FILE_CALL(way##_ordered_end, buffer, buffer *buf, MPI_Status *status)                      \
    {                                                                                              \
        return end_split(f, "MPI_File_" #way "_ordered_begin", buf, status);                       \
    }

DEFINE_ALL(read, false, void)
DEFINE_ALL(write, true, const void)
