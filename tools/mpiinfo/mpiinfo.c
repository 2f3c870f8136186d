// SPDX-License-Identifier: BSD-3-Clause
// mpiinfo: what this installation is, which settings it has, and what of the standard it offers.
#include "base/conf.h"
#include "coll/coll_select.h"
#include "coverage.h"
#include "net/ucx/ucx.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct option {
    const char *name, *help;
    void (*run)(void);
};

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
    coverage_print();
}

static void print_there(void)
{
    coverage_list(true);
}

static void print_missing(void)
{
    coverage_list(false);
}

static void print_help(void);

static const struct option options[] = {
    { "--version", "which version of what", print_version },
    { "--build", "how it was built", print_build },
    { "--network", "what carries messages between hosts, and why", print_network },
    { "--settings", "every PLIANT_ variable, its value now and its meaning", print_settings },
    { "--coverage", "MPI functions that are there and that are not, by chapter", print_coverage },
    { "--collectives", "which algorithm a collective uses, by size and shape", print_collectives },
    { "--functions", "names of the functions that are there, one per line", print_there },
    { "--missing", "names of the functions that are not, one per line", print_missing },
    { "--help", "this", print_help },
};

enum { N_OPTION = sizeof options / sizeof options[0] };

static void print_help(void)
{
    printf("usage: mpiinfo [option | function]...\n");
    for (int i = 0; i < N_OPTION; i++) {
        printf("  %-13s %s\n", options[i].name, options[i].help);
    }
    printf("  %-13s whether that function is there\n", "MPI_Send");
    printf("Without arguments: a summary.\n");
}

static void print_summary(void)
{
    int there, all;
    coverage_count(&there, &all);
    print_version();
    printf("functions    %d of the %d that MPI has in C (--coverage)\n", there, all);
    print_here();
    print_build();
    print_network();
}

static const struct option *find(const char *name)
{
    for (int i = 0; i < N_OPTION; i++) {
        if (strcmp(options[i].name, name) == 0) {
            return &options[i];
        }
    }
    return strcmp(name, "-h") == 0 ? &options[N_OPTION - 1] : NULL;
}

// Name the wrong argument before anything is printed.
static bool check(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && find(argv[i]) == NULL) {
            fprintf(stderr, "mpiinfo: there is no option '%s'; `mpiinfo --help` lists them\n",
                    argv[i]);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    pli_conf_load();
    if (!check(argc, argv)) {
        return 2;
    }
    if (argc == 1) {
        print_summary();
    }
    int status = 0;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-') {
            find(argv[i])->run();
        } else if (!coverage_tell(argv[i])) {
            status = 1;
        }
    }
    if (fflush(stdout) != 0) {
        perror("mpiinfo: standard output");
        return 1;
    }
    return status;
}
