// SPDX-License-Identifier: BSD-3-Clause
// The bootstrap under launchers that speak PMIx: srun --mpi=pmix, PRRTE, Flux, Open MPI's mpiexec.
#ifndef PLI_BOOT_PMIX_PMIX_H
#define PLI_BOOT_PMIX_PMIX_H

#include "boot/boot.h"

extern const struct pli_boot_ops pli_pmix_ops;

#endif
