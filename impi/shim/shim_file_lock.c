// SPDX-License-Identifier: BSD-3-Clause
// Locks of ranges for files in atomic mode. The native library knows nothing of it and of the other
// clients: each access waits until no member of any client is at the same bytes. The locks are of
// an open file of our own, so that no descriptor that the native library closes gives them back.
#include "shim/shim_file.h"
#include "io/file_wire.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int pli_shim_file_lock_open(struct shim_file *f, const char *path)
{
    int way = (f->amode & MPI_MODE_RDONLY) != 0   ? O_RDONLY
              : (f->amode & MPI_MODE_WRONLY) != 0 ? O_WRONLY
                                                  : O_RDWR;
    if (f->lock_fd >= 0) {
        return MPI_SUCCESS;
    }
    f->lock_fd = open(path, way | O_CLOEXEC);
    return f->lock_fd >= 0 ? MPI_SUCCESS
                           : pli_shim_fail(MPI_ERR_IO, "a file cannot be opened once more, which "
                                                       "its atomic mode needs for locks");
}

void pli_shim_file_lock_close(struct shim_file *f)
{
    if (f->lock_fd >= 0) {
        (void)close(f->lock_fd);
        f->lock_fd = -1;
    }
}

// The bytes of the file from the first etype to the end of the last; offsets of etypes rise.
static int find_range(const struct shim_file *f, MPI_Offset at, MPI_Count count, MPI_Datatype type,
                      struct shim_range *r)
{
    MPI_Count size = 0, bytes = 0;
    MPI_Offset last = 0;
    int rc = PMPI_Type_size_x(type, &size);
    if (rc != MPI_SUCCESS || count <= 0 || __builtin_mul_overflow(size, count, &bytes) ||
        bytes == 0) {
        return MPI_SUCCESS; // nothing, or a mistake that the native library tells of
    }
    rc = at >= 0 ? MPI_SUCCESS : PMPI_File_get_position(f->handle, &at);
    rc = rc == MPI_SUCCESS ? PMPI_File_get_byte_offset(f->handle, at, &r->from) : rc;
    at += (bytes + f->unit - 1) / f->unit - 1;
    rc = rc == MPI_SUCCESS ? PMPI_File_get_byte_offset(f->handle, at, &last) : rc;
    r->len = last - r->from + f->reach;
    return rc;
}

static int set(const struct shim_file *f, short type, const struct shim_range *r)
{
    struct flock l = { .l_type = type,
                       .l_whence = SEEK_SET,
                       .l_start = PLI_FILE_WIRE_LOCKS + r->from,
                       .l_len = r->len };
    int rc;
    do {
        rc = fcntl(f->lock_fd, F_OFD_SETLKW, &l);
    } while (rc != 0 && errno == EINTR);
    return rc;
}

int pli_shim_file_lock_take(struct shim_file *f, bool is_write, MPI_Offset at, MPI_Count count,
                            MPI_Datatype type, struct shim_range *r)
{
    *r = (struct shim_range){ 0 };
    if (!f->is_atomic) {
        return MPI_SUCCESS;
    }
    int rc = find_range(f, at, count, type, r);
    if (rc != MPI_SUCCESS || r->len == 0) {
        return rc;
    }
    pthread_mutex_lock(&f->range); // threads would have the lock of the file together
    if (set(f, is_write ? F_WRLCK : F_RDLCK, r) == 0) {
        return MPI_SUCCESS;
    }
    pthread_mutex_unlock(&f->range);
    return pli_shim_file_end(
        f, pli_shim_fail(MPI_ERR_IO, "a part of a file in atomic mode cannot be locked"), false);
}

void pli_shim_file_lock_drop(struct shim_file *f, const struct shim_range *r)
{
    if (r->len > 0) {
        (void)set(f, F_UNLCK, r);
        pthread_mutex_unlock(&f->range);
    }
}

static int tell(void *bytes, MPI_Status *status)
{
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    (void)PMPI_Status_set_cancelled(status, 0);
    return PMPI_Status_set_elements_x(status, MPI_BYTE, *(MPI_Count *)bytes);
}

static int drop(void *bytes)
{
    free(bytes);
    return MPI_SUCCESS;
}

static int cancel(void *bytes, int is_over)
{
    (void)bytes, (void)is_over;
    return MPI_SUCCESS;
}

int pli_shim_file_lock_show(const MPI_Status *status, MPI_Request *out)
{
    MPI_Count *bytes = malloc(sizeof *bytes);
    int rc = bytes == NULL ? MPI_ERR_NO_MEM : PMPI_Get_elements_x(status, MPI_BYTE, bytes);
    rc = rc == MPI_SUCCESS ? PMPI_Grequest_start(tell, drop, cancel, bytes, out) : rc;
    if (rc != MPI_SUCCESS) {
        free(bytes);
        return rc;
    }
    return PMPI_Grequest_complete(*out);
}
