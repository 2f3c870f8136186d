// SPDX-License-Identifier: BSD-3-Clause
// The ABI's version and sizes, and what a Fortran layer has registered.
#include "glue/abi.h"

#include "obj/info.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { N_SIZE = 5, LARGEST = 16 }; // logicals of 1, 2, 4, 8 and 16 bytes

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct pli_info *fortran; // guarded by guard, as the next
static struct {
    bool is_set;
    unsigned char yes[LARGEST], no[LARGEST];
} logicals[N_SIZE];

enum pli_err pli_abi_version(int *major_out, int *minor_out)
{
    *major_out = MPI_ABI_VERSION;
    *minor_out = MPI_ABI_SUBVERSION;
    return PLI_OK;
}

enum pli_err pli_abi_info(struct pli_info **out)
{
    static const struct {
        const char *key;
        size_t size;
    } sizes[] = {
        { "mpi_aint_size", sizeof(MPI_Aint) },
        { "mpi_count_size", sizeof(MPI_Count) },
        { "mpi_offset_size", sizeof(MPI_Offset) },
    };
    struct pli_info *info;
    enum pli_err err = pli_info_create(&info);
    if (err != PLI_OK) {
        return err;
    }
    for (size_t i = 0; err == PLI_OK && i < sizeof sizes / sizeof sizes[0]; i++) {
        char number[8];
        snprintf(number, sizeof number, "%zu", sizes[i].size);
        err = pli_info_set(info, sizes[i].key, number);
    }
    if (err != PLI_OK) {
        pli_info_release(info);
        return err;
    }
    *out = info;
    return PLI_OK;
}

enum pli_err pli_abi_set_fortran_info(struct pli_info *info)
{
    struct pli_info *copy;
    enum pli_err err = pli_info_dup(info, &copy);
    if (err != PLI_OK) {
        return err;
    }
    pthread_mutex_lock(&guard);
    bool is_first = fortran == NULL;
    if (is_first) {
        fortran = copy;
    }
    pthread_mutex_unlock(&guard);
    if (!is_first) {
        pli_info_release(copy);
        return pli_fail(PLI_ERR_ABI, "the Fortran information was set before");
    }
    return PLI_OK;
}

enum pli_err pli_abi_get_fortran_info(struct pli_info **out)
{
    pthread_mutex_lock(&guard);
    struct pli_info *info = fortran;
    pthread_mutex_unlock(&guard);
    *out = NULL;
    return info != NULL ? pli_info_dup(info, out) : PLI_OK;
}

// The place for logicals of a size; -1: no Fortran has that size, and the reason is noted.
static int place_of(int size)
{
    for (int i = 0; i < N_SIZE; i++) {
        if (size == 1 << i) {
            return i;
        }
    }
    pli_fail(PLI_ERR_ARG, "argument logical_size is %d, but must be 1, 2, 4, 8 or 16", size);
    return -1;
}

enum pli_err pli_abi_set_fortran_booleans(int size, void *yes, void *no)
{
    int i = place_of(size);
    if (i < 0) {
        return PLI_ERR_ARG;
    }
    if (yes == NULL || no == NULL) {
        return pli_fail(PLI_ERR_ARG, "argument %s is NULL",
                        yes == NULL ? "logical_true" : "logical_false");
    }
    pthread_mutex_lock(&guard);
    bool is_first = !logicals[i].is_set;
    if (is_first) {
        logicals[i].is_set = true;
        memcpy(logicals[i].yes, yes, (size_t)size);
        memcpy(logicals[i].no, no, (size_t)size);
    }
    pthread_mutex_unlock(&guard);
    return is_first
               ? PLI_OK
               : pli_fail(PLI_ERR_ABI, "the values of logicals of %d bytes were set before", size);
}

enum pli_err pli_abi_get_fortran_booleans(int size, void *yes_out, void *no_out, int *is_set_out)
{
    int i = place_of(size);
    if (i < 0) {
        return PLI_ERR_ARG;
    }
    pthread_mutex_lock(&guard);
    *is_set_out = logicals[i].is_set;
    if (logicals[i].is_set) {
        memcpy(yes_out, logicals[i].yes, (size_t)size);
        memcpy(no_out, logicals[i].no, (size_t)size);
    }
    pthread_mutex_unlock(&guard);
    return PLI_OK;
}
