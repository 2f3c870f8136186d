// SPDX-License-Identifier: BSD-3-Clause
// Sections of arrays in calls of mpi_f08, and the few procedures that only Fortran has.
#include "fortran/f08.h"

#include "fortran/argument.h"
#include "fortran/pending.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// An error code with this text; the class itself where no code can be had. There is one code for
// each class, whose text is that of the last error.
static int say(int *code, int class, const char *text)
{
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&guard);
    if (*code == 0 && PMPI_Add_error_code(class, code) != MPI_SUCCESS) {
        *code = 0;
    }
    if (*code != 0) {
        PMPI_Add_error_string(*code, text);
    }
    int made = *code != 0 ? *code : class;
    pthread_mutex_unlock(&guard);
    return made;
}

static int section_error(const char *routine, const char *argument)
{
    static int code;
    char text[MPI_MAX_ERROR_STRING];
    snprintf(text, sizeof text,
             "%s: argument %s is an array section that is not contiguous, as it must be here: copy "
             "it to a contiguous array",
             routine, argument);
    return say(&code, MPI_ERR_BUFFER, text);
}

static int short_error(const char *routine, const char *argument, const struct pli_cdesc *d)
{
    static int code;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Count bytes = pli_cdesc_size(d) * (MPI_Count)d->elem_len;
    snprintf(text, sizeof text,
             "%s: argument %s is an array section of %lld bytes, but count and datatype ask for "
             "more",
             routine, argument, (long long)bytes);
    return say(&code, MPI_ERR_COUNT, text);
}

int pli_f08_check(const struct pli_cdesc *d, MPI_Count count, const void *type,
                  const struct pli_f08_buffer *to)
{
    MPI_Datatype t = PMPI_Type_fromint(*(const int *)type);
    MPI_Count size = 0, lb, extent, true_lb, true_extent;
    if (pli_cdesc_is_plain(d) || count <= 0 || t == MPI_DATATYPE_NULL ||
        PMPI_Type_size_c(t, &size) != MPI_SUCCESS || size <= 0) {
        return MPI_SUCCESS; // there is nothing to look at, or it is the C function's to judge
    }
    PMPI_Type_get_extent_c(t, &lb, &extent);
    PMPI_Type_get_true_extent_c(t, &true_lb, &true_extent);
    MPI_Count bytes = true_lb + true_extent + (count - 1) * extent;
    return bytes > pli_cdesc_size(d) * (MPI_Count)d->elem_len
               ? short_error(to->routine, to->argument, d)
               : MPI_SUCCESS;
}

static MPI_Count number_at(const void *array, int i, bool is_wide)
{
    return is_wide ? ((const MPI_Count *)array)[i] : ((const int *)array)[i];
}

static void set_number(void *array, int i, bool is_wide, MPI_Count value)
{
    if (is_wide) {
        ((MPI_Count *)array)[i] = value;
    } else {
        ((int *)array)[i] = (int)value;
    }
}

MPI_Count pli_f08_total(const void *counts, int n, bool is_wide)
{
    MPI_Count total = 0;
    for (int i = 0; i < n; i++) {
        total += number_at(counts, i, is_wide);
    }
    return total;
}

MPI_Count pli_f08_reach(const void *counts, bool is_wide_count, const void *displs,
                        bool is_wide_displ, int n)
{
    MPI_Count reach = 0;
    for (int i = 0; i < n; i++) {
        MPI_Count count = number_at(counts, i, is_wide_count);
        MPI_Count end = number_at(displs, i, is_wide_displ) + count;
        reach = count > 0 && end > reach ? end : reach;
    }
    return reach;
}

int pli_f08_size(const void *comm)
{
    int size = 0;
    MPI_Comm c = PMPI_Comm_fromint(*(const int *)comm);
    return c != MPI_COMM_NULL && PMPI_Comm_size(c, &size) == MPI_SUCCESS ? size : 0;
}

MPI_Count pli_f08_own(const void *counts, bool is_wide, const void *comm)
{
    int rank = 0;
    MPI_Comm c = PMPI_Comm_fromint(*(const int *)comm);
    bool is_known = c != MPI_COMM_NULL && PMPI_Comm_rank(c, &rank) == MPI_SUCCESS;
    return is_known ? number_at(counts, rank, is_wide) : 0;
}

static int use_view(int err, struct pli_f08_buffer *to)
{
    to->addr = to->view.addr;
    if (err == MPI_SUCCESS && to->view.made != MPI_DATATYPE_NULL) {
        to->is_changed = true;
        to->type = PMPI_Type_toint(to->view.made);
        to->count = to->small = 1;
    }
    return err;
}

