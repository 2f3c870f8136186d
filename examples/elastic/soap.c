// SPDX-License-Identifier: BSD-3-Clause
// A soap film in a wire frame, on a grid that becomes finer as ranks are forked.
//
//     mpiexec -n 1 ./soap [RANKS]      begin with one rank, end with RANKS (default 8)
//
// The film is relaxed on a coarse grid. Then every rank is forked: the grid gets twice as many rows
// and columns, and parent and clone each keep one half of the rows that the parent had. The clone
// has them in its memory already, so nothing is sent. The coarse film is the first guess for the
// fine one.
//
//     rank 0             rank 0   rank 2            0  4  2  6  1  5  3  7
//     ┌────────┐  fork   ┌────────┬────────┐  fork
//     │ row 0  │ ──────▶ │        │        │ ──────▶  ...
//     │ row 1  │         │        │        │
//     └────────┘         └────────┴────────┘        position of a strip ≠ rank
//
// The frame is such that the film's height is known; the error must fall by four with every step.
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 32 }; // of each rank, always

static const double pi = 3.14159265358979323846;

static int n;         // the square has n x n cells
static int place;     // which strip is mine, from the bottom up
static double *film;  // rows place*ROWS - 1 to place*ROWS + ROWS, of n + 1 points each
static MPI_Comm line; // the ranks in the order of their strips

static double *row(int i) // of my strip; -1 and ROWS are the neighbours'
{
    return film + (size_t)(i + 1) * (size_t)(n + 1);
}

static double height(int i, int j) // what the film will be, and is at the frame
{
    return sin(pi * j / n) * sinh(pi * i / n) / sinh(pi);
}

// Strips side by side: my neighbours have to be told my outer rows.
static void exchange(void)
{
    int below, above, size;
    MPI_Comm_size(line, &size);
    below = place > 0 ? place - 1 : MPI_PROC_NULL;
    above = place < size - 1 ? place + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(row(0), n + 1, MPI_DOUBLE, below, 0, row(ROWS), n + 1, MPI_DOUBLE, above, 0, line,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(row(ROWS - 1), n + 1, MPI_DOUBLE, above, 1, row(-1), n + 1, MPI_DOUBLE, below, 1,
                 line, MPI_STATUS_IGNORE);
}

// Relax every second point towards the mean of its neighbours; the largest change.
static double relax(int colour, double omega)
{
    double most = 0;
    for (int i = place == 0; i < ROWS; i++) { // row 0 of all is the frame
        for (int j = 1 + (place * ROWS + i + colour) % 2; j < n; j += 2) {
            double mean = (row(i - 1)[j] + row(i + 1)[j] + row(i)[j - 1] + row(i)[j + 1]) / 4;
            double change = omega * (mean - row(i)[j]);
            row(i)[j] += change;
            most = fabs(change) > most ? fabs(change) : most;
        }
    }
    return most;
}

static int settle(void)
{
    double omega = 2 / (1 + sin(pi / n)), most = 1;
    int sweeps = 0;
    while (most > 1e-10) {
        double mine = 0;
        for (int colour = 0; colour < 2; colour++) {
            exchange();
            double change = relax(colour, omega);
            mine = change > mine ? change : mine;
        }
        MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, line);
        sweeps++;
    }
    return sweeps;
}

static double error(void)
{
    double mine = 0, most;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j <= n; j++) {
            double e = fabs(row(i)[j] - height(place * ROWS + i, j));
            mine = e > mine ? e : mine;
        }
    }
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, line);
    return most;
}

static void set_frame(void)
{
    int size;
    MPI_Comm_size(line, &size);
    for (int i = -1; i <= ROWS; i++) {
        row(i)[0] = row(i)[n] = 0;
    }
    for (int j = 0; j <= n && place == 0; j++) {
        row(0)[j] = height(0, j);
    }
    for (int j = 0; j <= n && place == size - 1; j++) {
        row(ROWS)[j] = height(n, j);
    }
}

// Row 2i of the fine grid is row i, row 2i+1 lies between i and i+1; columns likewise. Mine are the
// lower or the upper half of what the coarse strip becomes.
static void refine(int is_upper)
{
    int coarse = n;
    double *old = film;
    n = 2 * coarse;
    place = 2 * place + is_upper;
    film = calloc((size_t)(ROWS + 2) * (size_t)(n + 1), sizeof *film);
    for (int i = -1; i <= ROWS; i++) {
        int fine = i + 2 + (is_upper ? ROWS : 0); // from the coarse row -1 on
        const double *a = old + (size_t)(fine / 2) * (size_t)(coarse + 1);
        const double *b = fine % 2 == 0 ? a : a + coarse + 1;
        for (int j = 0; j <= n; j++) {
            row(i)[j] = (a[j / 2] + b[j / 2] + a[(j + 1) / 2] + b[(j + 1) / 2]) / 4;
        }
    }
    free(old);
}

// Order the ranks by their strips.
static void line_up(void)
{
    if (line != MPI_COMM_NULL) {
        MPI_Comm_free(&line); // in a clone the handle only: its parent was the member
    }
    MPI_Comm_split(MPI_COMM_WORLD, 0, place, &line);
    set_frame();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int most = argc > 1 ? atoi(argv[1]) : 8, size, right = 1;
    double last = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); // a fork that fails is no disaster
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &place);
    n = size * ROWS;
    line = MPI_COMM_NULL;
    film = calloc((size_t)(ROWS + 2) * (size_t)(n + 1), sizeof *film);
    line_up();
    for (;;) {
        int sweeps = settle();
        double e = error();
        right = right && (last == 0 || (last / e > 3.5 && last / e < 4.5));
        last = e;
        if (place == 0) {
            printf("%3d ranks, %4d x %4d cells: %4d sweeps, error %.2e\n", size, n, n, sweeps, e);
            fflush(stdout);
        }
        if (2 * size > most) {
            break;
        }
        int forked = MPI_Fork(size); // all of them
        if (forked < 0) {
            char text[MPI_MAX_ERROR_STRING];
            int len;
            MPI_Error_string(-forked, text, &len);
            if (place == 0) {
                printf("no finer grid: %s\n", text);
            }
            break;
        }
        refine(forked == 0); // the new rank takes the upper half
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        line_up();
    }
    if (place == 0) {
        puts(right ? "the error fell as it should" : "the error did NOT fall as it should");
    }
    free(film);
    MPI_Comm_free(&line);
    MPI_Finalize();
    return right ? 0 : 1;
}
