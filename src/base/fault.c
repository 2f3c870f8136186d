// SPDX-License-Identifier: BSD-3-Clause
// Looks at the setting only: no state, no lock, no memory.
#include "base/fault.h"

#include "base/conf.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

void pli_fault(const char *point, uint32_t who)
{
    const char *at = pli_conf.fault;
    size_t len = strlen(point);
    if (strncmp(at, point, len) != 0 || (at[len] != '\0' && at[len] != ':')) {
        return;
    }
    uint32_t meant = 0;
    for (const char *digit = at + len + 1; at[len] == ':' && *digit != '\0'; digit++) {
        meant = meant * 10 + (uint32_t)(*digit - '0');
    }
    if (at[len] == '\0' || meant == who) {
        kill(getpid(), SIGKILL);
    }
}
