// SPDX-License-Identifier: BSD-3-Clause
// Keeps the shared file pointer in a window of one word: on one host a change is one atomic
// instruction, and no lock file is needed anywhere.
#include "io/file_shared.h"

#include "coll/coll.h"
#include "io/file.h"
#include "io/file_async.h"
#include "io/file_seek.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/op.h"
#include "rma/passive.h"
#include "rma/rma_update.h"
#include "rma/win.h"
#include "rma/win_alloc.h"
#include "rma/win_free.h"

#include <string.h>

static struct pli_datatype *offset_type(void)
{
    return pli_handle_get(MPI_OFFSET, PLI_KIND_DATATYPE);
}

static struct pli_op *op(MPI_Op which)
{
    return pli_handle_get(which, PLI_KIND_OP);
}

enum pli_err pli_file_shared_create(struct pli_file *f, struct pli_comm *comm)
{
    void *base = NULL;
    MPI_Aint size = comm->rank == 0 ? (MPI_Aint)sizeof(MPI_Offset) : 0;
    enum pli_err err = pli_win_alloc(size, 1, NULL, comm, &base, &f->pointer);
    if (err != PLI_OK) {
        return err;
    }
    f->comm = f->pointer->comm;
    if (f->comm->rank == 0) {
        memset(base, 0, sizeof(MPI_Offset));
    }
    err = pli_passive_lock_all(MPI_MODE_NOCHECK, f->pointer);
    return err == PLI_OK ? pli_coll_barrier(f->comm) : err;
}

void pli_file_shared_drop(struct pli_file *f)
{
    pli_win_free_local(f->pointer);
    f->pointer = NULL;
    f->comm = NULL;
}

void pli_file_shared_destroy(struct pli_file *f)
{
    if (f->pointer != NULL) {
        pli_passive_unlock_all(f->pointer);
        pli_win_free(f->pointer);
    }
    f->pointer = NULL;
    f->comm = NULL;
}

static enum pli_err change(struct pli_file *f, MPI_Offset n, MPI_Op which, MPI_Offset *before_out)
{
    enum pli_err err =
        pli_rma_update_fetch(&n, before_out, offset_type(), 0, 0, op(which), f->pointer);
    return err == PLI_OK ? pli_passive_flush(0, f->pointer) : err;
}

enum pli_err pli_file_shared_advance(struct pli_file *f, MPI_Offset n, MPI_Offset *before_out)
{
    return change(f, n, n == 0 ? MPI_NO_OP : MPI_SUM, before_out);
}

enum pli_err pli_file_shared_order(struct pli_file *f, MPI_Offset n, MPI_Offset *before_out)
{
    struct pli_datatype *type = offset_type();
    MPI_Offset end = 0, now = 0;
    enum pli_err err = pli_coll_scan(&n, &end, 1, type, op(MPI_SUM), f->comm);
    // The last one knows the sum.
    int last = f->comm->size - 1;
    if (err == PLI_OK && f->comm->rank == last) {
        err = pli_file_shared_advance(f, end, &now);
    }
    enum pli_err bcast = pli_coll_bcast(&now, 1, type, last, f->comm);
    *before_out = now + end - n;
    return err == PLI_OK ? bcast : err;
}

static enum pli_err put(struct pli_file *f, MPI_Offset to)
{
    MPI_Offset was;
    enum pli_err err = pli_coll_barrier(f->comm); // nobody uses it as it was
    if (err == PLI_OK && f->comm->rank == 0) {
        err = change(f, to, MPI_REPLACE, &was);
    }
    enum pli_err meet = pli_coll_barrier(f->comm);
    return err == PLI_OK ? meet : err;
}

enum pli_err pli_file_shared_reset(struct pli_file *f)
{
    return put(f, 0);
}

enum pli_err pli_file_shared_position(struct pli_file *f, MPI_Offset *out)
{
    return pli_file_shared_advance(f, 0, out);
}

enum pli_err pli_file_shared_offset(struct pli_file *f, MPI_Offset *out)
{
    MPI_Offset at = 0;
    enum pli_err err = f->comm->rank == 0 ? pli_file_shared_position(f, &at) : PLI_OK;
    enum pli_err bcast = pli_coll_bcast(&at, 1, offset_type(), 0, f->comm);
    *out = pli_file_view_offset(&f->view, at * f->view.unit);
    return err == PLI_OK ? bcast : err;
}

enum pli_err pli_file_shared_seek(struct pli_file *f, MPI_Offset offset, int whence)
{
    MPI_Offset mine[2] = { offset, whence }, first[2] = { offset, whence }, now = 0, to = 0;
    enum pli_err err = pli_file_async_settle(f, "MPI_File_seek_shared");
    if (err == PLI_OK && (f->amode & MPI_MODE_SEQUENTIAL) != 0) {
        err = pli_fail(PLI_ERR_UNSUPPORTED,
                       "the file was opened with MPI_MODE_SEQUENTIAL: its pointer cannot be moved");
    }
    enum pli_err bcast = pli_coll_bcast(first, 2, offset_type(), 0, f->comm);
    err = err == PLI_OK ? bcast : err;
    if (err == PLI_OK && memcmp(mine, first, sizeof mine) != 0) {
        err = pli_fail(PLI_ERR_NOT_SAME, "offset or whence differ from those of rank 0");
    }
    err = err == PLI_OK ? pli_file_shared_position(f, &now) : err;
    err = err == PLI_OK ? pli_file_seek_to(f, offset, whence, now, &to) : err;
    err = pli_file_agree(f, err);
    return err == PLI_OK ? put(f, to) : err;
}
