// SPDX-License-Identifier: BSD-3-Clause
// Decides whether messages go by UCX.
// UCX is worth its memory and its helper thread where a device does what TCP cannot. To know that
// takes a look at the kernel's list of such devices, and UCX need not be loaded for it.
#include "net/ucx/ucx.h"

#include "base/conf.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static const char devices[] = "/sys/class/infiniband";

static bool is_active(const char *device, const char *port)
{
    char path[600], state[32] = "";
    snprintf(path, sizeof path, "%s/%.200s/ports/%.200s/state", devices, device, port);
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return false;
    }
    bool is = fgets(state, sizeof state, f) != NULL && strstr(state, "ACTIVE") != NULL;
    fclose(f);
    return is;
}

static bool has_active_port(const char *device)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%.200s/ports", devices, device);
    DIR *d = opendir(path);
    bool has = false;
    for (const struct dirent *e; d != NULL && !has && (e = readdir(d)) != NULL;) {
        has = e->d_name[0] != '.' && is_active(device, e->d_name);
    }
    if (d != NULL) {
        closedir(d);
    }
    return has;
}

// The first device of the InfiniBand kind, RoCE among them, with a port that is up.
static bool find_device(char *name, size_t room)
{
    DIR *d = opendir(devices);
    bool has = false;
    for (const struct dirent *e; d != NULL && !has && (e = readdir(d)) != NULL;) {
        has = e->d_name[0] != '.' && has_active_port(e->d_name);
        if (has) {
            snprintf(name, room, "%.60s", e->d_name);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return has;
}

bool pli_ucx_has_device(void)
{
    char name[64];
    return find_device(name, sizeof name);
}

bool pli_ucx_is_chosen(const char **why_out)
{
    static _Thread_local char why[160];
    char device[64], version[80];
    *why_out = why;
    if (strcmp(pli_conf.net, "auto") != 0) {
        snprintf(why, sizeof why, "PLIANT_NET=%s", pli_conf.net);
        return strstr(pli_conf.net, "ucx") != NULL;
    }
    if (!find_device(device, sizeof device)) {
        snprintf(why, sizeof why, "no InfiniBand or RoCE port is up here");
        return false;
    }
    if (pli_ucx_version(version, sizeof version) != PLI_OK) {
        snprintf(why, sizeof why, "device %.60s is up, but %.80s", device, pli_fail_take(NULL));
        return false;
    }
    snprintf(why, sizeof why, "device %.60s is up", device);
    return true;
}
