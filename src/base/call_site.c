// SPDX-License-Identifier: BSD-3-Clause
// Finds the place in the program that called MPI, by its return addresses.
#include "base/call_site.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
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

struct range {
    uintptr_t lo, hi; // equal: not known
};
static struct range library, kernel; // where this library is mapped, and the kernel's (vdso)

static bool is_in(const struct range *r, const void *address)
{
    return (uintptr_t)address >= r->lo && (uintptr_t)address < r->hi;
}

// The first file that is visited is the program.
static int find_libraries(struct dl_phdr_info *file, size_t size, void *arg)
{
    uintptr_t lo = UINTPTR_MAX, hi = 0;
    int *n = arg;
    (void)size;
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        if (part->p_type == PT_LOAD) {
            uintptr_t at = file->dlpi_addr + part->p_vaddr;
            lo = at < lo ? at : lo;
            hi = at + part->p_memsz > hi ? at + part->p_memsz : hi;
        }
    }
    struct range r = { lo, hi };
    if (is_in(&r, (const void *)getauxval(AT_SYSINFO_EHDR))) {
        kernel = r;
    } else if (is_in(&r, (const void *)(uintptr_t)pli_call_site) && *n > 0) {
        library = r;
    }
    ++*n;
    return 0;
}

bool pli_call_site_prepare(void)
{
    void *frame;
    int n = 0;
    if (library.lo == library.hi) {
        dl_iterate_phdr(find_libraries, &n);
        backtrace(&frame, 1); // loads what it needs
    }
    return library.lo < library.hi;
}

// The handler's frames come first, then that of the system, then those of the thread. Who called
// a function of the kernel's library, such as the one that tells the time, is not told on aarch64:
// it may have been this library.
bool pli_call_site_is_inside(void)
{
    void *frames[128];
    int n = backtrace(frames, sizeof frames / sizeof *frames);
    bool is_handler = true, is_inside = false;
    for (int i = 0; i < n && !is_inside; i++) {
        bool is_ours = is_in(&library, frames[i]);
        is_inside = is_ours && !is_handler;
        is_handler = is_handler && (is_ours || i == 0); // an interceptor of backtrace may be there
    }
    return is_inside || (n > 0 && is_in(&kernel, frames[n - 1]));
}
