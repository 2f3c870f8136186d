// SPDX-License-Identifier: BSD-3-Clause
// A job of another launcher on several hosts: every rank listens, and the first one of each
// host tells the other hosts where.
#ifndef PLI_BOOT_KVS_LISTEN_H
#define PLI_BOOT_KVS_LISTEN_H

#include "boot/kvs/kvs.h"
#include "boot/kvs/kvs_map.h"

// Listen, exchange addresses, and fill the tables of this host. The node memory is there, with the
// job's secret. Waits for the others. Context: once.
enum pli_err pli_kvs_listen_open(const struct pli_kvs *s, const struct pli_kvs_map *m,
                                 struct pli_boot *boot);

// As in struct pli_boot_ops.
int pli_kvs_listen_fd(struct pli_boot *boot);
enum pli_err pli_kvs_listen_accept(struct pli_boot *boot, struct pli_caller *out);
void pli_kvs_listen_close(void);

#endif
