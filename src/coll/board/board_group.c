// SPDX-License-Identifier: BSD-3-Clause
// Groups of a board's members. A counter that all of them write to is brought from core to core so
// many times; one that is written within a cache stays there.
#include "coll/board/board_group.h"

#include "base/log.h"
#include "boot/hwtree.h"
#include "coll/board/board_wire.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROW_MIN = 4, // members of a group in a row (16 cores: barrier 1.6 us, 2.3 without groups),
    PART_MIN = 8 // and of one that shares a cache, before it is divided (1.7 us)
};

uint32_t pli_board_group_row(int n, uint32_t group_out[])
{
    int size = (n + PLI_BOARD_N_GROUP - 1) / PLI_BOARD_N_GROUP;
    size = size < ROW_MIN ? ROW_MIN : size;
    for (int i = 0; i < n; i++) {
        group_out[i] = (uint32_t)(i / size);
    }
    return (uint32_t)((n + size - 1) / size);
}

// Members of a part before the i-th member.
static int turn_in(const uint32_t part[], int i)
{
    int turn = 0;
    for (int k = 0; k < i; k++) {
        turn += part[k] == part[i];
    }
    return turn;
}

// The groups when none has more than `size` members; more than PLI_BOARD_N_GROUP: too many.
static uint32_t divide(const uint32_t part[], int n, int size, uint32_t group_out[])
{
    uint32_t n_group = 0;
    for (int i = 0; i < n && n_group <= PLI_BOARD_N_GROUP; i++) {
        if (turn_in(part, i) % size == 0) {
            group_out[i] = n_group++; // the first of a group
            continue;
        }
        for (int k = i - 1;; k--) { // with the one before it
            if (part[k] == part[i]) {
                group_out[i] = group_out[k];
                break;
            }
        }
    }
    return n_group;
}

// By the numbers of the parts that members are in: no group has members of two parts. 0: there is
// one part only, or too many.
static uint32_t group_parts(const uint32_t part[], int n, uint32_t group_out[])
{
    bool has_many = false;
    for (int i = 0; i < n; i++) {
        has_many = has_many || part[i] != part[0];
        if (part[i] == PLI_HWTREE_ANY) {
            return 0;
        }
    }
    for (int size = PART_MIN; has_many && size < 2 * n; size *= 2) {
        uint32_t n_group = divide(part, n, size, group_out);
        if (n_group <= PLI_BOARD_N_GROUP) {
            return n_group;
        }
    }
    return 0;
}

static bool are_bound_alike(const uint64_t *masks, int n)
{
    size_t len = PLI_BOARD_GROUP_WORDS * sizeof *masks;
    for (int i = 1; i < n; i++) {
        if (memcmp(masks, masks + (size_t)i * PLI_BOARD_GROUP_WORDS, len) != 0) {
            return false;
        }
    }
    return true;
}

// at: the places of all members in the tree.
static uint32_t choose_level(const uint32_t *at, uint32_t *part, int n, uint32_t group_out[])
{
    static const enum pli_hwtree_level levels[] = { PLI_HWTREE_L3, PLI_HWTREE_NUMA,
                                                    PLI_HWTREE_PACKAGE };
    uint32_t n_group = 0;
    for (size_t l = 0; n_group == 0 && l < sizeof levels / sizeof levels[0]; l++) {
        for (int i = 0; i < n; i++) {
            part[i] = at[(size_t)i * PLI_N_HWTREE + levels[l]];
        }
        n_group = group_parts(part, n, group_out);
    }
    return n_group;
}

uint32_t pli_board_group_bound(const uint64_t *masks, int n, uint32_t group_out[])
{
    if (are_bound_alike(masks, n)) {
        return 0;
    }
    uint32_t n_group = 0, *at = malloc((size_t)n * (PLI_N_HWTREE + 1) * sizeof *at);
    enum pli_err err = at != NULL ? pli_hwtree_load() : PLI_ERR_NOMEM;
    for (int i = 0; err == PLI_OK && i < n; i++) {
        err = pli_hwtree_find(masks + (size_t)i * PLI_BOARD_GROUP_WORDS, PLI_BOARD_GROUP_WORDS,
                              at + (size_t)i * PLI_N_HWTREE);
    }
    if (err == PLI_OK) {
        n_group = choose_level(at, at + (size_t)n * PLI_N_HWTREE, n, group_out);
    } else if (at != NULL) {
        pli_log(PLI_INFO, "coll: members of a board are grouped by rank: %s", pli_fail_take(NULL));
    }
    free(at);
    return n_group;
}
