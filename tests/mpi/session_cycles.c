// SPDX-License-Identifier: BSD-3-Clause
// Thousands of sessions one after the other, and many at once: memory must not grow with them.
#include "session.h"

#include <unistd.h>

enum { N_ALONE = 20000, N_TOGETHER = 2000, N_OPEN = 500 };

static long resident_kb(void)
{
    long pages = 0, dummy;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%ld %ld", &dummy, &pages) != 2) {
        pages = 0;
    }
    if (f != NULL) {
        fclose(f);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void alone(void)
{
    MPI_Session s = s_open();
    MPI_Comm c = s_comm(s, "mpi://SELF", "alone");
    int size;
    MPI_Comm_size(c, &size);
    T_EQ(size, 1);
    MPI_Comm_free(&c);
    MPI_Session_finalize(&s);
}

static void together(int i)
{
    MPI_Session s = s_open();
    MPI_Comm c = s_comm(s, "mpi://WORLD", "together");
    s_check(c, i);
    if (i % 2 == 0) {
        MPI_Comm_free(&c); // else the session does
    }
    MPI_Session_finalize(&s);
}

int main(void)
{
    static MPI_Session many[N_OPEN];
    for (int i = 0; i < 200; i++) {
        alone();
        together(i);
    }
    long before = resident_kb();
    for (int i = 0; i < N_ALONE; i++) {
        alone();
    }
    for (int i = 0; i < N_TOGETHER; i++) {
        together(i);
    }
    long after = resident_kb();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (after - before > 1024) {
        fprintf(stderr, "resident memory grew from %ld to %ld kB\n", before, after);
        t_failed++;
    }
#else
    (void)before, (void)after; // a sanitizer keeps what is freed
#endif
    for (int i = 0; i < N_OPEN; i++) {
        many[i] = s_open();
    }
    for (int i = 0; i < N_OPEN; i += 50) {
        MPI_Comm c = s_comm(many[i], "mpi://WORLD", "many");
        s_check(c, i);
        MPI_Comm_free(&c);
    }
    for (int i = 0; i < N_OPEN; i++) {
        T_MPI(MPI_Session_finalize(&many[i]));
    }
    return t_status();
}
