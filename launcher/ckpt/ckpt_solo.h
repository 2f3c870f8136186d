// SPDX-License-Identifier: BSD-3-Clause
// What mpiexec does about checkpoints in a job on one host.
#ifndef PLI_LAUNCHER_CKPT_SOLO_H
#define PLI_LAUNCHER_CKPT_SOLO_H

struct pli_ckpt_role;

extern const struct pli_ckpt_role pli_ckpt_solo_role;

#endif
