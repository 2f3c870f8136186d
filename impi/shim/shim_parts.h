// SPDX-License-Identifier: BSD-3-Clause
// Converts buffers of the program to and from external32, whole or in parts.
#ifndef PLI_SHIM_PARTS_H
#define PLI_SHIM_PARTS_H

#include "shim/shim.h"
#include "shim/shim_list.h"

// `n` elements behind an address.
void *pli_shim_parts_at(const void *buf, MPI_Aint n, MPI_Datatype type);

// `count` elements in external32: memory to be freed, and its length.
int pli_shim_parts_pack(const void *buf, MPI_Count count, MPI_Datatype type, unsigned char **out,
                        size_t *len);
// Room for the same, `times`, empty; the length is of one.
int pli_shim_parts_room(MPI_Count count, MPI_Datatype type, size_t times, unsigned char **out,
                        size_t *len);

// Parts of different lengths, side by side in one piece of memory.
struct shim_parts {
    unsigned char *base;
    unsigned char **part;
    size_t *lens;
    size_t total;
};

// Room for counts[i] elements of types[i * stride] each.
int pli_shim_parts_make(int n, struct shim_list counts, const MPI_Datatype *types, int stride,
                        struct shim_parts *p);
void pli_shim_parts_free(struct shim_parts *p);

#endif
