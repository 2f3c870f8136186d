// SPDX-License-Identifier: BSD-3-Clause
// What members of a file tell each other where they are in several clients of an IMPI job, which
// may be of other MPIs (impi/shim/shim_file.h). Everything goes by collectives of numbers of 64
// bits: docs/design/impi.md has their order.
#ifndef PLI_IO_FILE_WIRE_H
#define PLI_IO_FILE_WIRE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

// The numbers of errors. They are appended and never used for another one.
enum pli_file_wire_fault {
    PLI_FILE_WIRE_NONE,
#define PLI_FILE_FAULT(name, mpi_class) PLI_FILE_WIRE_##name,
#include "io/file_wire.def"
#undef PLI_FILE_FAULT
};

// Bits of access modes.
enum pli_file_wire_mode {
    PLI_FILE_WIRE_RDONLY = 1,
    PLI_FILE_WIRE_WRONLY = 2,
    PLI_FILE_WIRE_RDWR = 4,
    PLI_FILE_WIRE_CREATE = 8,
    PLI_FILE_WIRE_EXCL = 16,
    PLI_FILE_WIRE_DELETE_ON_CLOSE = 32,
    PLI_FILE_WIRE_UNIQUE_OPEN = 64,
    PLI_FILE_WIRE_SEQUENTIAL = 128,
    PLI_FILE_WIRE_APPEND = 256,
};

// Those of an access mode, whose numbers are of the MPI that this is compiled with.
static inline int pli_file_wire_mode_of(int amode)
{
    static const struct {
        int mpi, wire;
    } rows[] = { { MPI_MODE_RDONLY, PLI_FILE_WIRE_RDONLY },
                 { MPI_MODE_WRONLY, PLI_FILE_WIRE_WRONLY },
                 { MPI_MODE_RDWR, PLI_FILE_WIRE_RDWR },
                 { MPI_MODE_CREATE, PLI_FILE_WIRE_CREATE },
                 { MPI_MODE_EXCL, PLI_FILE_WIRE_EXCL },
                 { MPI_MODE_DELETE_ON_CLOSE, PLI_FILE_WIRE_DELETE_ON_CLOSE },
                 { MPI_MODE_UNIQUE_OPEN, PLI_FILE_WIRE_UNIQUE_OPEN },
                 { MPI_MODE_SEQUENTIAL, PLI_FILE_WIRE_SEQUENTIAL },
                 { MPI_MODE_APPEND, PLI_FILE_WIRE_APPEND } };
    int mode = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        mode |= (amode & rows[i].mpi) != 0 ? rows[i].wire : 0;
    }
    return mode;
}

enum pli_file_wire_whence { PLI_FILE_WIRE_SET, PLI_FILE_WIRE_CUR, PLI_FILE_WIRE_END };

// In atomic mode each member locks what it accesses, this far behind the place of the data: in that
// place an MPI may lock by itself what it accesses, and would wait for this lock of its own
// process.
#define PLI_FILE_WIRE_LOCKS ((int64_t)1 << 62)

enum { PLI_FILE_WIRE_SENTENCE = 512 }; // bytes of the reason of an error

// What a process sees of the file; rank 0, which opened it first, tells the others.
struct pli_file_wire_seen {
    int64_t is_open;
    int64_t number, size, changed; // inode; bytes; time of the last change in nanoseconds
};

enum { PLI_FILE_WIRE_N_SEEN = 4 }; // numbers in it

// Whether they see the same one. Numbers of one file may differ where file systems invent them;
// then its size and time tell.
static inline int pli_file_wire_is_same(const struct pli_file_wire_seen *a,
                                        const struct pli_file_wire_seen *b)
{
    return a->number == b->number || (a->size == b->size && a->changed == b->changed);
}

#endif
