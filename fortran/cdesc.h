// SPDX-License-Identifier: BSD-3-Clause
// Choice buffers of mpi_f08: from the C descriptor of a Fortran array to an address, a count and a
// datatype.
#ifndef PLI_FORTRAN_CDESC_H
#define PLI_FORTRAN_CDESC_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

// The part of CFI_cdesc_t that is the same for gfortran and flang: what follows `rank` in that word
// differs, and nothing here needs it.
struct pli_cdesc_dim {
    ptrdiff_t lower_bound;
    ptrdiff_t extent; // -1 in the last dimension of an array of assumed size
    ptrdiff_t sm;     // bytes from one element to the next
};

struct pli_cdesc {
    void *base_addr;
    size_t elem_len;
    int version;
    signed char rank;
    unsigned char differs[3];
    struct pli_cdesc_dim dim[];
};

// Whether the elements lie one behind the other, so that the address says it all. A section without
// elements may be called not plain; pli_cdesc_view finds that out.
static inline bool pli_cdesc_is_plain(const struct pli_cdesc *d)
{
    ptrdiff_t want = (ptrdiff_t)d->elem_len;
    for (int i = 0; i < d->rank; i++) {
        if (d->dim[i].sm != want && d->dim[i].extent > 1) {
            return false;
        }
        want *= d->dim[i].extent;
    }
    return true;
}

// What to hand to the C function in place of a section.
struct pli_cdesc_view {
    void *addr;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Datatype made; // freed by pli_cdesc_release; MPI_DATATYPE_NULL: there is none
};

// `count` elements of `type`, counted along the elements of the section in their Fortran order.
// MPI_SUCCESS or an error class: MPI_ERR_COUNT when the section is shorter.
int pli_cdesc_view(const struct pli_cdesc *d, MPI_Count count, MPI_Datatype type,
                   struct pli_cdesc_view *out);
// The same for what begins `from` bytes behind the first byte of a contiguous copy of a section
// that is not plain; the address handed on is that of the section all the same.
int pli_cdesc_part(const struct pli_cdesc *d, MPI_Count from, MPI_Count count, MPI_Datatype type,
                   struct pli_cdesc_view *out);
// The same for a buffer in blocks of `count` elements, of which the C function finds the next by
// the extent of the type: partitions, and what collectives have for each rank. MPI_ERR_BUFFER: no
// one datatype can say it.
int pli_cdesc_blocks(const struct pli_cdesc *d, MPI_Count count, MPI_Datatype type,
                     struct pli_cdesc_view *out);
void pli_cdesc_release(struct pli_cdesc_view *view); // while a request that uses it is pending, too

// The elements one behind the other in memory of their own, for what no datatype can say. NULL: no
// memory.
void *pli_cdesc_pack(const struct pli_cdesc *d);
// Put them back when `changed`, and free the memory. NULL is left alone.
void pli_cdesc_unpack(const struct pli_cdesc *d, void *packed, bool changed);

// The two halves of it: between the section and memory that pli_cdesc_pack made.
void pli_cdesc_gather(const struct pli_cdesc *d, void *packed);
void pli_cdesc_scatter(const struct pli_cdesc *d, const void *packed);

// Free a datatype that was got from the contents of another object, unless it is a predefined one.
void pli_cdesc_free_content(MPI_Datatype type);

// How many elements there are. Not for arrays of assumed size, which are plain.
MPI_Count pli_cdesc_size(const struct pli_cdesc *d);

#endif
