// SPDX-License-Identifier: BSD-3-Clause
// Heat in a rod whose ends are kept at 0. Each thread owns one block of cells and reads only one
// cell of each neighbour. A sine keeps its shape and shrinks by a known factor in every step.
//   upcc -O2 heat.upc -o heat -lm && upcrun -n 4 ./heat
#include <math.h>
#include <stdio.h>
#include <upc.h>

enum { CELLS = 128, STEPS = 400 }; // cells of each thread
static const double RATE = 0.25;   // conductivity * time step / cell size squared

shared[CELLS] double rod[2][CELLS * THREADS];
shared double worst[THREADS];

static double temperature(int cell)
{
    const double pi = acos(-1.0);
    return sin(pi * (cell + 1) / (CELLS * THREADS + 1));
}

// The blocks of rod[0] and rod[1] are both whole rounds over the threads, so that cell i of either
// is with the same thread.
static void step(int from)
{
    const int n = CELLS * THREADS, first = MYTHREAD * CELLS, last = first + CELLS - 1;
    const double *old = (const double *)&rod[from][first];
    double *now = (double *)&rod[!from][first];
    double left = first > 0 ? rod[from][first - 1] : 0;
    double right = last < n - 1 ? rod[from][last + 1] : 0;
    for (int i = 0; i < CELLS; i++) {
        double before = i > 0 ? old[i - 1] : left;
        double after = i < CELLS - 1 ? old[i + 1] : right;
        now[i] = old[i] + RATE * (before - 2 * old[i] + after);
    }
}

int main(void)
{
    const int n = CELLS * THREADS;
    const double pi = acos(-1.0);
    upc_forall(int i = 0; i < n; i++; &rod[0][i]) {
        rod[0][i] = temperature(i);
    }
    upc_barrier;
    for (int s = 0; s < STEPS; s++) {
        step(s % 2);
        upc_barrier;
    }
    double shrunk = pow(1 - 4 * RATE * pow(sin(pi / (2 * (n + 1))), 2), STEPS);
    double most = 0;
    upc_forall(int i = 0; i < n; i++; &rod[STEPS % 2][i]) {
        most = fmax(most, fabs(rod[STEPS % 2][i] - shrunk * temperature(i)));
    }
    worst[MYTHREAD] = most;
    upc_barrier;
    for (int t = 0; t < THREADS; t++) {
        most = fmax(most, worst[t]);
    }
    int right = most < 1e-12;
    if (MYTHREAD == 0) {
        printf("%d threads, %d cells, %d steps: %s\n", THREADS, n, STEPS,
               right ? "as it should be" : "WRONG");
    }
    return !right;
}
