// SPDX-License-Identifier: BSD-3-Clause
// How far a mistyped name is from a right one, to ask "did you mean".
#ifndef PLI_BASE_EDIT_DISTANCE_H
#define PLI_BASE_EDIT_DISTANCE_H

#include <stddef.h>

enum { PLI_EDIT_DISTANCE_FAR = 99 }; // for names that are too long to compare

// Letters to change, add or drop to make `typed` the first n letters of `right`.
int pli_edit_distance_distance(const char *typed, const char *right, size_t n);

#endif
