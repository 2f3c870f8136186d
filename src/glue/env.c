// SPDX-License-Identifier: BSD-3-Clause
// Time, versions, names and memory.
#include "glue/env.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/huge_pool.h"
#include "obj/info.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>

enum { LINE = 64, HUGE_PAGE = 2 << 20 };

// One monotonic clock for all processes of a host.
double pli_env_wtime(void)
{
    return (double)pli_clock_ns() * 1e-9;
}

double pli_env_wtick(void)
{
    struct timespec t;
    return clock_getres(CLOCK_MONOTONIC, &t) == 0 ? (double)t.tv_sec + (double)t.tv_nsec * 1e-9
                                                  : 1e-9;
}

// For profiling libraries to replace. [MPI-5.0 15.2.4]
int pli_env_pcontrol(int level)
{
    (void)level;
    return MPI_SUCCESS;
}

enum pli_err pli_env_version(int *version_out, int *subversion_out)
{
    *version_out = MPI_VERSION;
    *subversion_out = MPI_SUBVERSION;
    return PLI_OK;
}

enum pli_err pli_env_library(char *text_out, int *len_out)
{
    *len_out = snprintf(text_out, MPI_MAX_LIBRARY_VERSION_STRING,
                        "Pliant MPI " PLIANT_VERSION ", MPI %d.%d, standard ABI %d.%d", MPI_VERSION,
                        MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
    return PLI_OK;
}

enum pli_err pli_env_processor(char *name_out, int *len_out)
{
    struct utsname host;
    if (uname(&host) != 0) {
        return pli_fail(PLI_ERR_OTHER, "cannot read the name of this host: %s", strerror(errno));
    }
    *len_out = snprintf(name_out, MPI_MAX_PROCESSOR_NAME, "%s", host.nodename);
    return PLI_OK;
}

// The alignment the user asks for, at least a cache line; 0: nonsense was asked.
static size_t wanted_alignment(struct pli_info *info)
{
    const char *text = pli_info_find(info, "mpi_minimum_memory_alignment");
    char *end;
    if (text == NULL) {
        return LINE;
    }
    unsigned long long n = strtoull(text, &end, 10);
    if (*end != '\0' || text[0] < '0' || text[0] > '9' || n == 0 || (n & (n - 1)) != 0 ||
        n > (1ull << 30)) {
        return 0;
    }
    return n > LINE ? (size_t)n : LINE;
}

enum pli_err pli_env_alloc(MPI_Aint size, struct pli_info *info, void *base_out)
{
    size_t align = wanted_alignment(info);
    void *base = NULL;
    bool is_huge = size >= 2 * (MPI_Aint)HUGE_PAGE;
    if (align == 0) {
        return pli_fail(PLI_ERR_INFO_VALUE,
                        "info key mpi_minimum_memory_alignment is \"%s\", but must be a power of "
                        "two up to 2^30",
                        pli_info_find(info, "mpi_minimum_memory_alignment"));
    }
    if (size >= PLI_HUGE_POOL_MIN && size < PLI_HUGE_POOL_END && align <= PLI_HUGE_POOL_ALIGN) {
        base = pli_huge_pool_take((size_t)size);
    }
    if (base != NULL) {
        memcpy(base_out, &base, sizeof base);
        return PLI_OK;
    }
    if (is_huge && align < HUGE_PAGE) {
        align = HUGE_PAGE;
    }
    if (posix_memalign(&base, align, size > 0 ? (size_t)size : 1) != 0) {
        return pli_fail(PLI_ERR_NOMEM, "cannot allocate %lld bytes", (long long)size);
    }
    if (is_huge && madvise(base, (size_t)size, MADV_HUGEPAGE) != 0) {
        errno = 0; // a kernel without huge pages gives ordinary ones
    }
    memcpy(base_out, &base, sizeof base);
    return PLI_OK;
}

enum pli_err pli_env_free(void *base)
{
    if (!pli_huge_pool_give(base)) {
        free(base);
    }
    return PLI_OK;
}
