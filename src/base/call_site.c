// SPDX-License-Identifier: BSD-3-Clause
// Finds the place in the program that called MPI, by its return addresses.
#include "base/call_site.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Whether a file is a library that calls this one for the program: that of the Fortran interfaces,
// one of another MPI's name with what lies above it, or the recorder of --profile.
static bool is_layer(const char *path)
{
    static const char *const names[] = {
        "libpliant_mpifort.so", "libmpi.so.",     "libmpich.so.",       "libmpi_mpifh.so.",
        "libmpi_usempi",        "libmpi_cxx.so.", "libmpichcxx.so.",    "libmpicxx.so.",
        "libmpichfort.so.",     "libmpifort.so.", "libpliant_trace.so", "libpliant_check.so",
        "libpliant_record.so",
    };
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(name, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

// Whether an address lies in this library, or in one that calls it for the program.
static bool is_of_mpi(const void *address, const void *our_base)
{
    Dl_info it;
    return dladdr(address, &it) != 0 &&
           (it.dli_fbase == our_base || (it.dli_fname != NULL && is_layer(it.dli_fname)));
}

uint64_t pli_call_site(void)
{
    void *frames[32];
    Dl_info us;
    int n = backtrace(frames, 32);
    if (dladdr((void *)(uintptr_t)pli_call_site, &us) == 0) {
        return 0;
    }
    bool is_inside = false; // an interceptor of backtrace itself may come first
    for (int i = 0; i < n; i++) {
        bool is_us = is_of_mpi(frames[i], us.dli_fbase);
        if (is_inside && !is_us) {
            return (uint64_t)(uintptr_t)frames[i];
        }
        is_inside = is_inside || is_us;
    }
    return 0; // linked into the program: the frames cannot be told apart
}

size_t pli_call_site_write(char *to, size_t cap)
{
    char exe[PATH_MAX];
    Dl_info it;
    uint64_t site = pli_call_site();
    if (site == 0 || dladdr((void *)(uintptr_t)site, &it) == 0 || it.dli_fname == NULL) {
        return 0;
    }
    const char *file = it.dli_fname;
    if (file[0] != '/') { // the program, by the name it was started with
        ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
        if (n <= 0) {
            return 0;
        }
        exe[n] = '\0';
        file = exe;
    }
    int n = snprintf(to, cap, "%llx %llx %s", (unsigned long long)site,
                     (unsigned long long)(uintptr_t)it.dli_fbase, file);
    if (n < 0 || (size_t)n >= cap) {
        to[0] = '\0';
        return 0;
    }
    return (size_t)n;
}
