// SPDX-License-Identifier: BSD-3-Clause
// Access to far members with datatypes on both sides, and accumulations: as MPI windows need it.
// Nothing is in order with anything else, except accumulations of one member at one target. Where
// out is not NULL, the caller gets a request that ends when memory here is free; else
// pli_region_complete_local waits for that. Context: any thread, no lock held.
#ifndef PLI_ONESIDED_REGION_DATATYPE_H
#define PLI_ONESIDED_REGION_DATATYPE_H

#include "base/err.h"
#include "onesided/region_wire.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct pli_datatype;
struct pli_region;
struct pli_request;

// Memory of another member: (count, type) at an offset, or at an address.
struct pli_region_place {
    int member;
    int64_t at;
    MPI_Count count;
    struct pli_datatype *type;
};

// Memory here.
struct pli_region_side {
    void *buf;
    MPI_Count count;
    struct pli_datatype *type; // NULL: there is none
};

// bytes: of the access; both sides have room for them.
enum pli_err pli_region_datatype_put(struct pli_region *r, const struct pli_region_place *to,
                                     size_t bytes, const struct pli_region_side *from,
                                     struct pli_request **out);
// The same by messages in any case, which are dealt with in the order of their sending.
enum pli_err pli_region_datatype_put_msg(struct pli_region *r, const struct pli_region_place *to,
                                         size_t bytes, const struct pli_region_side *from,
                                         struct pli_request **out);
enum pli_err pli_region_datatype_get(struct pli_region *r, const struct pli_region_place *from,
                                     size_t bytes, const struct pli_region_side *to,
                                     struct pli_request **out);

// An accumulation: `from` is combined with what is there, which goes to `result` before.
struct pli_region_update {
    struct pli_region_side from, result;
    int op; // enum pli_op_which
    struct pli_region_elem elem;
    size_t bytes;
};
enum pli_err pli_region_datatype_update(struct pli_region *r, const struct pli_region_place *to,
                                        const struct pli_region_update *u,
                                        struct pli_request **out);
// One element: it becomes *from where it equals *compare; what was there goes to result.
enum pli_err pli_region_datatype_swap(struct pli_region *r, const struct pli_region_place *to,
                                      const struct pli_region_elem *elem, const void *compare,
                                      const void *from, void *result);

// Whether no operation on a member may be under way, so that an access that does not go by the
// region comes after all before it.
bool pli_region_datatype_is_quiet(const struct pli_region *r, int member);
// A request that is over; out may be NULL.
enum pli_err pli_region_datatype_nothing(struct pli_region *r, struct pli_request **out);
// The bytes of a side in a row: its own memory, or a copy that the caller frees.
enum pli_err pli_region_datatype_flatten(const struct pli_region_side *s, size_t bytes, bool is_in,
                                         char **out, char **copy_out);

#endif
