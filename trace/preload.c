// SPDX-License-Identifier: BSD-3-Clause
// Finds the other libraries that mpiexec has put between the program and MPI.
#include "trace/preload.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { N_RANGE = 4 };

static struct {
    bool has_next;
    void *foreign;
    int n_range;
    struct {
        uintptr_t begin, n;
    } ranges[N_RANGE];
} state;

static bool is_ours(const char *path)
{
    static const char *const names[] = { "/libpliant_trace.so", "/libpliant_check.so",
                                         "/libpliant_tools.so", "/libpliant_record.so",
                                         "/libpliant_mpifort.so" };
    for (size_t i = 0; path != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strstr(path, names[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static int note_range(struct dl_phdr_info *info, size_t size, void *own)
{
    (void)size;
    uintptr_t begin = info->dlpi_addr, n = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t end = info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        n = info->dlpi_phdr[i].p_type == PT_LOAD && end > n ? end : n;
    }
    bool is_this = (uintptr_t)own - begin < n;
    if (is_ours(info->dlpi_name) && !is_this && state.n_range < N_RANGE) {
        state.ranges[state.n_range].begin = begin;
        state.ranges[state.n_range++].n = n;
    }
    return 0;
}

void pli_preload_open(void)
{
    Dl_info it;
    void *next = dlsym(RTLD_NEXT, "MPI_Init");
    state.has_next = next != NULL && dladdr(next, &it) != 0 && is_ours(it.dli_fname);
    dl_iterate_phdr(note_range, (void *)(uintptr_t)pli_preload_open);
    void *mpich = dlopen("libmpi.so.12", RTLD_LAZY | RTLD_NOLOAD);
    state.foreign = mpich != NULL ? mpich : dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
}

bool pli_preload_has_next(void)
{
    return state.has_next;
}

void *pli_preload_next(const char *name, void *last)
{
    void *next = state.has_next ? dlsym(RTLD_NEXT, name) : NULL;
    return next != NULL ? next : last;
}

bool pli_preload_is_foreign(void)
{
    return state.foreign != NULL;
}

// What a module of Python or the like has brought is in nobody's scope but its own.
void *pli_preload_next_foreign(const char *name)
{
    void *next = dlsym(RTLD_NEXT, name);
    return next != NULL ? next : dlsym(state.foreign, name);
}

void *pli_preload_site(void *site, void *frame)
{
    for (int i = 0; i < state.n_range; i++) {
        if ((uintptr_t)site - state.ranges[i].begin < state.ranges[i].n) {
            frame = *(void **)frame;
            site = ((void **)frame)[1];
            i = -1;
        }
    }
    return site;
}
