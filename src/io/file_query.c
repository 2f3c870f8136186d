// SPDX-License-Identifier: BSD-3-Clause
// Answers questions about files and changes what is not their data: size, atomic mode, disk.
#include "io/file_query.h"

#include "coll/coll.h"
#include "io/file.h"
#include "io/file_access.h"
#include "io/file_async.h"
#include "io/file_datarep.h"
#include "io/file_range.h"
#include "io/file_shared_batch.h"
#include "io/file_shared_map.h"
#include "io/file_sys.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/group.h"
#include "obj/impi_span.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct pli_datatype *type(MPI_Datatype t)
{
    return pli_handle_get(t, PLI_KIND_DATATYPE);
}

static enum pli_err check_resize(struct pli_file *f, MPI_Offset size, const char *call)
{
    MPI_Offset pair[2] = { size, -size }, most[2] = { 0 };
    enum pli_err err = pli_file_async_settle(f, call);
    if (err == PLI_OK && size < 0) {
        err = pli_fail(PLI_ERR_ARG, "argument size is %lld, but must not be negative",
                       (long long)size);
    }
    if (err == PLI_OK && (f->amode & MPI_MODE_RDONLY) != 0) {
        err = pli_fail(PLI_ERR_READ_ONLY, "file %s was opened with MPI_MODE_RDONLY", f->name);
    }
    if (err == PLI_OK && (f->amode & MPI_MODE_SEQUENTIAL) != 0) {
        err = pli_fail(PLI_ERR_UNSUPPORTED, "file %s was opened with MPI_MODE_SEQUENTIAL", f->name);
    }
    err = pli_file_agree(f, err);
    err = err == PLI_OK ? pli_coll_allreduce(pair, most, 2, type(MPI_OFFSET),
                                             pli_handle_get(MPI_MAX, PLI_KIND_OP), f->comm)
                        : err;
    return err != PLI_OK || most[0] == -most[1]
               ? err
               : pli_fail(PLI_ERR_NOT_SAME, "argument size is %lld here, but differs between ranks",
                          (long long)size);
}

enum pli_err pli_file_set_size(struct pli_file *f, MPI_Offset size)
{
    enum pli_err err = check_resize(f, size, "MPI_File_set_size");
    if (err != PLI_OK) {
        return err;
    }
    int rc = 0;
    do {
        rc = f->comm->rank == 0 ? ftruncate(f->fd, size) : 0;
    } while (rc != 0 && errno == EINTR);
    if (rc != 0) {
        err = pli_file_sys_fail(errno, "set the size of", f->name, 0, -1);
    }
    if (err == PLI_OK) {
        pli_file_shared_map_reset(f, size, true);
    }
    return pli_file_agree(f, err);
}

enum pli_err pli_file_preallocate(struct pli_file *f, MPI_Offset size)
{
    enum pli_err err = check_resize(f, size, "MPI_File_preallocate");
    if (err == PLI_OK && f->comm->rank == 0 && size > 0) {
        int error = ENOSPC;
        if (pli_file_sys_has_room(f->fd, size)) {
            do {
                error = posix_fallocate(f->fd, 0, size);
            } while (error == EINTR);
        }
        err =
            error == 0 ? PLI_OK : pli_file_sys_fail(error, "reserve", f->name, 0, (long long)size);
    }
    if (err == PLI_OK) {
        pli_file_shared_map_reset(f, size, false);
    }
    return pli_file_agree(f, err);
}

enum pli_err pli_file_get_size(struct pli_file *f, MPI_Offset *out)
{
    struct stat s;
    enum pli_err err = pli_file_shared_batch_flush(f);
    err = err == PLI_OK ? pli_file_access_refresh(f) : err;
    if (err != PLI_OK) {
        return err;
    }
    if (fstat(f->fd, &s) != 0) {
        return pli_file_sys_fail(errno, "look at", f->name, 0, -1);
    }
    *out = pli_file_shared_map_size(f, s.st_size);
    return PLI_OK;
}

enum pli_err pli_file_get_group(struct pli_file *f, struct pli_group **out)
{
    return pli_group_dup(f->comm->group, f->comm->group->me, out);
}

enum pli_err pli_file_get_amode(struct pli_file *f, int *out)
{
    *out = f->amode;
    return PLI_OK;
}

enum pli_err pli_file_set_atomicity(struct pli_file *f, int flag)
{
    enum pli_err err = pli_file_async_settle(f, "MPI_File_set_atomicity");
    int pair[2] = { flag != 0, flag == 0 }, most[2] = { 0 };
    err = pli_file_agree(f, err);
    err = err == PLI_OK ? pli_coll_allreduce(pair, most, 2, type(MPI_INT),
                                             pli_handle_get(MPI_MAX, PLI_KIND_OP), f->comm)
                        : err;
    if (err == PLI_OK && most[0] == most[1]) {
        return pli_fail(PLI_ERR_NOT_SAME, "argument flag is %d here, but differs between ranks",
                        flag);
    }
    if (err == PLI_OK && flag != 0 && f->is_mixed && !pli_impi_span_has_atomic()) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "file %s cannot be in atomic mode: it is open in clients of several MPIs, "
                        "and an older one of them does not lock what it accesses",
                        f->name);
    }
    if (err == PLI_OK && flag != 0 && f->is_mixed) {
        err = pli_file_agree(f, PLI_OK); // others may fail to open it once more, for locks
    }
    err = err == PLI_OK && flag != 0 ? pli_file_range_open(f) : err;
    if (err == PLI_OK) {
        f->is_atomic = flag != 0;
    }
    return err;
}

enum pli_err pli_file_get_atomicity(struct pli_file *f, int *out)
{
    *out = f->is_atomic;
    return PLI_OK;
}

enum pli_err pli_file_sync(struct pli_file *f)
{
    enum pli_err err = pli_file_async_settle(f, "MPI_File_sync");
    int rc = 0;
    if (f->window != NULL) {
        err = pli_file_agree(f, err); // nobody writes
        err = err == PLI_OK ? pli_file_shared_map_trim(f, false) : err;
    }
    do {
        rc = err == PLI_OK && (f->amode & MPI_MODE_RDONLY) == 0 ? fsync(f->fd) : 0;
    } while (rc != 0 && errno == EINTR);
    if (rc != 0 && errno != EINVAL && errno != ENOSYS) {
        err = pli_file_sys_fail(errno, "sync", f->name, 0, -1);
    }
    err = err == PLI_OK ? pli_file_access_refresh(f) : err;
    return pli_file_agree(f, err);
}

enum pli_err pli_file_get_type_extent(struct pli_file *f, struct pli_datatype *t, MPI_Count *out)
{
    struct pli_datatype *layout;
    enum pli_err err = pli_file_datarep_layout(f->view.rep, t, &layout);
    if (err == PLI_OK) {
        *out = layout->extent;
        pli_datatype_release(layout);
    }
    return err;
}
