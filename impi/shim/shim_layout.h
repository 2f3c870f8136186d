// SPDX-License-Identifier: BSD-3-Clause
// Where in memory the bytes of a datatype are: what an access to a window tells its target, which
// does not know the origin's types.
#ifndef PLI_SHIM_LAYOUT_H
#define PLI_SHIM_LAYOUT_H

#include "onesided/region_wire.h"
#include "shim/shim.h"

struct shim_run {
    MPI_Aint at;
    size_t len;
};

struct shim_layout {            // of one element, in the order of its type map
    MPI_Aint extent, low, high; // low, high: of the bytes that are there
    size_t size, n_run, n_room;
    struct shim_run *run;
    MPI_Datatype elem; // the predefined type of all of it; MPI_DATATYPE_NULL: of several
    bool is_dense;     // elements side by side are one run
    bool is_whole;     // a pair with a hole is one run of as many bytes as it has in a message
};

int pli_shim_layout_find(MPI_Datatype type, const struct shim_layout **out); // kept with the type
// Made anew, with is_whole; to be freed.
int pli_shim_layout_whole(MPI_Datatype type, struct shim_layout *out);

// The numbers a predefined type is made of; false: it is not one for accumulations.
bool pli_shim_layout_elem(MPI_Datatype type, struct pli_region_elem *out);
// The type whose elements are these; MPI_DATATYPE_NULL: there is none.
MPI_Datatype pli_shim_layout_type(const struct pli_region_elem *e);

// `count` elements side by side, and the first `len` bytes of such back in their places.
void pli_shim_layout_gather(const struct shim_layout *l, const void *buf, MPI_Count count,
                            unsigned char *out);
void pli_shim_layout_scatter(const struct shim_layout *l, const unsigned char *in, size_t len,
                             void *buf);

// Goes through the bytes of `count` elements at `at`, the first `bytes` of them.
struct shim_walk {
    const struct shim_layout *layout;
    MPI_Aint at;
    uint64_t n_left;  // elements, this one included
    size_t run, done; // done: bytes of this run
    size_t unit;      // what must not be torn
    uint64_t left;    // bytes
};
void pli_shim_layout_start(struct shim_walk *w, const struct shim_layout *l, MPI_Aint at,
                           MPI_Count count, size_t unit, uint64_t bytes);
// The next blocks of one message. Returns their bytes, 0: no more.
size_t pli_shim_layout_next(struct shim_walk *w, struct pli_region_block *blocks, int *n_out);

#endif
