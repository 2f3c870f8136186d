// SPDX-License-Identifier: BSD-3-Clause
// The procedures of mpif.h and the module mpi that C does not have.

void pmpi_f_sync_reg_(void *buf);
void pmpi_f_sync_reg_(void *buf)
{
    (void)buf; // that it was called is enough: the compiler believes that the buffer changed
}
void mpi_f_sync_reg_(void *buf) __attribute__((weak, alias("pmpi_f_sync_reg_")));
