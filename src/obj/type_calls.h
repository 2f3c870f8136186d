// SPDX-License-Identifier: BSD-3-Clause
// The datatype functions behind the API table. Those that make a type have a form for the plain
// and one for the large-count function, since MPI_Type_get_envelope tells them apart.
#ifndef PLI_OBJ_TYPE_CALLS_H
#define PLI_OBJ_TYPE_CALLS_H

#include "base/err.h"
#include "obj/ints.h"

#include <mpi.h>

struct pli_comm;
struct pli_datatype;

// type_build.c: constructors of one or two lines of the standard each. [MPI-5.0 5.1.2]
enum pli_err pli_type_contiguous(MPI_Count count, struct pli_datatype *old,
                                 struct pli_datatype **out);
enum pli_err pli_type_contiguous_large(MPI_Count count, struct pli_datatype *old,
                                       struct pli_datatype **out);
enum pli_err pli_type_vector(MPI_Count count, MPI_Count len, MPI_Count stride,
                             struct pli_datatype *old, struct pli_datatype **out);
enum pli_err pli_type_vector_large(MPI_Count count, MPI_Count len, MPI_Count stride,
                                   struct pli_datatype *old, struct pli_datatype **out);
enum pli_err pli_type_hvector(MPI_Count count, MPI_Count len, MPI_Count stride,
                              struct pli_datatype *old, struct pli_datatype **out);
enum pli_err pli_type_hvector_large(MPI_Count count, MPI_Count len, MPI_Count stride,
                                    struct pli_datatype *old, struct pli_datatype **out);
enum pli_err pli_type_resized(struct pli_datatype *old, MPI_Count lb, MPI_Count extent,
                              struct pli_datatype **out);
enum pli_err pli_type_resized_large(struct pli_datatype *old, MPI_Count lb, MPI_Count extent,
                                    struct pli_datatype **out);
enum pli_err pli_type_dup(struct pli_datatype *old, struct pli_datatype **out);

// type_list.c: constructors with lists.
enum pli_err pli_type_indexed(MPI_Count count, struct pli_ints lens, struct pli_ints displs,
                              struct pli_datatype *old, struct pli_datatype **out);
enum pli_err pli_type_hindexed(MPI_Count count, struct pli_ints lens, struct pli_ints displs,
                               struct pli_datatype *old, struct pli_datatype **out);
enum pli_err pli_type_indexed_block(MPI_Count count, MPI_Count len, struct pli_ints displs,
                                    struct pli_datatype *old, struct pli_datatype **out);
enum pli_err pli_type_hindexed_block(MPI_Count count, MPI_Count len, struct pli_ints displs,
                                     struct pli_datatype *old, struct pli_datatype **out);
enum pli_err pli_type_hindexed_block_large(MPI_Count count, MPI_Count len, struct pli_ints displs,
                                           struct pli_datatype *old, struct pli_datatype **out);
enum pli_err pli_type_struct(MPI_Count count, struct pli_ints lens, struct pli_ints displs,
                             const MPI_Datatype types[], struct pli_datatype **out);

// type_array.c: pieces of arrays. [MPI-5.0 5.1.3, 5.1.4]
enum pli_err pli_type_subarray(int ndims, struct pli_ints sizes, struct pli_ints subsizes,
                               struct pli_ints starts, int order, struct pli_datatype *old,
                               struct pli_datatype **out);
enum pli_err pli_type_darray(int size, int rank, int ndims, struct pli_ints gsizes,
                             const int distribs[], const int dargs[], const int psizes[], int order,
                             struct pli_datatype *old, struct pli_datatype **out);

// type_named.c: types by property. [MPI-5.0 6.9.4, 19.1.9]
enum pli_err pli_type_f90_real(int p, int r, struct pli_datatype **out);
enum pli_err pli_type_f90_complex(int p, int r, struct pli_datatype **out);
enum pli_err pli_type_f90_integer(int r, struct pli_datatype **out);
enum pli_err pli_type_match_size(int typeclass, int size, struct pli_datatype **out);
enum pli_err pli_type_value_index(struct pli_datatype *value, struct pli_datatype *index,
                                  struct pli_datatype **out);

// type_query.c
enum pli_err pli_type_commit(struct pli_datatype *t);
enum pli_err pli_type_free(struct pli_datatype *t);
enum pli_err pli_type_size(struct pli_datatype *t, MPI_Count *out);
enum pli_err pli_type_extent(struct pli_datatype *t, MPI_Count *lb, MPI_Count *extent);
enum pli_err pli_type_true_extent(struct pli_datatype *t, MPI_Count *lb, MPI_Count *extent);
// MPI_DATATYPE_NULL has a name too.
enum pli_err pli_type_get_name(MPI_Datatype handle, char *name, int *len);
enum pli_err pli_type_set_name(struct pli_datatype *t, const char *name);
enum pli_err pli_type_envelope(struct pli_datatype *t, MPI_Count *n_int, MPI_Count *n_addr,
                               MPI_Count *n_type, int *combiner);
enum pli_err pli_type_envelope_large(struct pli_datatype *t, MPI_Count *n_int, MPI_Count *n_addr,
                                     MPI_Count *n_count, MPI_Count *n_type, int *combiner);
enum pli_err pli_type_contents(struct pli_datatype *t, MPI_Count max_int, MPI_Count max_addr,
                               MPI_Count max_type, int ints[], MPI_Aint addrs[],
                               MPI_Datatype types[]);
enum pli_err pli_type_contents_large(struct pli_datatype *t, MPI_Count max_int, MPI_Count max_addr,
                                     MPI_Count max_count, MPI_Count max_type, int ints[],
                                     MPI_Aint addrs[], MPI_Count counts[], MPI_Datatype types[]);
enum pli_err pli_type_address(const void *location, MPI_Aint *out);
MPI_Aint pli_type_aint_add(MPI_Aint base, MPI_Aint disp);
MPI_Aint pli_type_aint_diff(MPI_Aint a, MPI_Aint b);

// type_elements.c: counting what was received. [MPI-5.0 3.2.5, 5.1.11, 13.3]
enum pli_err pli_type_get_count(const MPI_Status *status, struct pli_datatype *t, MPI_Count *out);
enum pli_err pli_type_get_elements(const MPI_Status *status, struct pli_datatype *t,
                                   MPI_Count *out);
enum pli_err pli_type_set_elements(MPI_Status *status, struct pli_datatype *t, MPI_Count n);

#endif
