// SPDX-License-Identifier: BSD-3-Clause
// Opening a session and making communicators involves nobody else. The last rank comes late, or,
// with the argument "never", calls no MPI function at all: the others work all the same. With
// "missing" the others then ask for a communicator with it and all learn that it has ended. With
// "dies" a rank that is asked for ends while the others wait.
#include "session.h"

#include <time.h>
#include <unistd.h>

// That nobody waits shows in the runs where the last rank never comes; this is how long any step
// may take on a busy machine.
#define LONG 20.0

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void rest(double s)
{
    struct timespec t = { (time_t)s, (long)((s - (double)(time_t)s) * 1e9) };
    nanosleep(&t, NULL);
}

static void others(MPI_Session s, int size)
{
    MPI_Group world = s_group(s, "mpi://WORLD"), g;
    MPI_Comm c;
    int range[1][3] = { { 0, size - 2, 1 } };
    MPI_Group_range_incl(world, 1, range, &g);
    double begin = now();
    for (int i = 0; i < 100; i++) {
        T_MPI(MPI_Comm_create_from_group(g, "others", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c));
        s_check(c, i);
        MPI_Comm_free(&c);
    }
    T_OK(now() - begin < LONG);
    MPI_Group_free(&g);
    MPI_Group_free(&world);
}

static void missing(MPI_Session s, int size)
{
    MPI_Group world = s_group(s, "mpi://WORLD");
    MPI_Comm c;
    char want[64];
    snprintf(want, sizeof want, "member %d of the group", size - 1);
    T_REFUSED(MPI_Comm_create_from_group(world, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c),
              MPI_ERR_PROC_ABORTED, want);
    T_OK(c == MPI_COMM_NULL);
    MPI_Group_free(&world);
    others(s, size); // nothing is left in the way of the next
}

int main(int argc, char **argv)
{
    // Who am I, without MPI: the launcher says.
    const char *text = getenv("PLIANT_RANK");
    int rank = text != NULL ? atoi(text) : -1, size;
    T_MUST(rank >= 0);
    int is_never = argc > 1 && strcmp(argv[1], "never") == 0;
    int is_missing = argc > 1 && strcmp(argv[1], "missing") == 0;
    int is_dying = argc > 1 && strcmp(argv[1], "dies") == 0;
    int n = atoi(getenv("PLIANT_SIZE") != NULL ? getenv("PLIANT_SIZE") : "0");
    if (rank == n - 1 && (is_never || is_missing)) {
        rest(is_never ? 1.0 : 0.0);
        return 0;
    }
    if (rank == n - 1) {
        rest(1.0);
    }
    double begin = now();
    MPI_Session s = s_open();
    double took = now() - begin;
    T_OK(took < LONG);
    s_world(s, &rank, &size);
    T_EQ(size, n);
    if (rank < n - 1) {
        others(s, size);
    }
    if (is_missing) {
        missing(s, size);
    } else if (is_dying) {
        if (rank == n - 1) { // it was there, and leaves in good order without having called
            T_MPI(MPI_Session_finalize(&s));
            return t_status();
        }
        missing(s, size);
    } else if (!is_never) {
        MPI_Comm all = s_comm(s, "mpi://WORLD", "all");
        s_check(all, 1);
        MPI_Comm_free(&all);
    }
    T_MPI(MPI_Session_finalize(&s));
    return t_status();
}
