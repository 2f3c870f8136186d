// SPDX-License-Identifier: BSD-3-Clause
// The room that a caller provides for a sentence that says what is wrong.
#ifndef PLI_LAUNCHER_WHY_H
#define PLI_LAUNCHER_WHY_H

enum { PLI_CKPT_WHY = 400 };

#endif
