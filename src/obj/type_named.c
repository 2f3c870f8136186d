// SPDX-License-Identifier: BSD-3-Clause
// Datatypes the user asks for by property: value-index pairs and the Fortran kinds. Each is made
// once and lives until the end. [MPI-5.0 6.9.4, 19.1.9]
#include "obj/datatype_priv.h"
#include "obj/type_named.h"
#include "obj/op_kernel.h"
#include "obj/type_blocks.h"
#include "obj/type_calls.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct pli_datatype **made; // guarded by guard
static size_t n_made, cap_made;

void pli_type_named_fini(void)
{
    pthread_mutex_lock(&guard);
    while (n_made > 0) {
        pli_datatype_release(made[--n_made]);
    }
    free(made);
    made = NULL;
    cap_made = 0;
    pthread_mutex_unlock(&guard);
}

// Whether t was made from just this.
static bool is_same(const struct pli_datatype *t, int combiner, const int ints[], int n_int,
                    struct pli_datatype *const types[], int n_type)
{
    const struct pli_type_recipe *r = t->recipe;
    bool is = r->combiner == combiner && r->n_int == n_int && r->n_type == n_type;
    for (int i = 0; is && i < n_int; i++) {
        is = r->ints[i] == ints[i];
    }
    for (int i = 0; is && i < n_type; i++) {
        is = r->types[i] == types[i];
    }
    return is;
}

static bool make_room(void)
{
    if (n_made < cap_made) {
        return true;
    }
    size_t cap = cap_made * 2 + 8;
    struct pli_datatype **p = realloc(made, cap * sizeof *p);
    if (p == NULL) {
        pli_fail(PLI_ERR_NOMEM, "no memory for a datatype");
        return false;
    }
    made = p;
    cap_made = cap;
    return true;
}

// The type of this recipe: the one there is, or a new one. base: what it is under another name;
// NULL for a pair. Called with guard held.
static enum pli_err find_or_make(int combiner, const int ints[], int n_int,
                                 struct pli_datatype *const types[], int n_type,
                                 struct pli_datatype *base, struct pli_datatype **out)
{
    for (size_t i = 0; i < n_made; i++) {
        if (is_same(made[i], combiner, ints, n_int, types, n_type)) {
            *out = made[i];
            return PLI_OK;
        }
    }
    struct pli_datatype *t =
        make_room() ? pli_datatype_create(combiner, false, n_int, 0, 0, n_type) : NULL;
    if (t == NULL) {
        return PLI_ERR_NOMEM;
    }
    for (int i = 0; i < n_int; i++) {
        t->recipe->ints[i] = ints[i];
    }
    for (int i = 0; i < n_type; i++) {
        pli_datatype_keep(t, i, types[i]);
    }
    t->recipe->inner = base;
    enum pli_err err = pli_type_blocks_finish(t);
    if (err != PLI_OK) {
        pli_datatype_release(t);
        return err;
    }
    t->is_committed = t->is_permanent = true;
    if (base == NULL) {
        t->family = PLI_FAMILY_PAIR;
        t->number = types[0]->number;
        t->index = types[1]->number;
        t->elem = t;
    }
    made[n_made++] = t;
    *out = t;
    return PLI_OK;
}

static enum pli_err get_f90(int combiner, const int ints[], int n_int, MPI_Datatype base,
                            struct pli_datatype **out)
{
    pthread_mutex_lock(&guard);
    enum pli_err err = find_or_make(combiner, ints, n_int, NULL, 0, pli_datatype_basic(base), out);
    pthread_mutex_unlock(&guard);
    return err;
}

// Digits and exponents the kinds of real have, smallest first.
static const struct {
    int p, r;
    MPI_Datatype real, complex;
} reals[] = {
    { 6, 37, MPI_REAL4, MPI_COMPLEX8 },
    { 15, 307, MPI_REAL8, MPI_COMPLEX16 },
    { 33, 4931, MPI_REAL16, MPI_COMPLEX32 },
};

static enum pli_err get_real(int combiner, int p, int r, struct pli_datatype **out)
{
    if (p == MPI_UNDEFINED && r == MPI_UNDEFINED) {
        return pli_fail(PLI_ERR_ARG, "precision and range are both MPI_UNDEFINED");
    }
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        if ((p == MPI_UNDEFINED || p <= reals[i].p) && (r == MPI_UNDEFINED || r <= reals[i].r)) {
            int ints[] = { p, r };
            return get_f90(combiner, ints, 2,
                           combiner == MPI_COMBINER_F90_REAL ? reals[i].real : reals[i].complex,
                           out);
        }
    }
    return pli_fail(PLI_ERR_ARG,
                    "no kind of real has %d digits and an exponent range of %d; the largest has "
                    "33 and 4931",
                    p, r);
}

