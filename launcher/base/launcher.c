// SPDX-License-Identifier: BSD-3-Clause
// Holds the one struct through which every file of the launcher finds its state.
#include "launcher/base/launcher.h"

struct pli_launcher pli_launcher;
