// SPDX-License-Identifier: BSD-3-Clause
// What the library below is told of Fortran: that of compilers whose default INTEGER is a C int and
// whose LOGICALs are 1 and 0, as gfortran and flang have it.
#include "fortran/register.h"

#include "fortran/argument.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

// Of the standard, but not of its ABI: a library of MPI may lack them.
extern MPI_Fint *MPI_F_STATUS_IGNORE __attribute__((weak));
extern MPI_Fint *MPI_F_STATUSES_IGNORE __attribute__((weak));
extern MPI_F08_status *MPI_F08_STATUS_IGNORE __attribute__((weak));
extern MPI_F08_status *MPI_F08_STATUSES_IGNORE __attribute__((weak));

__attribute__((constructor)) static void set_c_variables(void)
{
    int *one = pliant_mpi_special_.status_ignore, *many = pliant_mpi_special_.statuses_ignore;
    if (&MPI_F_STATUS_IGNORE != NULL && &MPI_F_STATUSES_IGNORE != NULL) {
        MPI_F_STATUS_IGNORE = one;
        MPI_F_STATUSES_IGNORE = many;
    }
    if (&MPI_F08_STATUS_IGNORE != NULL && &MPI_F08_STATUSES_IGNORE != NULL) {
        MPI_F08_STATUS_IGNORE = (MPI_F08_status *)one;
        MPI_F08_STATUSES_IGNORE = (MPI_F08_status *)many;
    }
}

static void register_logical(int size, void *yes, void *no)
{
    unsigned char have_yes[16], have_no[16];
    int is_set = 0;
    if (PMPI_Abi_get_fortran_booleans(size, have_yes, have_no, &is_set) == MPI_SUCCESS && !is_set) {
        PMPI_Abi_set_fortran_booleans(size, yes, no);
    }
}

void pli_register_sizes(void)
{
    static const struct {
        const char *key;
        size_t size;
    } sizes[] = {
        { "mpi_logical_size", sizeof(MPI_Fint) },
        { "mpi_integer_size", sizeof(MPI_Fint) },
        { "mpi_real_size", sizeof(float) },
        { "mpi_double_precision_size", sizeof(double) },
    };
    MPI_Info info = MPI_INFO_NULL;
    if (PMPI_Abi_get_fortran_info(&info) != MPI_SUCCESS) {
        return;
    }
    if (info == MPI_INFO_NULL && PMPI_Info_create(&info) == MPI_SUCCESS) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            char number[8];
            snprintf(number, sizeof number, "%zu", sizes[i].size);
            PMPI_Info_set(info, sizes[i].key, number);
        }
        PMPI_Abi_set_fortran_info(info);
    }
    if (info != MPI_INFO_NULL) {
        PMPI_Info_free(&info);
    }
    // Of the default LOGICAL alone: a library may know no other size and end the job for one.
    register_logical(4, &(uint32_t){ 1 }, &(uint32_t){ 0 });
}
