// SPDX-License-Identifier: BSD-3-Clause
// The restartable sequence area of a thread, which the C library registers with the kernel.
#ifndef PLI_BASE_RSEQ_H
#define PLI_BASE_RSEQ_H

// Register that of the calling thread anew, which the kernel has not: it was made without the C
// library. Otherwise sched_getcpu would always return the same core.
void pli_rseq_register(void);

#endif
