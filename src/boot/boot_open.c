// SPDX-License-Identifier: BSD-3-Clause
// Chooses the bootstrap that started this process and opens it once.
#include "boot/boot_open.h"

#include "base/conf.h"
#include "base/cpu.h"
#include "base/log.h"
#include "boot/boot.h"
#include "boot/native/native.h"
#include "boot/pmi/pmi.h"
#include "boot/pmix/pmix.h"
#include "boot/solo/solo.h"

#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

// In order of preference; the last one (solo) fits every process.
static const struct pli_boot_ops *const list[] = { &pli_native_ops, &pli_pmix_ops, &pli_pmi_ops,
                                                   &pli_solo_ops, NULL };

PLI_START_VAR static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static enum pli_err open_first(void)
{
    pli_conf_load();
    for (int i = 0; list[i] != NULL; i++) {
        if (!list[i]->is_mine()) {
            continue;
        }
        pli_boot.ops = list[i];
        enum pli_err err = pli_boot.ops->open(&pli_boot);
        if (err == PLI_OK && pli_boot.n_world > 1) {
            pli_log_rank((int)(pli_boot.index - pli_boot.world));
        }
        return err;
    }
    return pli_fail(PLI_ERR_INTERN, "no bootstrap fits this process");
}

PLI_START enum pli_err pli_boot_open(struct pli_boot **out)
{
    enum pli_err err = PLI_OK;
    pthread_mutex_lock(&lock);
    if (pli_boot.opener == 0) {
        err = open_first();
        if (err == PLI_OK) {
            pli_boot.opener = getpid();
        }
    } else if (pli_boot.opener != getpid()) {
        err = pli_fail(PLI_ERR_OTHER,
                       "process %d was forked from rank %u (process %d) after that one had started "
                       "MPI; fork first, or exec a new program",
                       (int)getpid(), pli_boot.index, (int)pli_boot.opener);
    }
    pthread_mutex_unlock(&lock);
    if (err == PLI_OK) {
        *out = &pli_boot;
    }
    return err;
}
