// SPDX-License-Identifier: BSD-3-Clause
// The bootstrap under launchers that speak the PMI-1 text protocol: Hydra's mpiexec, srun
// --mpi=pmi2.
#ifndef PLI_BOOT_PMI_PMI_H
#define PLI_BOOT_PMI_PMI_H

#include "boot/boot.h"

extern const struct pli_boot_ops pli_pmi_ops;

#endif
