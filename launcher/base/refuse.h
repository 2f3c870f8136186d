// SPDX-License-Identifier: BSD-3-Clause
// Makes an answer that says no, and why.
#ifndef PLI_LAUNCHER_REFUSE_H
#define PLI_LAUNCHER_REFUSE_H

struct pli_answer;

__attribute__((format(printf, 3, 4))) void pli_refuse(struct pli_answer *a, int error,
                                                      const char *fmt, ...);

#endif
