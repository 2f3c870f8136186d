// SPDX-License-Identifier: BSD-3-Clause
// A hash from 64-bit numbers, none of them 0, to pointers, none of them NULL. Context: one thread.
#ifndef PLI_IMPI_IDMAP_H
#define PLI_IMPI_IDMAP_H

#include <stddef.h>
#include <stdint.h>
#include "wire/impi_err.h"

struct pli_impi_idmap_slot {
    uint64_t id; // 0 is free
    void *value;
};

struct pli_impi_idmap { // all zero: empty
    struct pli_impi_idmap_slot *slot;
    size_t n, cap; // cap is 0 or a power of two
};

// `id` must not be there yet. ERR_NOMEM.
enum pli_impi_err pli_impi_idmap_add(struct pli_impi_idmap *m, uint64_t id, void *value);
void *pli_impi_idmap_find(const struct pli_impi_idmap *m, uint64_t id); // NULL: not there
void pli_impi_idmap_remove(struct pli_impi_idmap *m, uint64_t id);
void pli_impi_idmap_fini(struct pli_impi_idmap *m); // the values are the caller's

#endif
