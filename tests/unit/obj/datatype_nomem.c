// SPDX-License-Identifier: BSD-3-Clause
// Out of memory at every allocation in turn: each constructor fails with a reason, or does not need
// that memory, and nothing stays behind.
#include "obj/datatype.h"
#include "obj/type_calls.h"
#include "obj/type_named.h"
#include "datatype_t.h"
#include "t.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
int main(void)
{
    fprintf(stderr, "skipped: the sanitizer has its own malloc\n");
    return 77;
}
#else

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static int left = -1; // allocations until one fails; negative: none fails

static int may_fail(void)
{
    return left >= 0 && left-- == 0;
}

void *malloc(size_t size)
{
    return may_fail() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return may_fail() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return may_fail() ? NULL : __libc_realloc(p, size);
}

static struct pli_datatype *old;
static const int sizes[] = { 9, 8 }, subs[] = { 4, 3 }, starts[] = { 2, 1 };
static const int lens[] = { 1, 3, 2 }, places[] = { 0, 5, 20 };
static const MPI_Aint bytes[] = { 0, 100, 300 };

static enum pli_err make(int which, struct pli_datatype **out)
{
    MPI_Datatype types[] = { MPI_INT, pli_handle_of(old, PLI_KIND_DATATYPE), MPI_CHAR };
    int grid[] = { 2, 2 }, dist[] = { MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK };
    int args[] = { 2, MPI_DISTRIBUTE_DFLT_DARG };
    switch (which) {
    case 0:
        return pli_type_contiguous(3, old, out);
    case 1:
        return pli_type_vector(3, 2, 9, old, out);
    case 2:
        return pli_type_indexed(3, SMALL(lens), SMALL(places), old, out);
    case 3:
        return pli_type_struct(3, SMALL(lens), WIDE(bytes), types, out);
    case 4:
        return pli_type_subarray(2, SMALL(sizes), SMALL(subs), SMALL(starts), MPI_ORDER_C, old,
                                 out);
    case 5:
        return pli_type_darray(4, 1, 2, SMALL(sizes), dist, args, grid, MPI_ORDER_FORTRAN, old,
                               out);
    case 6:
        return pli_type_resized(old, 1, 2, out);
    case 7:
        return pli_type_dup(old, out);
    case 8:
        return pli_type_f90_real(7, 20, out);
    default:
        return pli_type_value_index(pli_datatype_basic(MPI_DOUBLE), pli_datatype_basic(MPI_LONG),
                                    out);
    }
}

int main(void)
{
    pli_datatype_init();
    T_MUST(pli_type_vector(4, 1, 3, pli_datatype_basic(MPI_SHORT), &old) == PLI_OK);
    for (int which = 0; which < 10; which++) {
        bool is_kept = which >= 8; // lives until the end
        enum pli_err err = PLI_ERR_NOMEM;
        int n = 0;
        for (; err != PLI_OK && n < 100; n++) {
            struct pli_datatype *t = NULL;
            size_t before = pli_handle_live(PLI_KIND_DATATYPE);
            left = n;
            err = make(which, &t);
            left = -1;
            T_EQ(err, err == PLI_OK ? PLI_OK : PLI_ERR_NOMEM);
            if (err == PLI_OK && !is_kept) {
                pli_datatype_release(t);
            }
            T_EQ(pli_handle_live(PLI_KIND_DATATYPE), before + (err == PLI_OK && is_kept));
        }
        T_OK(err == PLI_OK && n > 1); // something was made to fail
    }
    pli_datatype_release(old);
    pli_type_named_fini();
    pli_datatype_fini();
    T_EQ(pli_handle_live(PLI_KIND_DATATYPE), 0);
    return t_status();
}
#endif
