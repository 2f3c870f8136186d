// SPDX-License-Identifier: BSD-3-Clause
// The collectives on communicators that span clients: pli_shim_coll_ on intracommunicators,
// pli_shim_across_ on inter-communicators. Each returns an MPI error code.
#ifndef PLI_SHIM_COLL_H
#define PLI_SHIM_COLL_H

#include "shim/shim.h"

#define PLI_SHIM_BARE(...) __VA_ARGS__
#define COLL(name, small, params, args)                                                            \
    int pli_shim_coll_##small(struct shim_span *s, PLI_SHIM_BARE params);                          \
    int pli_shim_across_##small(struct shim_span *s, PLI_SHIM_BARE params);
#include "shim/shim_coll.def"
#undef COLL

int pli_shim_across_barrier(struct shim_span *s);

#endif