int pli_f08_view(const struct pli_cdesc *d, MPI_Count count, const void *type, bool may_copy,
                 struct pli_f08_buffer *to)
{
    (void)may_copy; // a datatype can say it
    int err =
        use_view(pli_cdesc_view(d, count, PMPI_Type_fromint(*(const int *)type), &to->view), to);
    return err == MPI_ERR_COUNT ? short_error(to->routine, to->argument, d) : err;
}

// Whether procedures of the program convert the data of a file.
static bool is_converted(MPI_File file)
{
    char name[MPI_MAX_DATAREP_STRING + 1] = "native";
    MPI_Offset disp;
    MPI_Datatype types[2] = { MPI_DATATYPE_NULL, MPI_DATATYPE_NULL };
    if (PMPI_File_get_view(file, &disp, &types[0], &types[1], name) != MPI_SUCCESS) {
        return false; // the call itself fails
    }
    for (int i = 0; i < 2; i++) {
        pli_cdesc_free_content(types[i]);
    }
    return strcmp(name, "native") != 0 && strcmp(name, "internal") != 0 &&
           strcmp(name, "external32") != 0;
}

int pli_f08_file(const struct pli_cdesc *d, MPI_Count count, const void *type, bool may_copy,
                 const void *file, struct pli_f08_buffer *to)
{
    if (!pli_cdesc_is_plain(d) && is_converted(PMPI_File_fromint(*(const int *)file))) {
        return may_copy ? pli_f08_copy(d, to) : section_error(to->routine, to->argument);
    }
    return pli_f08_view(d, count, type, may_copy, to);
}

int pli_f08_blocks(const struct pli_cdesc *d, MPI_Count count, const void *type, bool may_copy,
                   struct pli_f08_buffer *to)
{
    int err =
        use_view(pli_cdesc_blocks(d, count, PMPI_Type_fromint(*(const int *)type), &to->view), to);
    if (err == MPI_ERR_COUNT) {
        return short_error(to->routine, to->argument, d);
    }
    if (err != MPI_ERR_BUFFER) {
        return err;
    }
    return may_copy ? pli_f08_copy(d, to) : section_error(to->routine, to->argument);
}

int pli_f08_copy(const struct pli_cdesc *d, struct pli_f08_buffer *to)
{
    to->view.made = MPI_DATATYPE_NULL;
    to->addr = d->base_addr;
    if (!pli_cdesc_is_plain(d)) {
        to->addr = to->packed = pli_cdesc_pack(d);
        to->record = pli_pending_prepare(d); // now, because it must not fail after the call
    }
    return pli_cdesc_is_plain(d) || (to->packed != NULL && to->record != NULL) ? MPI_SUCCESS
                                                                               : MPI_ERR_NO_MEM;
}

int pli_f08_refuse(const struct pli_cdesc *d, struct pli_f08_buffer *to)
{
    to->view.made = MPI_DATATYPE_NULL;
    to->addr = d->base_addr;
    return pli_cdesc_is_plain(d) || pli_cdesc_size(d) == 0
               ? MPI_SUCCESS
               : section_error(to->routine, to->argument);
}

int pli_f08_address(const struct pli_cdesc *d, struct pli_f08_buffer *to)
{
    to->view.made = MPI_DATATYPE_NULL;
    to->addr = d->base_addr;
    return MPI_SUCCESS;
}

void pli_f08_finish(const struct pli_cdesc *d, struct pli_f08_buffer *to, bool changed)
{
    if (to->is_changed) {
        pli_cdesc_release(&to->view);
    }
    pli_cdesc_unpack(d, to->packed, changed);
    pli_pending_destroy(to->record);
}

void pli_f08_keep(const struct pli_cdesc *d, struct pli_f08_buffer *to, bool changed,
                  const int *request, bool is_persistent)
{
    if (request == NULL || to->packed == NULL) {
        pli_f08_finish(d, to, request != NULL && changed);
        return;
    }
    pli_pending_add(to->record, *request, to->packed, changed, is_persistent);
}

// One element of a datatype for what rank i has; a wrong count or datatype is the C function's to
// judge.
static int set_part(const struct pli_cdesc *d, int i, const struct pli_f08_arrays *from,
                    struct pli_f08_each *to)
{
    struct pli_cdesc_view view;
    MPI_Count count = number_at(from->counts, i, from->is_wide_count);
    MPI_Count displ = number_at(from->displs, i, from->is_wide_displ);
    int err = pli_cdesc_part(d, displ, count, PMPI_Type_fromint(from->types[i]), &view);
    if (err != MPI_SUCCESS) {
        return err == MPI_ERR_COUNT ? short_error(to->routine, to->argument, d) : err;
    }
    to->types[i] = from->types[i];
    if (view.made != MPI_DATATYPE_NULL) {
        to->made[to->n_made++] = view.made;
        to->types[i] = PMPI_Type_toint(view.made);
        displ = 0;
    }
    set_number(to->counts, i, from->is_wide_count, view.count);
    set_number(to->displs, i, from->is_wide_displ, displ);
    return MPI_SUCCESS;
}

