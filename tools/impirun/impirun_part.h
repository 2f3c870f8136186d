// SPDX-License-Identifier: BSD-3-Clause
// One part of impirun's command line: which MPI, and what its mpiexec is told.
#ifndef PLI_IMPIRUN_PART_H
#define PLI_IMPIRUN_PART_H

#include <stdbool.h>
#include <stdint.h>

// What the options in front of a part say.
struct pli_impirun_part_args {
    int mpi;          // index of the word after --mpi
    const char *shim; // given by the user; NULL: found beside this program
};

// The path of a program that lies beside this one.
const char *pli_impirun_part_tool(const char *name);

// Check that the part can be run; where it cannot, say why and end.
void pli_impirun_part_check(char **words);

// Become the mpiexec that runs the part. IMPI_SERVER and IMPI_CLIENT are set.
_Noreturn void pli_impirun_part_exec(char **words);

#endif
