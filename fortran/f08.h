// SPDX-License-Identifier: BSD-3-Clause
// What the procedures of mpi_f08 with buffers call when a buffer is a section that is not
// contiguous.
#ifndef PLI_FORTRAN_F08_H
#define PLI_FORTRAN_F08_H

#include "fortran/cdesc.h"

#define pli_f08_unlikely(x) __builtin_expect(!!(x), 0)
#define pli_f08_cold __attribute__((cold, noinline))

struct pli_pending;

// A buffer as the procedures of mpif.h take it. Where is_changed is set, type and count are used in
// place of the program's.
struct pli_f08_buffer {
    const char *routine, *argument; // for messages
    void *addr;
    bool is_changed;
    int type, small;
    MPI_Count count;
    void *packed; // a copy of the section; NULL: there is none
    struct pli_pending *record;
    struct pli_cdesc_view view;
};

// Each returns MPI_SUCCESS or an error code. `type` is the address of a Fortran handle.
int pli_f08_view(const struct pli_cdesc *d, MPI_Count count, const void *type, bool may_copy,
                 struct pli_f08_buffer *to);
// As pli_f08_view, for a call with a file, whose Fortran handle is at `file`. Where procedures of
// the program convert its data, they get the program's datatype: the section is copied.
int pli_f08_file(const struct pli_cdesc *d, MPI_Count count, const void *type, bool may_copy,
                 const void *file, struct pli_f08_buffer *to);
int pli_f08_blocks(const struct pli_cdesc *d, MPI_Count count, const void *type, bool may_copy,
                   struct pli_f08_buffer *to);
int pli_f08_copy(const struct pli_cdesc *d, struct pli_f08_buffer *to);
int pli_f08_refuse(const struct pli_cdesc *d, struct pli_f08_buffer *to); // what is not contiguous
int pli_f08_address(const struct pli_cdesc *d, struct pli_f08_buffer *to);
// Whether a section has what the C function will look at: MPI_ERR_COUNT's code says that it is
// shorter than `count` elements of the type at `type`.
int pli_f08_check(const struct pli_cdesc *d, MPI_Count count, const void *type,
                  const struct pli_f08_buffer *to);
// How many elements n ranks have together; how far their parts reach; what the caller has.
MPI_Count pli_f08_total(const void *counts, int n, bool is_wide);
MPI_Count pli_f08_reach(const void *counts, bool is_wide_count, const void *displs,
                        bool is_wide_displ, int n);
int pli_f08_size(const void *comm); // of the local group
MPI_Count pli_f08_own(const void *counts, bool is_wide, const void *comm);

// After the call, and after an error: free what was made; a copy is put back when `changed`.
void pli_f08_finish(const struct pli_cdesc *d, struct pli_f08_buffer *to, bool changed);

// The same after a nonblocking call: a copy belongs to the request, unless the call failed (NULL).
void pli_f08_keep(const struct pli_cdesc *d, struct pli_f08_buffer *to, bool changed,
                  const int *request, bool is_persistent);

// A buffer with a count, a displacement in bytes and a datatype for each rank. Where is_changed is
// set, these arrays are used in place of the program's: each rank's part is one element of a
// datatype of its own.
struct pli_f08_each {
    const char *routine, *argument; // for messages
    void *addr;
    bool is_changed;
    int *types; // handles of Fortran
    int n_made;
    MPI_Datatype *made; // what of them is to be freed
    void *counts, *displs;
    const void *kept_counts, *kept_displs; // what stays while a request may read it
};

// is_wide: counts and displacements of 8 bytes. A nonblocking call may read them until it is
// complete.
struct pli_f08_arrays {
    const void *counts, *displs;
    const int *types;
    bool is_wide_count, is_wide_displ, is_nonblocking;
};
int pli_f08_each(const struct pli_cdesc *d, int n, const struct pli_f08_arrays *from,
                 struct pli_f08_each *to);
void pli_f08_each_finish(struct pli_f08_each *to);

// Call the error handler of the communicator, window or file whose Fortran handle is at h; NULL:
// that of MPI_COMM_SELF. They return what the procedure returns.
int pli_f08_fail_comm(const void *h, int err);
int pli_f08_fail_win(const void *h, int err);
int pli_f08_fail_file(const void *h, int err);

#endif
