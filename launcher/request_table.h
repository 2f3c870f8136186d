// SPDX-License-Identifier: BSD-3-Clause
// The requests that mpiexec and its daemons know.
#ifndef PLI_LAUNCHER_REQUEST_TABLE_H
#define PLI_LAUNCHER_REQUEST_TABLE_H

#include "launcher/ranks/rank_request.h"

extern const struct pli_request_op pli_request_table[]; // for pli_launcher.requests

#endif
