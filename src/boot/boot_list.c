// SPDX-License-Identifier: BSD-3-Clause
// The bootstraps, in order of preference.
#include "boot/boot.h"

#include "boot/native/native.h"
#include "boot/pmi/pmi.h"
#include "boot/pmix/pmix.h"
#include "boot/solo/solo.h"

#include <stddef.h>

const struct pli_boot_ops *const pli_boot_list[] = { &pli_native_ops, &pli_pmix_ops, &pli_pmi_ops,
                                                     &pli_solo_ops, NULL };
