// SPDX-License-Identifier: BSD-3-Clause
// What the library below is told of Fortran: that of compilers whose default INTEGER is a C int and
// whose LOGICALs are 1 and 0, as gfortran and flang have it.
#include "fortran/register.h"

#include "fortran/argument.h"

#include <assert.h>
#include <float.h>
#include <mpi.h>
#include <stdint.h>

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

static const struct {
    const char *key, *value;
} described[] = {
    // The sizes of default types: INTEGER and LOGICAL are a C int, REAL a float.
    { "mpi_logical_size", "4" },
    { "mpi_integer_size", "4" },
    { "mpi_real_size", "4" },
    { "mpi_double_precision_size", "8" },
    // What one of the compilers has counts, as this library serves all of them. One below that is
    // not told so refuses the datatype.
    { "mpi_logical1_supported", "true" },
    { "mpi_logical2_supported", "true" },
    { "mpi_logical4_supported", "true" },
    { "mpi_logical8_supported", "true" },
    { "mpi_integer1_supported", "true" },
    { "mpi_integer2_supported", "true" },
    { "mpi_integer4_supported", "true" },
    { "mpi_integer8_supported", "true" },
    { "mpi_real2_supported", "true" },
    { "mpi_real4_supported", "true" },
    { "mpi_real8_supported", "true" },
    { "mpi_complex4_supported", "true" },
    { "mpi_complex8_supported", "true" },
    { "mpi_complex16_supported", "true" },
    { "mpi_double_complex_supported", "true" },
#ifdef __SIZEOF_INT128__
    { "mpi_logical16_supported", "true" },
    { "mpi_integer16_supported", "true" },
#else
    { "mpi_logical16_supported", "false" },
    { "mpi_integer16_supported", "false" },
#endif
#if defined(__SIZEOF_FLOAT128__) || LDBL_MANT_DIG == 113
    { "mpi_real16_supported", "true" },
    { "mpi_complex32_supported", "true" },
#else
    { "mpi_real16_supported", "false" },
    { "mpi_complex32_supported", "false" },
#endif
};
static_assert(sizeof(MPI_Fint) == 4 && sizeof(float) == 4 && sizeof(double) == 8,
              "the sizes of default types are those above");

void pli_register_sizes(void)
{
    MPI_Info info = MPI_INFO_NULL;
    if (PMPI_Abi_get_fortran_info(&info) != MPI_SUCCESS) {
        return;
    }
    if (info == MPI_INFO_NULL && PMPI_Info_create(&info) == MPI_SUCCESS) {
        for (size_t i = 0; i < sizeof described / sizeof described[0]; i++) {
            PMPI_Info_set(info, described[i].key, described[i].value);
        }
        PMPI_Abi_set_fortran_info(info);
    }
    if (info != MPI_INFO_NULL) {
        PMPI_Info_free(&info);
    }
    // Of the default LOGICAL alone: a library may know no other size and end the job for one.
    register_logical(4, &(uint32_t){ 1 }, &(uint32_t){ 0 });
}
