// SPDX-License-Identifier: BSD-3-Clause
// Hints on windows. [MPI-5.0 12.2.1, 12.2.7]
#ifndef PLI_RMA_WIN_INFO_H
#define PLI_RMA_WIN_INFO_H

#include "base/err.h"
#include "obj/info.h"

struct pli_win;

// Take over the hints that are known; info may be NULL.
enum pli_err pli_win_info_keep(struct pli_win *w, struct pli_info *info);

// As the API table calls them.
enum pli_err pli_win_info_set(struct pli_win *w, struct pli_info *info);
enum pli_err pli_win_info_get(struct pli_win *w, struct pli_info **out);

#endif
