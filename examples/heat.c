// SPDX-License-Identifier: BSD-3-Clause
// Heat spreads over a plate: Jacobi iterations on rows shared out among the ranks, which swap their
// edge rows with their neighbours before each step. Rank 0 draws the plate at the end.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 48, COLS = 72, STEPS = 2000, TAG_UP = 1, TAG_DOWN = 2, TAG_ROWS = 3 };

struct plate {
    int rank, size, first, n_row; // the rows first .. first + n_row - 1 are mine
    double *now, *next;           // n_row rows between two rows of the neighbours
};

static double *row(double *p, int i)
{
    return p + (size_t)i * COLS;
}

// A hot rod near the upper left, a cold wall all around.
static void heat_sources(const struct plate *p, double *t)
{
    for (int i = 0; i < p->n_row; i++) {
        int at = p->first + i;
        if (at >= 10 && at < 14) {
            for (int c = 12; c < 40; c++) {
                row(t, i + 1)[c] = 100;
            }
        }
    }
}

static void swap_edges(const struct plate *p)
{
    int up = p->rank > 0 ? p->rank - 1 : MPI_PROC_NULL;
    int down = p->rank + 1 < p->size ? p->rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(row(p->now, 1), COLS, MPI_DOUBLE, up, TAG_UP, row(p->now, p->n_row + 1), COLS,
                 MPI_DOUBLE, down, TAG_UP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(row(p->now, p->n_row), COLS, MPI_DOUBLE, down, TAG_DOWN, row(p->now, 0), COLS,
                 MPI_DOUBLE, up, TAG_DOWN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void step(struct plate *p)
{
    swap_edges(p);
    for (int i = 1; i <= p->n_row; i++) {
        for (int c = 1; c < COLS - 1; c++) {
            row(p->next, i)[c] = 0.25 * (row(p->now, i - 1)[c] + row(p->now, i + 1)[c] +
                                         row(p->now, i)[c - 1] + row(p->now, i)[c + 1]);
        }
    }
    heat_sources(p, p->next);
    double *t = p->now;
    p->now = p->next;
    p->next = t;
}

static void draw_row(const double *t)
{
    static const char shade[] = " .:-=+*#%@";
    char line[COLS + 1];
    for (int c = 0; c < COLS; c++) {
        int level = (int)(t[c] / 100 * 9.99);
        line[c] = shade[level > 9 ? 9 : level];
    }
    line[COLS] = '\0';
    printf("  |%s|\n", line);
}

// Rank 0 gets the rows in order; every second one is drawn, as letters are taller than wide.
static void draw(const struct plate *p)
{
    if (p->rank != 0) {
        for (int i = 1; i <= p->n_row; i++) {
            MPI_Send(row(p->now, i), COLS, MPI_DOUBLE, 0, TAG_ROWS, MPI_COMM_WORLD);
        }
        return;
    }
    double line[COLS];
    for (int at = 0; at < ROWS; at++) {
        int owner = 0;
        while ((owner + 1) * ROWS / p->size <= at) {
            owner++;
        }
        if (owner == 0) {
            memcpy(line, row(p->now, at - p->first + 1), sizeof line);
        } else {
            MPI_Recv(line, COLS, MPI_DOUBLE, owner, TAG_ROWS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (at % 2 == 0) {
            draw_row(line);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    struct plate p;
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p.size);
    if (p.size > ROWS) {
        fprintf(stderr, "heat: a plate of %d rows is too small for %d ranks\n", ROWS, p.size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    p.first = p.rank * ROWS / p.size;
    p.n_row = (p.rank + 1) * ROWS / p.size - p.first;
    p.now = calloc((size_t)(p.n_row + 2) * COLS, sizeof(double));
    p.next = calloc((size_t)(p.n_row + 2) * COLS, sizeof(double));
    if (p.now == NULL || p.next == NULL) {
        fprintf(stderr, "heat: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    heat_sources(&p, p.now);
    double t = MPI_Wtime();
    for (int i = 0; i < STEPS; i++) {
        step(&p);
    }
    t = MPI_Wtime() - t;
    if (p.rank == 0) {
        printf("A plate of %d x %d points after %d steps on %d ranks, %.0f ms:\n", ROWS, COLS,
               STEPS, p.size, t * 1e3);
    }
    draw(&p);
    free(p.now);
    free(p.next);
    MPI_Finalize();
    return 0;
}
