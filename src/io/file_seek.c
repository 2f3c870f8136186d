// SPDX-License-Identifier: BSD-3-Clause
// Moves the individual file pointer, and finds places of the view in the file.
#include "io/file_seek.h"

#include "io/file.h"
#include "io/file_query.h"
#include "io/file_wire.h"

static enum pli_err check_offset(MPI_Offset offset)
{
    return offset >= 0 ? PLI_OK
                       : pli_fail(PLI_ERR_ARG, "argument offset is %lld, but must not be negative",
                                  (long long)offset);
}

enum pli_err pli_file_get_byte_offset(struct pli_file *f, MPI_Offset offset, MPI_Offset *out)
{
    enum pli_err err = check_offset(offset);
    if (err == PLI_OK) {
        *out = pli_file_view_offset(&f->view, offset * f->view.unit);
    }
    return err;
}

enum pli_err pli_file_get_position(struct pli_file *f, MPI_Offset *out)
{
    if ((f->amode & MPI_MODE_SEQUENTIAL) != 0) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "file %s was opened with MPI_MODE_SEQUENTIAL and has no individual pointer",
                        f->name);
    }
    pthread_mutex_lock(&f->lock);
    *out = f->pos / f->view.unit;
    pthread_mutex_unlock(&f->lock);
    return PLI_OK;
}

// The end of the file in etypes of the view: the first one that begins at the end or behind it.
static enum pli_err end_of(struct pli_file *f, MPI_Offset *out)
{
    MPI_Offset size, unit = f->view.unit;
    enum pli_err err = pli_file_get_size(f, &size);
    if (err == PLI_OK) {
        *out = (pli_file_view_before(&f->view, size) + unit - 1) / unit;
    }
    return err;
}

enum pli_err pli_file_seek_to(struct pli_file *f, MPI_Offset offset, int whence, MPI_Offset now,
                              MPI_Offset *out)
{
    MPI_Offset from = now;
    enum pli_err err = PLI_OK;
    if (whence == MPI_SEEK_SET) {
        from = 0;
    } else if (whence == MPI_SEEK_END) {
        err = end_of(f, &from);
    } else if (whence != MPI_SEEK_CUR) {
        return pli_fail(PLI_ERR_ARG,
                        "argument whence is %d, but must be MPI_SEEK_SET, "
                        "MPI_SEEK_CUR or MPI_SEEK_END",
                        whence);
    }
    if (err != PLI_OK) {
        return err;
    }
    *out = from + offset;
    return *out >= 0 ? PLI_OK
                     : pli_fail(PLI_ERR_ARG,
                                "argument offset is %lld, which leads before the beginning of the "
                                "view",
                                (long long)offset);
}

int pli_file_seek_number(int whence)
{
    return whence == MPI_SEEK_SET   ? PLI_FILE_WIRE_SET
           : whence == MPI_SEEK_CUR ? PLI_FILE_WIRE_CUR
           : whence == MPI_SEEK_END ? PLI_FILE_WIRE_END
                                    : -1;
}

enum pli_err pli_file_seek(struct pli_file *f, MPI_Offset offset, int whence)
{
    if ((f->amode & MPI_MODE_SEQUENTIAL) != 0) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "file %s was opened with MPI_MODE_SEQUENTIAL: its pointer cannot be moved",
                        f->name);
    }
    pthread_mutex_lock(&f->lock);
    MPI_Offset to;
    enum pli_err err = pli_file_seek_to(f, offset, whence, f->pos / f->view.unit, &to);
    if (err == PLI_OK) {
        f->pos = to * f->view.unit;
    }
    pthread_mutex_unlock(&f->lock);
    return err;
}
