// SPDX-License-Identifier: BSD-3-Clause
// Fills MPI_INFO_ENV: how this process was started. [MPI-5.0 10, 11.5]
#include "obj/info_env.h"

#include "boot/boot.h"
#include "boot/boot_open.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;

// Set what fits; a value that does not is cut, since the user could not hold it.
static void put(struct pli_info *i, const char *key, const char *value)
{
    char fit[MPI_MAX_INFO_VAL];
    snprintf(fit, sizeof fit, "%s", value);
    if (fit[0] != '\0' && pli_info_set(i, key, fit) != PLI_OK) {
        pli_fail_take(NULL); // no memory: the info object lacks this key
    }
}

static void put_command(struct pli_info *i, int argc, char *const argv[])
{
    char line[MPI_MAX_INFO_VAL] = "";
    size_t len = 0;
    for (int k = 1; k < argc && argv[k] != NULL && len < sizeof line; k++) {
        int n = snprintf(line + len, sizeof line - len, "%s%s", k > 1 ? " " : "", argv[k]);
        len += n > 0 ? (size_t)n : 0;
    }
    if (argc > 0 && argv[0] != NULL) {
        put(i, "command", argv[0]);
        put(i, "argv", line);
    }
}

// The command line of this process as the kernel knows it.
static void put_own_command(struct pli_info *i)
{
    char text[4096];
    char *argv[256];
    int argc = 0;
    FILE *f = fopen("/proc/self/cmdline", "re");
    size_t len = f != NULL ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f != NULL) {
        fclose(f);
    }
    text[len] = '\0';
    for (size_t at = 0; at < len && argc < 256; at += strlen(text + at) + 1) {
        argv[argc++] = text + at;
    }
    put_command(i, argc, argv);
}

static void put_launch(struct pli_info *i)
{
    struct pli_boot *boot;
    struct utsname host;
    char number[16];
    char *dir = getcwd(NULL, 0);
    if (pli_boot_open(&boot) == PLI_OK) {
        snprintf(number, sizeof number, "%u", boot->node.rows[boot->row].n_app);
        put(i, "maxprocs", number);
    } else {
        pli_fail_take(NULL);
    }
    if (uname(&host) == 0) {
        put(i, "host", host.nodename);
        put(i, "arch", host.machine);
    }
    if (dir != NULL) {
        put(i, "wdir", dir);
    }
    free(dir);
}

// MPI_INFO_ENV refuses pli_info_set, so a copy is filled and its contents are moved over.
static void fill(void)
{
    struct pli_info *i;
    if (pli_info_create(&i) != PLI_OK) {
        pli_fail_take(NULL);
        return;
    }
    put_own_command(i);
    put_launch(i);
    pli_info_env.pairs = i->pairs;
    pli_info_env.n = i->n;
    pli_info_env.cap = i->cap;
    i->pairs = NULL;
    i->n = i->cap = 0;
    pli_info_release(i);
}

void pli_info_env_fill(void)
{
    pthread_once(&once, fill);
}

enum pli_err pli_info_env_create(int argc, char *argv[], struct pli_info **out)
{
    struct pli_info *i;
    enum pli_err err = pli_info_create(&i);
    if (err != PLI_OK) {
        return err;
    }
    if (argc > 0 && argv != NULL) {
        put_command(i, argc, argv);
    } else {
        put_own_command(i);
    }
    put_launch(i);
    *out = i;
    return PLI_OK;
}