int pli_f08_each(const struct pli_cdesc *d, int n, const struct pli_f08_arrays *from,
                 struct pli_f08_each *to)
{
    to->addr = d->base_addr;
    if (pli_cdesc_is_plain(d) || pli_cdesc_size(d) == 0 || n <= 0) {
        return MPI_SUCCESS;
    }
    size_t count_bytes = (size_t)n * (from->is_wide_count ? sizeof(MPI_Count) : sizeof(int));
    size_t displ_bytes = (size_t)n * (from->is_wide_displ ? sizeof(MPI_Aint) : sizeof(int));
    to->is_changed = true;
    to->types = malloc((size_t)n * sizeof *to->types);
    to->made = malloc((size_t)n * sizeof(MPI_Datatype));
    to->counts = malloc(count_bytes);
    to->displs = malloc(displ_bytes);
    bool is_good =
        to->types != NULL && to->made != NULL && to->counts != NULL && to->displs != NULL;
    int err = is_good ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (int i = 0; i < n && err == MPI_SUCCESS; i++) {
        err = set_part(d, i, from, to);
    }
    to->kept_counts = to->counts;
    to->kept_displs = to->displs;
    if (err == MPI_SUCCESS && from->is_nonblocking) {
        to->kept_counts = pli_argument_keep(to->counts, count_bytes);
        to->kept_displs = pli_argument_keep(to->displs, displ_bytes);
        err = to->kept_counts == NULL || to->kept_displs == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    }
    return err;
}

void pli_f08_each_finish(struct pli_f08_each *to)
{
    for (int i = 0; i < to->n_made; i++) {
        PMPI_Type_free(&to->made[i]); // a pending request holds it
    }
    free(to->types);
    free(to->made);
    free(to->counts);
    free(to->displs);
}

int pli_f08_fail_comm(const void *h, int err)
{
    PMPI_Comm_call_errhandler(h == NULL ? MPI_COMM_SELF : PMPI_Comm_fromint(*(const int *)h), err);
    return err;
}

int pli_f08_fail_win(const void *h, int err)
{
    PMPI_Win_call_errhandler(PMPI_Win_fromint(*(const int *)h), err);
    return err;
}

int pli_f08_fail_file(const void *h, int err)
{
    PMPI_File_call_errhandler(PMPI_File_fromint(*(const int *)h), err);
    return err;
}

// What C does not have; the names are those that a Fortran compiler makes.

static void success(int *ierror)
{
    if (ierror != NULL) {
        *ierror = MPI_SUCCESS;
    }
}

void pmpi_sizeof_f08ts_(const struct pli_cdesc *x, int *size, int *ierror);
void pmpi_sizeof_f08ts_(const struct pli_cdesc *x, int *size, int *ierror)
{
    *size = (int)x->elem_len;
    success(ierror);
}

void pmpi_f_sync_reg_f08ts_(const struct pli_cdesc *buf);
void pmpi_f_sync_reg_f08ts_(const struct pli_cdesc *buf)
{
    (void)buf; // that it was called is enough: the compiler believes that the buffer changed
}

// For compilers that pass buffers by address.
void pmpi_f_sync_reg_f08_(void *buf);
void pmpi_f_sync_reg_f08_(void *buf)
{
    (void)buf;
}

void mpi_f_sync_reg_f08_(void *buf) __attribute__((weak, alias("pmpi_f_sync_reg_f08_")));
void mpi_sizeof_f08ts_(const struct pli_cdesc *x, int *size, int *ierror)
    __attribute__((weak, alias("pmpi_sizeof_f08ts_")));
void mpi_f_sync_reg_f08ts_(const struct pli_cdesc *buf)
    __attribute__((weak, alias("pmpi_f_sync_reg_f08ts_")));

// The three forms of a status have one layout.
void pmpi_status_f2f08_f08_(const int *f_status, MPI_Status *f08_status, int *ierror);
void pmpi_status_f2f08_f08_(const int *f_status, MPI_Status *f08_status, int *ierror)
{
    memcpy(f08_status, f_status, sizeof *f08_status);
    success(ierror);
}

void pmpi_status_f082f_f08_(const MPI_Status *f08_status, int *f_status, int *ierror);
void pmpi_status_f082f_f08_(const MPI_Status *f08_status, int *f_status, int *ierror)
{
    memcpy(f_status, f08_status, sizeof *f08_status);
    success(ierror);
}

void mpi_status_f2f08_f08_(const int *f_status, MPI_Status *f08_status, int *ierror)
    __attribute__((weak, alias("pmpi_status_f2f08_f08_")));
void mpi_status_f082f_f08_(const MPI_Status *f08_status, int *f_status, int *ierror)
    __attribute__((weak, alias("pmpi_status_f082f_f08_")));