enum pli_err pli_type_f90_real(int p, int r, struct pli_datatype **out)
{
    return get_real(MPI_COMBINER_F90_REAL, p, r, out);
}

enum pli_err pli_type_f90_complex(int p, int r, struct pli_datatype **out)
{
    return get_real(MPI_COMBINER_F90_COMPLEX, p, r, out);
}

enum pli_err pli_type_f90_integer(int r, struct pli_datatype **out)
{
    static const struct {
        int r;
        MPI_Datatype type;
    } kinds[] = { { 2, MPI_INTEGER1 },
                  { 4, MPI_INTEGER2 },
                  { 9, MPI_INTEGER4 },
                  { 18, MPI_INTEGER8 },
                  { 38, MPI_INTEGER16 } };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (r <= kinds[i].r) {
            return get_f90(MPI_COMBINER_F90_INTEGER, &r, 1, kinds[i].type, out);
        }
    }
    return pli_fail(PLI_ERR_ARG, "no kind of integer has %d digits; the largest has 38", r);
}

enum pli_err pli_type_match_size(int typeclass, int size, struct pli_datatype **out)
{
    static const MPI_Datatype types[] = { MPI_REAL2,     MPI_REAL4,    MPI_REAL8,     MPI_REAL16,
                                          MPI_COMPLEX4,  MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32,
                                          MPI_INTEGER1,  MPI_INTEGER2, MPI_INTEGER4,  MPI_INTEGER8,
                                          MPI_INTEGER16, MPI_LOGICAL1, MPI_LOGICAL2,  MPI_LOGICAL4,
                                          MPI_LOGICAL8,  MPI_LOGICAL16 };
    enum pli_family family = typeclass == MPI_TYPECLASS_REAL       ? PLI_FAMILY_FLOAT
                             : typeclass == MPI_TYPECLASS_INTEGER  ? PLI_FAMILY_F_INTEGER
                             : typeclass == MPI_TYPECLASS_COMPLEX  ? PLI_FAMILY_COMPLEX
                             : typeclass == MPIX_TYPECLASS_LOGICAL ? PLI_FAMILY_LOGICAL
                                                                   : PLI_FAMILY_NONE;
    if (family == PLI_FAMILY_NONE) {
        return pli_fail(PLI_ERR_ARG, "%d is not a type class such as MPI_TYPECLASS_REAL",
                        typeclass);
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct pli_datatype *t = pli_datatype_basic(types[i]);
        if (t->family == family && t->size == size) {
            *out = t;
            return PLI_OK;
        }
    }
    return pli_fail(PLI_ERR_ARG, "no type of this class has a size of %d bytes", size);
}

// Types a pair can be made of have a place in one of these families.
static bool is_in(const struct pli_datatype *t, bool may_be_float)
{
    return t->obj.value != 0 &&
           (t->family == PLI_FAMILY_C_INTEGER || t->family == PLI_FAMILY_F_INTEGER ||
            t->family == PLI_FAMILY_MULTI || (may_be_float && t->family == PLI_FAMILY_FLOAT));
}

enum pli_err pli_type_value_index(struct pli_datatype *value, struct pli_datatype *index,
                                  struct pli_datatype **out)
{
    static const struct {
        MPI_Datatype value, index, pair;
    } named[] = {
        { MPI_FLOAT, MPI_INT, MPI_FLOAT_INT },
        { MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT },
        { MPI_LONG, MPI_INT, MPI_LONG_INT },
        { MPI_INT, MPI_INT, MPI_2INT },
        { MPI_SHORT, MPI_INT, MPI_SHORT_INT },
        { MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT },
        { MPI_REAL, MPI_REAL, MPI_2REAL },
        { MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION },
        { MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER },
    };
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        if (value == pli_datatype_basic(named[i].value) &&
            index == pli_datatype_basic(named[i].index)) {
            *out = pli_datatype_basic(named[i].pair);
            return PLI_OK;
        }
    }
    *out = NULL; // MPI_DATATYPE_NULL is the answer for what is not supported
    if (!is_in(value, true) || !is_in(index, false) ||
        pli_op_pair(PLI_OP_MINLOC, value->number, index->number) == NULL) {
        return PLI_OK;
    }
    struct pli_datatype *types[] = { value, index };
    pthread_mutex_lock(&guard);
    enum pli_err err = find_or_make(MPI_COMBINER_VALUE_INDEX, NULL, 0, types, 2, NULL, out);
    pthread_mutex_unlock(&guard);
    return err;
}
