// SPDX-License-Identifier: BSD-3-Clause
// MPI_Pack and its relatives. [MPI-5.0 5.2, 5.3]
#ifndef PLI_OBJ_TYPE_PACK_H
#define PLI_OBJ_TYPE_PACK_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct pli_comm;
struct pli_datatype;

// The packed form is the bare bytes of the stream, so it can be cut and joined at will.
enum pli_err pli_type_pack(const void *in, MPI_Count count, struct pli_datatype *t, void *out,
                           MPI_Count out_size, MPI_Count *position, struct pli_comm *comm);
enum pli_err pli_type_pack_unpack(const void *in, MPI_Count in_size, MPI_Count *position, void *out,
                                  MPI_Count count, struct pli_datatype *t, struct pli_comm *comm);
enum pli_err pli_type_pack_size(MPI_Count count, struct pli_datatype *t, struct pli_comm *comm,
                                MPI_Count *size);

// external32: big-endian, sizes of the standard's table. [MPI-5.0 14.5.2]
enum pli_err pli_type_external(const char *rep, const void *in, MPI_Count count,
                               struct pli_datatype *t, void *out, MPI_Count out_size,
                               MPI_Count *position);
enum pli_err pli_type_external_unpack(const char *rep, const void *in, MPI_Count in_size,
                                      MPI_Count *position, void *out, MPI_Count count,
                                      struct pli_datatype *t);
enum pli_err pli_type_external_size(const char *rep, MPI_Count count, struct pli_datatype *t,
                                    MPI_Count *size);
// The same of `len` bytes that may end before count elements do, or within one. Returns how many
// bytes of whole numbers the user has got.
MPI_Count pli_type_external_part(const void *from, size_t len, void *buf, MPI_Count count,
                                 const struct pli_datatype *t);

// As other clients of an IMPI job have it: external32, but that a long has 8 bytes where all
// clients have agreed so. Bytes of an element:
MPI_Count pli_type_external_each(const struct pli_datatype *t);
// count elements to `to`, which has room for count * pli_type_external_each(t) bytes. Fails only
// where a value does not fit its external form. Context: any thread.
enum pli_err pli_type_external_put(const void *buf, MPI_Count count, const struct pli_datatype *t,
                                   void *to);
// As many numbers as `len` bytes hold, but no more than count elements.
void pli_type_external_get(const void *from, size_t len, void *buf, MPI_Count count,
                           const struct pli_datatype *t);

// Whether pli_type_external_put would not fail. Costs nothing where no value can be too large.
bool pli_type_external_fits(const void *buf, MPI_Count count, const struct pli_datatype *t);

#endif
