// SPDX-License-Identifier: BSD-3-Clause
// Reads PLIANT_FAULT, and kills or holds the process at the point that it names.
// Looks at the setting only: no state, no lock, no memory.
#include "base/fault.h"

#include "base/conf.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// Whether the setting names this point and process; what stands behind that.
static bool is_meant(const char *point, uint32_t who, const char **rest_out)
{
    const char *at = pli_conf.fault;
    size_t len = strlen(point);
    if (strncmp(at, point, len) != 0) {
        return false;
    }
    at += len;
    uint32_t meant = who;
    if (*at == ':') {
        meant = 0;
        for (at++; *at >= '0' && *at <= '9'; at++) {
            meant = meant * 10 + (uint32_t)(*at - '0');
        }
    }
    *rest_out = at;
    return meant == who;
}

void pli_fault(const char *point, uint32_t who)
{
    const char *rest;
    if (is_meant(point, who, &rest) && *rest == '\0') {
        kill(getpid(), SIGKILL);
    }
}

void pli_fault_hold(const char *point, uint32_t who)
{
    const char *rest;
    char held[PATH_MAX];
    if (!is_meant(point, who, &rest) || *rest != '@') {
        return;
    }
    static const char end[] = ".held";
    size_t len = strlen(++rest);
    if (len + sizeof end > sizeof held) {
        return;
    }
    memcpy(held, rest, len);
    memcpy(held + len, end, sizeof end);
    if (rename(rest, held) == 0) {
        while (access(held, F_OK) == 0) {
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        }
    }
}
