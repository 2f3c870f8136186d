// SPDX-License-Identifier: BSD-3-Clause
// Tells members of a file in other clients of an IMPI job what they must know, in numbers that do
// not depend on the MPI.
#include "io/file_span.h"

#include "coll/coll.h"
#include "io/file.h"
#include "io/file_sys.h"
#include "io/file_wire.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/impi_span.h"

#include <errno.h>
#include <sys/stat.h>

#define ONE_SYSTEM "all processes that open a file together must see the same file system"

bool pli_file_span_is_refused(const struct pli_comm *comm)
{
    return comm->is_span && !pli_impi_span_has_files();
}

enum pli_err pli_file_span_check(const struct pli_comm *comm)
{
    return comm->is_span ? pli_impi_span_check_files(comm) : PLI_OK;
}

int pli_file_span_fault(enum pli_err err)
{
    int fault = PLI_FILE_WIRE_OTHER;
    switch (err) {
#define PLI_FILE_FAULT(name, mpi_class)                                                            \
    case PLI_ERR_##name:                                                                           \
        fault = PLI_FILE_WIRE_##name;                                                              \
        break;
#include "io/file_wire.def"
#undef PLI_FILE_FAULT
    default:
        break;
    }
    return fault;
}

enum pli_err pli_file_span_err(int fault)
{
    enum pli_err err = PLI_ERR_OTHER;
    switch (fault) {
#define PLI_FILE_FAULT(name, mpi_class)                                                            \
    case PLI_FILE_WIRE_##name:                                                                     \
        err = PLI_ERR_##name;                                                                      \
        break;
#include "io/file_wire.def"
#undef PLI_FILE_FAULT
    default:
        break;
    }
    return err;
}

int pli_file_span_mode(int amode)
{
    return pli_file_wire_mode_of(amode);
}

enum pli_err pli_file_span_look(const struct pli_file *f, int64_t *seen)
{
    struct stat s;
    if (fstat(f->fd, &s) != 0) {
        return pli_file_sys_fail(errno, "look at", f->name, 0, -1);
    }
    seen[0] = 1;
    seen[1] = (int64_t)s.st_ino;
    seen[2] = s.st_size;
    seen[3] = (int64_t)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec;
    return PLI_OK;
}

enum pli_err pli_file_span_tell(struct pli_comm *comm, int64_t *seen)
{
    return pli_coll_bcast(seen, PLI_FILE_N_SEEN, pli_handle_get(MPI_OFFSET, PLI_KIND_DATATYPE), 0,
                          comm);
}

enum pli_err pli_file_span_compare(const struct pli_file *f, enum pli_err err, const int64_t *first)
{
    if (err == PLI_ERR_NO_SUCH_FILE) {
        pli_fail_take(NULL);
        return pli_fail(
            err, "file %s, which rank 0 has opened, is not there at another rank: " ONE_SYSTEM,
            f->name);
    }
    int64_t mine[PLI_FILE_N_SEEN] = { 0 };
    err = err == PLI_OK ? pli_file_span_look(f, mine) : err;
    const struct pli_file_wire_seen a = { first[0], first[1], first[2], first[3] };
    const struct pli_file_wire_seen b = { mine[0], mine[1], mine[2], mine[3] };
    return err != PLI_OK || pli_file_wire_is_same(&a, &b)
               ? err
               : pli_fail(PLI_ERR_BAD_FILE,
                          "file %s is another one than that which rank 0 has opened: " ONE_SYSTEM,
                          f->name);
}
