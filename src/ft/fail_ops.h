// SPDX-License-Identifier: BSD-3-Clause
// Withdraws operations that can never complete, after bad news.
#ifndef PLI_FT_FAIL_OPS_H
#define PLI_FT_FAIL_OPS_H

struct pli_conn;

// Look through all lanes for what is to be withdrawn. Context: no lane locked.
void pli_fail_ops_all(void);
// A way to a process was made. Context: lane locked.
void pli_fail_ops_meet(struct pli_conn *c);

#endif
