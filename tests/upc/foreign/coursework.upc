//--- matmul_rows threads=1,3,4
// Rows of any number of threads: one dimension has THREADS.
#include <upc_relaxed.h>
#include <stdio.h>
#define N (3*THREADS)
#define P 4
#define M 8
shared [3*P] int a[3*THREADS][P];
shared [] int b[P][M];
shared int total[THREADS];
shared [] double *c;
shared [] double *shared where;
int main()
{
  int i, j, k;
  if (MYTHREAD == 0) {
    for (i = 0; i < N; i++) for (j = 0; j < P; j++) a[i][j] = i + j;
    for (i = 0; i < P; i++) for (j = 0; j < M; j++) b[i][j] = i - j;
    where = (shared [] double *)upc_alloc(N * M * sizeof(double));
  }
  upc_barrier;
  c = where;
  upc_forall (i = 0; i < N; i++; i) {
    for (j = 0; j < M; j++) {
      double s = 0;
      for (k = 0; k < P; k++) s += a[i][k] * b[k][j];
      c[i * M + j] = s;
    }
  }
  upc_barrier 1;
  int bad = 0;
  for (i = 0; i < N; i++) for (j = 0; j < M; j++) {
    int s = 0;
    for (k = 0; k < P; k++) s += (i + k) * (k - j);
    bad += c[i * M + j] != s;
  }
  total[MYTHREAD] = bad;
  upc_barrier;
  if (MYTHREAD == 0) {
    for (bad = i = 0; i < THREADS; i++) bad += total[i];
    puts(bad ? "wrong" : "ok");
    upc_free(c);
  }
  return 0;
}
//--- matmul_static flags=-T=4
#include <upc.h>
#include <stdio.h>
#include <stdlib.h>
#define N 16
shared [N*N/THREADS] double a[N][N], c[N][N];
shared [N/THREADS] double b[N][N];
double b_local[N][N];
int main(void)
{
    int i, j, l;
    upc_forall (i = 0; i < N; i++; &a[i][0])
        for (j = 0; j < N; j++) { a[i][j] = i * N + j; c[i][j] = 0; }
    for (i = 0; i < N; i++)
        upc_forall (j = 0; j < N; j++; &b[i][j]) b[i][j] = (i == j) * 2.0;
    upc_barrier;
    for (i = 0; i < N; i++)
        for (j = 0; j < THREADS; j++)
            upc_memget(&b_local[i][j * (N / THREADS)], &b[i][j * (N / THREADS)], N / THREADS * sizeof(double));
    upc_forall (i = 0; i < N; i++; &c[i][0])
        for (j = 0; j < N; j++) {
            for (l = 0; l < N; l++) c[i][j] += a[i][l] * b_local[l][j];
        }
    upc_barrier;
    if (MYTHREAD == THREADS - 1) {
        for (i = 0; i < N; i++) for (j = 0; j < N; j++)
            if (c[i][j] != 2.0 * (i * N + j)) { printf("%d %d %f\n", i, j, c[i][j]); exit(1); }
        printf("ok\n");
    }
    return 0;
}
//--- queens threads=1,2,3
#include <upc.h>
#include <stdio.h>
enum { SIZE = 8 };
typedef struct { int col[SIZE]; } board_t;
shared int solutions[THREADS];
shared int work;
upc_lock_t *guard;
static int safe(const board_t *b, int row, int col)
{
  for (int r = 0; r < row; r++)
    if (b->col[r] == col || b->col[r] - col == r - row || b->col[r] - col == row - r) return 0;
  return 1;
}
static int place(board_t b, int row)
{
  if (row == SIZE) return 1;
  int n = 0;
  for (int c = 0; c < SIZE; c++)
    if (safe(&b, row, c)) { b.col[row] = c; n += place(b, row + 1); }
  return n;
}
int next(void)
{
  upc_lock(guard);
  int mine = work++;
  upc_unlock(guard);
  return mine;
}
int main(int argc, char *argv[])
{
  int job;
  guard = upc_all_lock_alloc();
  for (job = next(); job < SIZE * SIZE; job = next()) {
    board_t b = {{ job / SIZE, job % SIZE }};
    if (safe(&b, 1, b.col[1])) solutions[MYTHREAD] += place(b, 2);
  }
  upc_barrier;
  if (!MYTHREAD) {
    int sum = 0;
    for (int t = 0; t < THREADS; ++t) sum += solutions[t];
    printf(sum == 92 ? "ok\n" : "%d\n", sum);
    upc_lock_free(guard);
  }
  return 0;
}
//--- sieve threads=1,3,4
#include <stdio.h>
#include <upc_strict.h>
#define LIMIT 2000
shared relaxed char composite[LIMIT * THREADS];
shared int count;
int main(void)
{
  upc_lock_t *l = upc_all_lock_alloc();
  long n = LIMIT * THREADS, i, j; int mine = 0;
  for (i = 2; i * i < n; i++) {
    upc_barrier;
    if (!composite[i])
      upc_forall (j = i * i; j < n; j += i; &composite[j]) composite[j] = 1;
  }
  upc_barrier;
  upc_forall (i = 2; i < LIMIT; i++; i) mine += !composite[i];
  upc_lock(l); count += mine; upc_unlock(l);
  upc_barrier;
  if (MYTHREAD == THREADS / 2) printf(count == 303 ? "ok\n" : "%d\n", count);
  return 0;
}
//--- life threads=1,3,4
#include <upc.h>
#include <stdio.h>
#include <string.h>
#define ROWS (8 * THREADS)
#define COLS 10
typedef unsigned char cell;
shared [4 * COLS] cell grid[2][8 * THREADS * COLS];
#define AT(g, r, c) grid[g][(((r) + ROWS) % ROWS) * COLS + ((c) + COLS) % COLS]
shared int alive;
int main(void)
{
  int r, c, step, now = 0;
  if (MYTHREAD == 0) {
    AT(0, 0, 1) = AT(0, 1, 2) = AT(0, 2, 0) = AT(0, 2, 1) = AT(0, 2, 2) = 1; // a glider
  }
  upc_barrier;
  for (step = 0; step < 8; step++, now = !now) {
    for (r = 0; r < ROWS; r++)
      upc_forall (c = 0; c < COLS; c++; &AT(now, r, c)) {
        int n = 0;
        for (int y = -1; y <= 1; y++) for (int x = -1; x <= 1; x++) if (x || y) n += AT(now, r + y, c + x);
        AT(!now, r, c) = n == 3 || (n == 2 && AT(now, r, c));
      }
    upc_barrier step;
  }
  if (MYTHREAD == 0) {
    int bad = 0, n = 0;
    for (r = 0; r < ROWS; r++) for (c = 0; c < COLS; c++) n += AT(now, r, c);
    int want[5][2] = { { 2, 3 }, { 3, 4 }, { 4, 2 }, { 4, 3 }, { 4, 4 } };
    for (r = 0; r < 5; r++) bad += !AT(now, want[r][0], want[r][1]);
    puts(n == 5 && bad == 0 ? "ok" : "wrong");
  }
  return 0;
}
//--- sobel flags=-T=4
#include <upc_relaxed.h>
#include <math.h>
#include <stdio.h>
#define N 16
typedef unsigned char BYTET;
typedef struct { BYTET r[N]; } RowOfBytes;
shared RowOfBytes orig[N], edge[N];
int Sobel(void)
{
  int i, j, d1, d2; double magnitude;
  upc_forall (i = 1; i < N - 1; i++; &edge[i]) {
    for (j = 1; j < N - 1; j++) {
      d1 = (int)orig[i-1].r[j+1] - orig[i-1].r[j-1];
      d1 += ((int)orig[i].r[j+1] - orig[i].r[j-1]) << 1;
      d1 += (int)orig[i+1].r[j+1] - orig[i+1].r[j-1];
      d2 = (int)orig[i-1].r[j-1] - orig[i+1].r[j-1];
      d2 += ((int)orig[i-1].r[j] - orig[i+1].r[j]) << 1;
      d2 += (int)orig[i-1].r[j+1] - orig[i+1].r[j+1];
      magnitude = sqrt((double)(d1 * d1 + d2 * d2));
      edge[i].r[j] = magnitude > 255 ? 255 : (BYTET)magnitude;
    }
  }
  return 0;
}
int main(void)
{
  int i, j, bad = 0;
  upc_forall (i = 0; i < N; i++; i)
    for (j = 0; j < N; j++) orig[i].r[j] = j < N / 2 ? 10 : 30;
  upc_barrier;
  Sobel();
  upc_barrier;
  for (i = 1; i < N - 1; i++)
    for (j = 1; j < N - 1; j++) bad += edge[i].r[j] != (j == N / 2 - 1 || j == N / 2 ? 80 : 0);
  if (MYTHREAD == 0) printf("%s\n", bad == 0 ? "ok" : "wrong");
  return bad;
}
//--- wave threads=1,3,4
#include <upc.h>
#include <math.h>
#include <stdio.h>
#define PER 50
shared [PER] double old_[PER * THREADS], cur_[PER * THREADS], new_[PER * THREADS];
shared [PER] double *older = old_, *current = cur_, *newer = new_;
int main(void)
{
  long n = PER * THREADS, i;
  const double pi = acos(-1.0);
  upc_forall (i = 0; i < n; i++; &current[i]) current[i] = older[i] = sin(2 * pi * i / (n - 1));
  upc_barrier;
  for (int step = 0; step < 20; step++) {
    upc_forall (i = 1; i < n - 1; i++; &newer[i])
      newer[i] = 2 * current[i] - older[i] + 0.09 * (current[i - 1] - 2 * current[i] + current[i + 1]);
    upc_barrier;
    shared [PER] double *t = older;
    older = current; current = newer; newer = t;
    upc_barrier;
  }
  // The same in private.
  double o[PER * THREADS], c[PER * THREADS], w[PER * THREADS];
  for (i = 0; i < n; i++) o[i] = c[i] = sin(2 * pi * i / (n - 1));
  for (i = 0; i < n; i++) w[i] = 0;
  for (int step = 0; step < 20; step++) {
    for (i = 1; i < n - 1; i++) w[i] = 2 * c[i] - o[i] + 0.09 * (c[i - 1] - 2 * c[i] + c[i + 1]);
    for (i = 0; i < n; i++) { double x = o[i]; o[i] = c[i]; c[i] = w[i]; w[i] = x; }
  }
  int bad = 0;
  for (i = 1; i < n - 1; i++) bad += fabs(current[i] - c[i]) > 1e-12;
  if (MYTHREAD == 0) puts(bad ? "wrong" : "ok");
  return bad != 0;
}
//--- heat_cube threads=1,2,4
#include <stdio.h>
#include <math.h>
#include <upc_relaxed.h>
#define N 6
#define B (N*N)
shared [B] double grids[2][N*THREADS][N][N];
shared double dmax[THREADS];
#define max(a, b) ((a) > (b) ? (a) : (b))
int main(void)
{
  double dT, e, epsilon = 1e-3, last;
  int x, y, z, i, nr = 0, sg = 0, dg = 1, planes = N * THREADS;
  for (z = 0; z < planes; z++)
    upc_forall (y = 0; y < N; y++; &grids[0][z][y][0])
      for (x = 0; x < N; x++) grids[0][z][y][x] = grids[1][z][y][x] = z == 0 ? 1.0 : 0.0;
  upc_barrier;
  do {
    double mine = 0;
    upc_forall (z = 1; z < planes - 1; z++; &grids[sg][z][0][0])
      for (y = 1; y < N - 1; y++)
        for (x = 1; x < N - 1; x++) {
          dT = grids[sg][z+1][y][x] + grids[sg][z-1][y][x] + grids[sg][z][y-1][x] + grids[sg][z][y+1][x] +
               grids[sg][z][y][x-1] + grids[sg][z][y][x+1];
          e = fabs(dT / 6 - grids[sg][z][y][x]);
          mine = max(mine, e);
          grids[dg][z][y][x] = dT / 6.0;
        }
    dmax[MYTHREAD] = mine;
    upc_barrier;
    last = 0;
    for (i = 0; i < THREADS; i++) last = max(last, dmax[i]);
    dg = sg; sg = !sg; nr++;
    upc_barrier;
  } while (last > epsilon && nr < 200);
  static double g[2][N*4][N][N]; // the same in private
  int q = 0, bad = 0;
  for (y = 0; y < N; y++) for (x = 0; x < N; x++) g[0][0][y][x] = g[1][0][y][x] = 1.0;
  for (i = 0; i < nr; i++, q = !q)
    for (z = 1; z < planes - 1; z++) for (y = 1; y < N - 1; y++) for (x = 1; x < N - 1; x++)
      g[!q][z][y][x] = (g[q][z+1][y][x] + g[q][z-1][y][x] + g[q][z][y-1][x] + g[q][z][y+1][x] + g[q][z][y][x-1] +
                        g[q][z][y][x+1]) / 6.0;
  for (z = 0; z < planes; z++) for (y = 0; y < N; y++) for (x = 0; x < N; x++)
    bad += fabs(grids[sg][z][y][x] - g[q][z][y][x]) > 1e-12;
  bad += nr < 5 || nr > 100;
  if (MYTHREAD == 0) puts(bad ? "wrong" : "ok");
  return bad != 0;
}
//--- laplace_converges threads=1,3,4
#include <upc.h>
#include <stdio.h>
#include <math.h>
#include <upc_collective.h>
#define BLOCK 16
shared [BLOCK] double x[THREADS * BLOCK], xnew[THREADS * BLOCK], b[THREADS * BLOCK];
shared double diff[THREADS], diffmax;
static void init(void)
{
  int j;
  upc_forall (j = 0; j < THREADS * BLOCK; j++; &x[j]) { b[j] = 0.01; x[j] = xnew[j] = 0; }
}
int main(void)
{
  int j, iter, n = THREADS * BLOCK;
  init();
  upc_barrier;
  for (iter = 0; iter < 20000; iter++) {
    diff[MYTHREAD] = 0;
    upc_forall (j = 1; j < n - 1; j++; &xnew[j]) {
      xnew[j] = 0.5 * (x[j - 1] + x[j + 1] + b[j]);
      if (diff[MYTHREAD] < fabs(xnew[j] - x[j])) diff[MYTHREAD] = fabs(xnew[j] - x[j]);
    }
    upc_all_reduceD(&diffmax, diff, UPC_MAX, THREADS, 1, NULL, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    if (diffmax <= 1e-7) break;
    upc_forall (j = 0; j < n; j++; &xnew[j]) x[j] = xnew[j];
    upc_barrier;
  }
  int bad = iter == 20000;
  for (j = 1; j < n - 1; j++) bad += fabs(x[j] - 0.005 * j * (n - 1 - j)) > 0.02 * (1 + x[j]);
  if (MYTHREAD == 0) puts(bad ? "wrong" : "ok");
  return bad != 0;
}
