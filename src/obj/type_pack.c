// SPDX-License-Identifier: BSD-3-Clause
// Packing into a user's buffer.
#include "obj/type_pack.h"

#include "obj/comm.h"
#include "obj/datatype.h"

enum pli_err pli_type_pack_check(const void *buf, MPI_Count size, MPI_Count position,
                                 MPI_Count count, MPI_Count each)
{
    MPI_Count need;
    if (position < 0 || position > size) {
        return pli_fail(PLI_ERR_ARG, "position %lld is not inside a buffer of %lld bytes",
                        (long long)position, (long long)size);
    }
    if (__builtin_mul_overflow(count, each, &need) || need > size - position) {
        return pli_fail(PLI_ERR_TRUNC,
                        "%lld elements of %lld bytes do not fit from position %lld into %lld bytes",
                        (long long)count, (long long)each, (long long)position, (long long)size);
    }
    if (need > 0 && buf == NULL) {
        return pli_fail(PLI_ERR_BUFFER, "the packed buffer is a null pointer");
    }
    return PLI_OK;
}

enum pli_err pli_type_pack(const void *in, MPI_Count count, struct pli_datatype *t, void *out,
                           MPI_Count out_size, MPI_Count *position, struct pli_comm *comm)
{
    if (comm != NULL && comm->is_span) { // other processes speak other formats, except for this one
        return pli_type_external("external32", in, count, t, out, out_size, position);
    }
    enum pli_err err = pli_type_pack_check(out, out_size, *position, count, t->size);
    if (err == PLI_OK && count * t->size > 0) {
        struct pli_cursor c;
        pli_cursor_init(&c, in, count, t);
        pli_cursor_pack(&c, (char *)out + *position, c.total);
        *position += (MPI_Count)c.total;
    }
    return err;
}

enum pli_err pli_type_pack_unpack(const void *in, MPI_Count in_size, MPI_Count *position, void *out,
                                  MPI_Count count, struct pli_datatype *t, struct pli_comm *comm)
{
    if (comm != NULL && comm->is_span) {
        return pli_type_external_unpack("external32", in, in_size, position, out, count, t);
    }
    enum pli_err err = pli_type_pack_check(in, in_size, *position, count, t->size);
    if (err == PLI_OK && count * t->size > 0) {
        struct pli_cursor c;
        pli_cursor_init(&c, out, count, t);
        pli_cursor_unpack(&c, (const char *)in + *position, c.total);
        *position += (MPI_Count)c.total;
    }
    return err;
}

enum pli_err pli_type_pack_size(MPI_Count count, struct pli_datatype *t, struct pli_comm *comm,
                                MPI_Count *size)
{
    if (comm != NULL && comm->is_span) {
        return pli_type_external_size("external32", count, t, size);
    }
    if (__builtin_mul_overflow(count, t->size, size)) {
        return pli_fail(PLI_ERR_COUNT, "%lld elements of %lld bytes are more than a number counts",
                        (long long)count, (long long)t->size);
    }
    return PLI_OK;
}
