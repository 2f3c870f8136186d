// SPDX-License-Identifier: BSD-3-Clause
// A hash table with linear probing, at most half full; removal moves following entries back.
#include "engine/impi_idmap.h"
#include <stdlib.h>

static size_t first_slot(const struct pli_impi_idmap *m, uint64_t id)
{
    return (size_t)((id * 0x9e3779b97f4a7c15u) >> 20) & (m->cap - 1);
}

static size_t place(const struct pli_impi_idmap *m, uint64_t id)
{
    size_t i = first_slot(m, id);
    while (m->slot[i].id != 0 && m->slot[i].id != id) {
        i = (i + 1) & (m->cap - 1);
    }
    return i;
}

static enum pli_impi_err grow(struct pli_impi_idmap *m)
{
    struct pli_impi_idmap bigger = { .n = m->n, .cap = m->cap == 0 ? 64 : 2 * m->cap };
    bigger.slot = calloc(bigger.cap, sizeof *bigger.slot);
    if (bigger.slot == NULL) {
        return PLI_IMPI_ERR_NOMEM;
    }
    for (size_t i = 0; i < m->cap; i++) {
        if (m->slot[i].id != 0) {
            bigger.slot[place(&bigger, m->slot[i].id)] = m->slot[i];
        }
    }
    free(m->slot);
    *m = bigger;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_idmap_add(struct pli_impi_idmap *m, uint64_t id, void *value)
{
    if (2 * (m->n + 1) > m->cap) {
        enum pli_impi_err err = grow(m);
        if (err != PLI_IMPI_OK) {
            return err;
        }
    }
    m->slot[place(m, id)] = (struct pli_impi_idmap_slot){ id, value };
    m->n++;
    return PLI_IMPI_OK;
}

void *pli_impi_idmap_find(const struct pli_impi_idmap *m, uint64_t id)
{
    return m->cap == 0 || id == 0 ? NULL : m->slot[place(m, id)].value;
}

void pli_impi_idmap_remove(struct pli_impi_idmap *m, uint64_t id)
{
    if (m->cap == 0) {
        return;
    }
    size_t hole = place(m, id);
    if (m->slot[hole].id == 0) {
        return;
    }
    m->slot[hole] = (struct pli_impi_idmap_slot){ 0 };
    m->n--;
    for (size_t i = (hole + 1) & (m->cap - 1); m->slot[i].id != 0; i = (i + 1) & (m->cap - 1)) {
        size_t want = first_slot(m, m->slot[i].id);
        if (((i - want) & (m->cap - 1)) >= ((i - hole) & (m->cap - 1))) {
            m->slot[hole] = m->slot[i];
            m->slot[i] = (struct pli_impi_idmap_slot){ 0 };
            hole = i;
        }
    }
}

void pli_impi_idmap_fini(struct pli_impi_idmap *m)
{
    free(m->slot);
    *m = (struct pli_impi_idmap){ 0 };
}
