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
        enum pli_err far =
            pli_type_pack_check(out, out_size, *position, count, pli_type_external_each(t));
        far = far == PLI_OK ? pli_type_external_put(in, count, t, (char *)out + *position) : far;
        *position += far == PLI_OK ? count * pli_type_external_each(t) : 0;
        return far;
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
        MPI_Count each = pli_type_external_each(t);
        enum pli_err far = pli_type_pack_check(in, in_size, *position, count, each);
        if (far == PLI_OK) {
            pli_type_external_get((const char *)in + *position, (size_t)(count * each), out, count,
                                  t);
            *position += count * each;
        }
        return far;
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
    MPI_Count each = comm != NULL && comm->is_span ? pli_type_external_each(t) : t->size;
    if (__builtin_mul_overflow(count, each, size)) {
        return pli_fail(PLI_ERR_COUNT, "%lld elements of %lld bytes are more than a number counts",
                        (long long)count, (long long)each);
    }
    return PLI_OK;
}
