// SPDX-License-Identifier: BSD-3-Clause
// The table of keys. A number is a slot and how often the slot was used before, so that a number
// kept too long is noticed instead of meaning another key.
#include "obj/keyval.h"

#include <stdlib.h>

enum { BIT = 1 << 30, SLOT_BITS = 20, N_SLOT = 1 << SLOT_BITS, N_USE = 1 << 10 };

struct slot {
    struct pli_keyval *key;
    unsigned n_use;
    int next_free;
};

static struct slot *slots;
static int n_slot, cap;
static int first_free = -1;

static int take_slot(void)
{
    if (first_free >= 0) {
        int i = first_free;
        first_free = slots[i].next_free;
        return i;
    }
    if (n_slot == cap && cap < N_SLOT) {
        int more = cap == 0 ? 16 : 2 * cap;
        struct slot *p = realloc(slots, (size_t)more * sizeof *p);
        if (p != NULL) {
            slots = p;
            cap = more;
        }
    }
    if (n_slot == cap) {
        return -1;
    }
    slots[n_slot] = (struct slot){ 0 };
    return n_slot++;
}

struct pli_keyval *pli_keyval_create(enum pli_kind on)
{
    struct pli_keyval *k = calloc(1, sizeof *k);
    int i = k != NULL ? take_slot() : -1;
    if (i < 0) {
        free(k);
        return NULL;
    }
    k->number = BIT | (int)(slots[i].n_use++ % N_USE) << SLOT_BITS | i;
    k->on = on;
    k->refs = 1;
    slots[i].key = k;
    return k;
}

struct pli_keyval *pli_keyval_find(int number)
{
    int i = number & (N_SLOT - 1);
    if (number < BIT || i >= n_slot || slots[i].key == NULL || slots[i].key->number != number) {
        return NULL;
    }
    return slots[i].key;
}

void pli_keyval_release(struct pli_keyval *k)
{
    if (--k->refs == 0) {
        int i = k->number & (N_SLOT - 1);
        slots[i].key = NULL;
        slots[i].next_free = first_free;
        first_free = i;
        free(k);
    }
}
