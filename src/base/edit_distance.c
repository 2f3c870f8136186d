// SPDX-License-Identifier: BSD-3-Clause
// The edit distance of two names, one row of the table at a time.
#include "base/edit_distance.h"

#include <string.h>

enum { MOST = 64 };

int pli_edit_distance_distance(const char *typed, const char *right, size_t n)
{
    int row[MOST + 1];
    if (n > MOST || strlen(typed) > MOST) {
        return PLI_EDIT_DISTANCE_FAR;
    }
    for (size_t j = 0; j <= n; j++) {
        row[j] = (int)j;
    }
    for (int i = 1; typed[i - 1] != '\0'; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            int best = diagonal + (typed[i - 1] != right[j - 1]);
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}
