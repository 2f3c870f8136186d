// SPDX-License-Identifier: BSD-3-Clause
// The functions of this folder that files of job, ranks and hosts call.
#ifndef PLI_LAUNCHER_CKPT_HOOK_TABLE_H
#define PLI_LAUNCHER_CKPT_HOOK_TABLE_H

struct pli_ckpt_hooks;

extern const struct pli_ckpt_hooks pli_ckpt_hook_table;

#endif
