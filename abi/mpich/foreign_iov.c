// SPDX-License-Identifier: BSD-3-Clause
// MPICH's lists of a datatype's segments: runs of bytes, each as long as it can be.
#include "foreign_calls.h"

#include <sys/uio.h>

// src/obj/cursor.h
size_t pli_cursor_type_iov(MPI_Datatype type, size_t from, struct iovec *iov, int n, int *n_out);

// What MPIX_Iov is.
struct segment {
    void *base; // from where the element is
    MPI_Aint len;
};

struct walk {
    MPI_Count n, bytes;             // segments that were taken, and their bytes
    MPI_Count max_bytes;            // no more; < 0: any number
    MPI_Count skip, max;            // of all segments: how many come before to[0], and its capacity
    struct segment *to, *end_of_to; // NULL: nowhere
};

// Take a segment; false: no more are wanted.
static bool take(struct walk *w, const struct iovec *v)
{
    MPI_Count len = (MPI_Count)v->iov_len;
    if (w->max_bytes >= 0 && w->bytes + len > w->max_bytes) {
        return false;
    }
    if (w->to != NULL && w->n >= w->skip) {
        if (w->n - w->skip >= w->max) {
            return false;
        }
        *w->end_of_to++ = (struct segment){ .base = v->iov_base, .len = (MPI_Aint)v->iov_len };
    }
    w->n++;
    w->bytes += len;
    return true;
}

// Pieces that touch are one segment, also where they come in two lots.
static void walk(struct walk *w, MPI_Datatype type)
{
    struct iovec lot[256], whole = { .iov_len = 0 };
    size_t from = 0, got;
    int n;
    while ((got = pli_cursor_type_iov(type, from, lot, 256, &n)) > 0) {
        for (int i = 0; i < n; i++) {
            if (whole.iov_len > 0 &&
                (uintptr_t)whole.iov_base + whole.iov_len == (uintptr_t)lot[i].iov_base) {
                whole.iov_len += lot[i].iov_len;
                continue;
            }
            if (whole.iov_len > 0 && !take(w, &whole)) {
                return;
            }
            whole = lot[i];
        }
        from += got;
    }
    if (whole.iov_len > 0) {
        take(w, &whole);
    }
}

// The size is asked for to judge the handle.
static int start(F_Datatype datatype, MPI_Datatype *type_out)
{
    MPI_Count size;
    *type_out = pli_foreign_datatype_in(datatype);
    int err = pli_std_MPI_Type_size_c(*type_out, &size);
    return err == 0 ? 0 : pli_foreign_error_out(err);
}

int PMPIX_Type_iov_len(F_Datatype datatype, MPI_Count max_iov_bytes, MPI_Count *iov_len,
                       MPI_Count *actual_iov_bytes)
{
    struct walk w = { .max_bytes = max_iov_bytes };
    MPI_Datatype type;
    int err = start(datatype, &type);
    if (err == 0) {
        walk(&w, type);
        *iov_len = w.n;
        *actual_iov_bytes = w.bytes;
    }
    return err;
}

int PMPIX_Type_iov(F_Datatype datatype, MPI_Count iov_offset, struct segment *iov,
                   MPI_Count max_iov_len, MPI_Count *actual_iov_len)
{
    struct walk w = { .max_bytes = -1, .skip = iov_offset, .max = max_iov_len };
    w.to = w.end_of_to = iov;
    MPI_Datatype type;
    int err = start(datatype, &type);
    if (err == 0 && iov_offset < 0) {
        err = pli_foreign_error_out(MPI_ERR_ARG);
    }
    if (err == 0 && max_iov_len > 0) {
        walk(&w, type);
    }
    if (err == 0) {
        *actual_iov_len = w.end_of_to - w.to;
    }
    return err;
}

int MPIX_Type_iov_len(F_Datatype datatype, MPI_Count max_iov_bytes, MPI_Count *iov_len,
                      MPI_Count *actual_iov_bytes)
    __attribute__((weak, alias("PMPIX_Type_iov_len")));
int MPIX_Type_iov(F_Datatype datatype, MPI_Count iov_offset, struct segment *iov,
                  MPI_Count max_iov_len, MPI_Count *actual_iov_len)
    __attribute__((weak, alias("PMPIX_Type_iov")));
