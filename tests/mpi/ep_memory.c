// SPDX-License-Identifier: BSD-3-Clause
// What very many endpoints cost: bytes each, and time that grows with their number and not with its
// square. Counts that no memory has room for are an error at all ranks.
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "t.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_CHECKED = 1 }; // every object has company then
#else
enum { IS_CHECKED = 0 };
#endif

enum { FEW = 5000, MANY = 20000, BYTES_MADE = 1024, BYTES_USED = 2048 };

static int me, n_rank;

static long resident(void)
{
    long all = 0, here = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    T_MUST(f != NULL && fscanf(f, "%ld %ld", &all, &here) == 2);
    fclose(f);
    return here * sysconf(_SC_PAGESIZE);
}

// Of this process alone: what others do on the machine does not count.
static double cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void free_all(MPI_Comm *c, int n)
{
    for (int i = 0; i < n; i++) {
        T_EQ(MPI_Comm_free(&c[i]), MPI_SUCCESS);
    }
}

// The least of a few tries, so that page faults of the first are not in it.
static double time_of(MPI_Comm *c, int n, MPI_Info hints)
{
    double least = 1e9;
    for (int k = 0; k < 3; k++) {
        double t = cpu_time();
        T_MUST(MPI_Comm_create_endpoints(MPI_COMM_WORLD, n, hints, c) == MPI_SUCCESS);
        t = cpu_time() - t;
        least = t < least ? t : least;
        free_all(c, n);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return least;
}

// Four times as many take four times as long; sixteen times, if every handle looked at all members.
static void time_is_linear(MPI_Comm *c, MPI_Info hints)
{
    double few = time_of(c, FEW, hints), many = time_of(c, 4 * FEW, hints);
    if (many > 10 * few && many > 0.2) {
        fprintf(stderr, "%d endpoints take %g s and %d take %g s\n", FEW, few, 4 * FEW, many);
        t_failed++;
    }
}

static void within(const char *what, long before, long bound)
{
    long each = (resident() - before) / MANY;
    if (!IS_CHECKED && each > bound) {
        fprintf(stderr, "%s: %ld bytes for each endpoint, more than %ld\n", what, each, bound);
        t_failed++;
    }
}

static void memory_is_small(MPI_Comm *c)
{
    int *in = malloc(MANY * sizeof *in), *out = malloc(MANY * sizeof *out);
    MPI_Request *r = malloc(MANY * sizeof(MPI_Request));
    T_MUST(in != NULL && out != NULL && r != NULL);
    for (int i = 0; i < MANY; i++) {
        in[i] = i;
        out[i] = -1;
        r[i] = MPI_REQUEST_NULL;
        c[i] = MPI_COMM_NULL;
    }
    long before = resident();
    T_MUST(MPI_Comm_create_endpoints(MPI_COMM_WORLD, MANY, MPI_INFO_NULL, c) == MPI_SUCCESS);
    within("made", before, BYTES_MADE);
    for (int i = 0; i < MANY; i++) {
        MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, c[i], &r[i]);
    }
    T_EQ(MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    int sum = n_rank * (MANY / 2 * (MANY - 1));
    for (int i = 0; i < MANY; i++) {
        T_MUST(out[i] == sum);
    }
    within("after MPI_Iallreduce", before, BYTES_USED);
    for (int i = 0; i < MANY; i++) {
        MPI_Ibarrier(c[i], &r[i]);
    }
    T_EQ(MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    within("after MPI_Ibarrier", before, BYTES_USED);
    free_all(c, MANY);
    free(in);
    free(out);
    free(r);
}

static void absurd(int n)
{
    MPI_Comm c = MPI_COMM_NULL;
    int rc = MPI_Comm_create_endpoints(MPI_COMM_WORLD, me == 0 ? n : 1, MPI_INFO_NULL, &c), class;
    T_OK(rc != MPI_SUCCESS && c == MPI_COMM_NULL);
    MPI_Error_class(rc, &class);
    T_EQ(class, n < 0 ? MPI_ERR_ARG : MPI_ERR_NO_MEM);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n_rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm *c = malloc(MANY * sizeof(MPI_Comm));
    T_MUST(c != NULL);
    memory_is_small(c);
    MPI_Info hints;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "pliant_num_lanes", "3");
    time_is_linear(c, MPI_INFO_NULL);
    time_is_linear(c, hints);
    MPI_Info_free(&hints);
    absurd(2147483647);
    absurd(-1);
    free(c);
    MPI_Finalize();
    return t_status();
}
