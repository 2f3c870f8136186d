// SPDX-License-Identifier: BSD-3-Clause
// Where libimpi for another MPI is; it is built when it is needed for the first time.
#ifndef PLI_IMPIRUN_SHIM_H
#define PLI_IMPIRUN_SHIM_H

// The libimpi for an MPI, "-mpich", "-openmpi" or "_abi" (the end of its name). `here` is the folder of impirun, with a slash.
// Where there is none and none can be built, a sentence says why and the process ends.
const char *pli_impirun_shim_find(const char *here, const char *mpi);

#endif
