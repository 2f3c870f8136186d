// SPDX-License-Identifier: BSD-3-Clause
// Datatypes: what the user described, and the form that copies run on.
#ifndef PLI_OBJ_DATATYPE_H
#define PLI_OBJ_DATATYPE_H

#include "base/err.h"
#include "obj/handle.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct pli_attr_list;
struct pli_type_node;   // normalised copy plan
struct pli_type_recipe; // how it was made: envelope and contents

// A number for each predefined type, which messages can carry.
enum pli_form {
    PLI_FORM_MIXED, // several types, or none
#define PLI_BASIC(name, type, family, number, ext) PLI_FORM_##name,
#define PLI_SENDRECV(name, value, value_number, value_ext, index, index_number, index_ext)         \
    PLI_FORM_##name,
#include "obj/datatype_basic.def"
    PLI_N_FORM
};

// Immutable once made, but for is_committed, attributes and name.
struct pli_datatype {
    struct pli_obj obj;
    MPI_Count size;    // bytes of data in one element
    bool is_committed; // Open MPI has flags here, which its bindings for Java read: see below
    bool is_dense;     // `count` elements are one run of count*size bytes that begins at true_lb
    bool is_run;       // one element is one run of bytes that begins at true_lb
    bool has_lb;       // the user has set where it begins, which wins over where its data does
    bool has_ub;       // the same of its end
    bool is_permanent; // made for the user by name: lives until the end, cannot be freed
    uint8_t family;    // enum pli_family of a predefined type, else 0
    uint8_t number;    // enum pli_number of a predefined type; of a pair's value
    uint8_t index;     // enum pli_number of a pair's index
    uint8_t form;      // enum pli_form: the predefined type all elements are
    int align;
    MPI_Count lb, extent, true_lb, true_extent;
    int depth;                        // of the recipe
    const struct pli_datatype *elem;  // the predefined type all elements are; NULL: several
    MPI_Count n_elem;                 // how many numbers, a pair being two
    MPI_Count ext_size;               // bytes in external32
    MPI_Count long8_size;             // the same where a long has 8 bytes
    const struct pli_type_node *plan; // NULL: no data
    struct pli_type_node *nodes;      // those that belong to this type
    struct pli_type_recipe *recipe;   // NULL: predefined
    struct pli_attr_list *attrs;
    char *name; // NULL: has none
};

// A handle of Open MPI's ABI is the address of this. Its bindings for Java take bit 4 of these two
// bytes for a type that is one run of bytes, and ask the library to copy one that is not: two bools
// never have it.
_Static_assert(offsetof(struct pli_datatype, is_committed) == 16 &&
                   offsetof(struct pli_datatype, is_dense) == 17,
               "no bit but the lowest");

struct pli_datatype *pli_datatype_retain(struct pli_datatype *t);
void pli_datatype_release(struct pli_datatype *t);

// Bytes of `count` elements; false when that is more than an address can count.
static inline bool pli_datatype_bytes(const struct pli_datatype *t, MPI_Count count, size_t *out)
{
    MPI_Count n;
    bool fits = !__builtin_mul_overflow(count, t->size, &n);
    *out = (size_t)n;
    return fits;
}

// Whether `count` elements are one run of bytes, and where it begins.
static inline bool pli_datatype_is_run(const struct pli_datatype *t, MPI_Count count)
{
    return t->is_dense || (t->is_run && count <= 1);
}

// What to call it in a sentence: its name, or how it was made. Context: any thread; the text is
// good until the same thread asks for the second time.
const char *pli_datatype_label(const struct pli_datatype *t);

// Predefined types of the table in datatype_basic.def, for use inside the library.
struct pli_datatype *pli_datatype_basic(MPI_Datatype handle);
struct pli_datatype *pli_datatype_of_form(uint8_t form); // NULL: several types
// MPI_BYTE for data that was elements of several types: its messages say so.
struct pli_datatype *pli_datatype_mixed_bytes(void);

// Enter the predefined datatypes. Context: start-up only, before any handle is looked up.
void pli_datatype_init(void);

// Give back the names set on predefined types.
// Context: the very end, when no datatype is in use.
void pli_datatype_fini(void);

#endif
