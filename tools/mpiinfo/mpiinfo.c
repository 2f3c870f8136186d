// SPDX-License-Identifier: BSD-3-Clause
// mpiinfo: what this installation is, which settings it has, and what of the standard it offers.
#include "base/conf.h"
#include "coll/coll_select.h"
#include "abi_print.h"
#include "coverage.h"
#include "mpiinfo_options.h"
#include "tune.h"
#include "io/file_uring.h"
#include "net/ucx/ucx.h"
#include "tool_print.h"

#include <limits.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void print_version(void)
{
    printf("Pliant MPI %s, MPI %d.%d, standard ABI %d.%d\n", PLIANT_VERSION, MPI_VERSION,
           MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
}

static void print_build(void)
{
    printf("compiler     %s\n", BUILD_COMPILER);
    printf("flags        %s\n", BUILD_FLAGS);
    printf("build type   %s\n", BUILD_TYPE);
    printf("built for    %s\n", BUILD_SYSTEM);
    printf("sanitizers   %s\n", BUILD_SANITIZE[0] != '\0' ? BUILD_SANITIZE : "none");
    printf("hwloc        %s\n", HWLOC_VERSION);
}

static void print_network(void)
{
    char version[200];
    const char *why;
    pli_conf_load();
    bool is_ucx = pli_ucx_is_chosen(&why);
    printf("network      %s between hosts: %s\n", is_ucx ? "ucx" : "tcp", why);
    if (pli_ucx_version(version, sizeof version) == PLI_OK) {
        printf("ucx          version %s, loaded when it is used\n", version);
    } else {
        printf("ucx          not there: %s\n", pli_fail_take(NULL));
    }
    if (pli_file_uring_is_there(&why)) {
        printf("io_uring     there; PLIANT_FILE_URING is %s\n", pli_conf.file_uring);
    } else {
        printf("io_uring     not there: %s\n", why);
    }
}

static void print_settings(void)
{
    printf("Set these in the environment, or with mpiexec's -env and -genv. Now in force:\n\n");
    pli_conf_print(stdout);
}

static void print_here(void)
{
    // The folder above bin/, when the tool can tell.
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n > 0) {
        path[n] = '\0';
        for (int i = 0; i < 2; i++) {
            char *slash = strrchr(path, '/');
            if (slash != NULL) {
                *slash = '\0';
            }
        }
        printf("installed in %s\n", path[0] != '\0' ? path : "/");
    }
    struct utsname u;
    if (uname(&u) == 0) {
        printf("this machine %s, %s %s, %s, %ld cores\n", u.nodename, u.sysname, u.release,
               u.machine, sysconf(_SC_NPROCESSORS_ONLN));
    }
}

static void print_collectives(void)
{
    pli_coll_select_print(stdout);
}

static void print_coverage(void)
{
    pli_coverage_print();
}

static void print_there(void)
{
    pli_coverage_list(true);
}

static void print_missing(void)
{
    pli_coverage_list(false);
}

static void print_summary(void)
{
    int there, all;
    pli_coverage_count(&there, &all);
    print_version();
    printf("functions    %d of the %d that MPI has in C (--coverage)\n", there, all);
    print_here();
    print_build();
    print_network();
}

// What is printed for each option, indexed as mpiinfo.opt says.
static void (*const print[PLI_MPIINFO_N_TAKE])(void) = {
    [PLI_MPIINFO_BUILD] = print_build,
    [PLI_MPIINFO_COLLECTIVES] = print_collectives,
    [PLI_MPIINFO_COVERAGE] = print_coverage,
    [PLI_MPIINFO_FUNCTIONS] = print_there,
    [PLI_MPIINFO_MISSING] = print_missing,
    [PLI_MPIINFO_NETWORK] = print_network,
    [PLI_MPIINFO_SETTINGS] = print_settings,
    [PLI_MPIINFO_VERSION] = print_version,
    [PLI_MPIINFO_CVARS] = pli_tool_print_cvars,
    [PLI_MPIINFO_PVARS] = pli_tool_print_pvars,
    [PLI_MPIINFO_EVENTS] = pli_tool_print_events,
};

static _Noreturn void __attribute__((format(printf, 1, 2))) bad(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("mpiinfo: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(2);
}

// Options only say what to print: a wrong one is refused before anything is printed.
static void take_any(struct pli_option_use *use)
{
    (void)use;
}

int main(int argc, char **argv)
{
    pli_option_take_fn take[PLI_MPIINFO_N_TAKE];
    struct pli_option_reader r = {
        .tool = "mpiinfo", .table = &pli_mpiinfo_options, .take = take, .bad = bad
    };
    for (int i = 0; i < PLI_MPIINFO_N_TAKE; i++) {
        take[i] = take_any;
    }
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-') {
            i += pli_options_take(&r, argv + i) - 1;
        }
    }
    pli_conf_load();
    if (argc == 1) {
        print_summary();
    }
    int status = 0;
    for (int i = 1; i < argc; i++) {
        struct pli_option_use use;
        int n = argv[i][0] == '-' ? pli_options_match(r.table, argv + i, &use) : 0;
        if (argv[i][0] != '-') {
            status = pli_coverage_tell(argv[i]) ? status : 1;
        } else if (n > 0) {
            i += n - 1;
            if (use.option->take == PLI_MPIINFO_HELP) {
                pli_options_help(&r, stdout);
            } else if (use.option->take == PLI_MPIINFO_TUNE) {
                status = pli_tune_host() ? status : 1;
            } else if (use.option->take == PLI_MPIINFO_TUNE_RANK) {
                status = pli_tune_rank(use.text) ? status : 1;
            } else if (use.option->take == PLI_MPIINFO_ABI) {
                status = pli_abi_print_file(use.text) ? status : 1;
            } else {
                print[use.option->take]();
            }
        }
    }
    if (fflush(stdout) != 0) {
        perror("mpiinfo: standard output");
        return 1;
    }
    return status;
}
