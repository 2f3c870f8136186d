// SPDX-License-Identifier: BSD-3-Clause
// Cursors, which pack, unpack and copy the data that a datatype describes, piece by piece.
#ifndef PLI_OBJ_CURSOR_H
#define PLI_OBJ_CURSOR_H

#include <mpi.h>
#include <stddef.h>

struct iovec;
struct pli_datatype;

// A place in the packed stream of (buf, count, type): where a partial pack or unpack goes on.
// Plain data: may be copied, needs no clean-up, allocates nothing. The type must stay alive.
// Moving to any place costs the depth of the type and the logarithm of its block list.
struct pli_cursor {
    char *buf;
    const struct pli_datatype *type;
    MPI_Count count;
    size_t done, total; // bytes of the stream
};

void pli_cursor_init(struct pli_cursor *c, const void *buf, MPI_Count count,
                     const struct pli_datatype *t);
void pli_cursor_seek(struct pli_cursor *c, size_t offset);

// Move at most len bytes of the stream from the user's buffer to dst, or from src to it; returns
// bytes moved (less than len only at the end of the stream). Context: any thread.
size_t pli_cursor_pack(struct pli_cursor *c, void *dst, size_t len);
size_t pli_cursor_unpack(struct pli_cursor *c, const void *src, size_t len);

// Where the next bytes of the stream are: fills at most n pieces with at most len bytes, says in
// n_out how many, and moves past them. Returns their bytes. Context: any thread.
size_t pli_cursor_iov(struct pli_cursor *c, struct iovec *iov, int n, size_t len, int *n_out);

// The same of one element of a type, by its handle, from a byte of its data on: where pieces are is
// said from the element's place, which has no address. For libraries of other ABIs (abi/).
// Context: any thread.
size_t pli_cursor_type_iov(MPI_Datatype type, size_t from, struct iovec *iov, int n, int *n_out);

// Copy from one described buffer straight to another; returns bytes moved (the smaller stream).
size_t pli_cursor_copy(const void *src, MPI_Count n_src, const struct pli_datatype *src_type,
                       void *dst, MPI_Count n_dst, const struct pli_datatype *dst_type);

#endif
