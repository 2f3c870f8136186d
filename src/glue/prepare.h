// SPDX-License-Identifier: BSD-3-Clause
// What must be there before any handle is looked up: settings and predefined objects.
#ifndef PLI_GLUE_PREPARE_H
#define PLI_GLUE_PREPARE_H

// Context: any thread; the first call does it.
void pli_prepare(void);

#endif
