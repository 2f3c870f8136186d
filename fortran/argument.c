// SPDX-License-Identifier: BSD-3-Clause
// How arguments come from Fortran and go back: what is too long for the header.
#include "fortran/argument.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifndef PLI_FORTRAN_OF_OPENMPI
// Aligned as the compilers align common blocks.
struct pli_special pliant_mpi_special_ __attribute__((aligned(16)));
struct pli_special_argv pliant_mpi_argv_ __attribute__((aligned(16)));
#endif

void *pli_argument_space(int n, size_t size, void *few)
{
    return n <= PLI_ARGUMENT_FEW ? few : malloc((size_t)n * size);
}

void pli_argument_drop(void *space, void *few)
{
    if (space != few) {
        free(space);
    }
}

int pli_argument_size(MPI_Comm comm)
{
    int is_inter = 0, size = 0;
    if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS) {
        return 0;
    }
    int err = is_inter ? PMPI_Comm_remote_size(comm, &size) : PMPI_Comm_size(comm, &size);
    return err == MPI_SUCCESS ? size : 0;
}

// The numbers of neighbours, of any topology.
static void count_neighbors(MPI_Comm comm, int *sources, int *destinations)
{
    int kind = MPI_UNDEFINED, rank = 0, n = 0, weighted;
    *sources = *destinations = 0;
    if (PMPI_Topo_test(comm, &kind) != MPI_SUCCESS) {
        return;
    }
    if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, sources, destinations, &weighted);
    } else if (kind == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, &n);
        *sources = *destinations = n;
    } else if (kind == MPI_CART) {
        PMPI_Cartdim_get(comm, &n);
        *sources = *destinations = 2 * n;
    }
}

int pli_argument_sources(MPI_Comm comm)
{
    int sources, destinations;
    count_neighbors(comm, &sources, &destinations);
    return sources;
}

int pli_argument_destinations(MPI_Comm comm)
{
    int sources, destinations;
    count_neighbors(comm, &sources, &destinations);
    return destinations;
}

bool pli_argument_is_root(MPI_Comm comm, int root)
{
    int rank = MPI_PROC_NULL;
    return comm != MPI_COMM_NULL && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

const void *pli_argument_keep(const void *bytes, size_t n)
{
    static struct kept {
        struct kept *next;
        size_t n;
        unsigned char bytes[];
    } * all;
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&guard);
    struct kept *k = all;
    while (k != NULL && (k->n != n || memcmp(k->bytes, bytes, n) != 0)) {
        k = k->next;
    }
    if (k == NULL && (k = malloc(sizeof *k + n)) != NULL) {
        k->n = n;
        memcpy(k->bytes, bytes, n);
        k->next = all;
        all = k;
    }
    pthread_mutex_unlock(&guard);
    return k != NULL ? k->bytes : NULL;
}

MPI_Aint *pli_argument_widen(const int *fortran, int n, MPI_Aint *few)
{
    MPI_Aint *all = pli_argument_space(n, sizeof *all, few);
    for (int i = 0; all != NULL && i < n; i++) {
        all[i] = fortran[i];
    }
    return all;
}

// The length without the blanks at the end.
static size_t length_of(const char *fortran, size_t length)
{
    while (length > 0 && fortran[length - 1] == ' ') {
        length--;
    }
    return length;
}

char *pli_argument_string(const char *fortran, size_t length, bool trim, char *few)
{
    size_t n = length_of(fortran, length), begin = 0;
    while (trim && begin < n && fortran[begin] == ' ') {
        begin++;
    }
    n -= begin;
    char *made = n < PLI_ARGUMENT_SHORT ? few : malloc(n + 1);
    if (made != NULL) {
        memcpy(made, fortran + begin, n);
        made[n] = '\0';
    }
    return made;
}

char *pli_argument_text(const char *fortran, size_t fortran_length, size_t length, char *few)
{
    char *made = length <= PLI_ARGUMENT_SHORT ? few : malloc(length);
    if (made != NULL && length > 0) {
        // The variable may hold anything, so it is not looked at.
        size_t n = fortran_length < length ? fortran_length : length - 1;
        memcpy(made, fortran, n);
        made[n] = '\0';
    }
    return made;
}

void pli_argument_text_back(char *fortran, size_t fortran_length, const char *text)
{
    size_t n = strnlen(text, fortran_length);
    memcpy(fortran, text, n);
    memset(fortran + n, ' ', fortran_length - n);
}

// The strings at fortran, fortran + stride ... in one block of memory behind their addresses.
static char **collect(const char *fortran, int n, size_t stride, size_t length, bool trim)
{
    char **all = malloc((size_t)(n + 1) * sizeof *all + (size_t)n * (length + 1));
    if (all == NULL) {
        return NULL;
    }
    char *at = (char *)(all + n + 1);
    for (int i = 0; i < n; i++, at += length + 1) {
        const char *from = fortran + (size_t)i * stride;
        size_t len = length_of(from, length);
        while (trim && len > 0 && *from == ' ') {
            from++;
            len--;
        }
        memcpy(at, from, len);
        at[len] = '\0';
        all[i] = at;
    }
    all[n] = NULL;
    return all;
}

char **pli_argument_strings(const char *fortran, int n, size_t length, bool trim)
{
    return collect(fortran, n > 0 ? n : 0, length, length, trim);
}

char **pli_argument_argv(const char *fortran, size_t stride, size_t length)
{
    int n = 0;
    while (length_of(fortran + (size_t)n * stride, length) > 0) {
        n++;
    }
    return collect(fortran, n, stride, length, true);
}

char ***pli_argument_argvs(const char *fortran, int n, size_t length)
{
    size_t many = n > 0 ? (size_t)n : 0;
    char ***all = calloc(many + 1, sizeof *all);
    for (size_t i = 0; all != NULL && i < many; i++) {
        all[i] = pli_argument_argv(fortran + i * length, many * length, length);
    }
    return all;
}
