//--- figure_2_flat files
#include <upc.h>
#include <mpi.h>
#include <stdio.h>

#define N 100*THREADS
shared double v1[N], v2[N];

int main(int argc, char **argv) {
int i, rank, size;
double sum = 0.0, dotp;
MPI_Comm hybrid_comm;

MPI_Init(&argc, &argv);
MPI_Comm_split(MPI_COMM_WORLD, 0,

MYTHREAD, &hybrid_comm);
MPI_Comm_rank(hybrid_comm, &rank);
MPI_Comm_size(hybrid_comm, &size);

upc_forall(i = 0; i < N; i++; i)
{ v1[i] = 1; v2[i] = 2; }
upc_forall(i = 0; i < N; i++; i)
sum += v1[i]*v2[i];

MPI_Reduce(&sum, &dotp, 1, MPI_DOUBLE,
MPI_SUM, 0, hybrid_comm);

if (rank == 0 && dotp == 200.0) printf("ok\n");

MPI_Finalize();
return 0;

}
//-- mpi.h
typedef int MPI_Comm;
#define MPI_COMM_WORLD 0
#define MPI_DOUBLE 1
#define MPI_SUM 2
static inline int MPI_Init(int *c, char ***v) { (void)c, (void)v; return 0; }
static inline int MPI_Finalize(void) { return 0; }
static inline int MPI_Comm_split(MPI_Comm c, int color, int key, MPI_Comm *out) { (void)c, (void)color; *out = key; return 0; }
static inline int MPI_Comm_rank(MPI_Comm c, int *r) { *r = c; return 0; }
static inline int MPI_Comm_size(MPI_Comm c, int *n) { (void)c; *n = 1; return 0; }
static inline int MPI_Reduce(const void *s, void *d, int n, int t, int op, int root, MPI_Comm c) { (void)t, (void)op, (void)root, (void)c; for (int i = 0; i < n; i++) ((double *)d)[i] = ((const double *)s)[i]; return 0; }
//--- figure_3_nested_funneled files flags=-w
#include <upc.h>
#include <mpi.h>

#define N 100*THREADS
shared double v1[N], v2[N];
shared double our_sum = 0.0;
shared double my_sum[THREADS];
shared int me, np;

int main(int argc, char **argv) {
int i, B;
double dotp;

if (MYTHREAD == 0) {
MPI_Init(&argc, &argv);
MPI_Comm_rank(MPI_COMM_WORLD,(int*)&me);
MPI_Comm_size(MPI_COMM_WORLD,(int*)&np);

}
upc_barrier;

B = N/np;
my_sum[MYTHREAD] = 0.0;
upc_forall(i=me*B;i<(me+1)*B;i++; &v1[i])

my_sum[MYTHREAD] += v1[i]*v2[i];

upc_all_reduceD(&our_sum,&my_sum[MYTHREAD],
UPC_ADD, 1, 0, NULL,
UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);

if (MYTHREAD == 0) {
MPI_Reduce(&our_sum, &dotp, 1, MPI_DOUBLE,

MPI_SUM, 0, MPI_COMM_WORLD);
if (me == 0) printf("ok\n");
MPI_Finalize();

}

return 0;
}
//-- mpi.h
typedef int MPI_Comm;
#define MPI_COMM_WORLD 0
#define MPI_DOUBLE 1
#define MPI_SUM 2
static inline int MPI_Init(int *c, char ***v) { (void)c, (void)v; return 0; }
static inline int MPI_Finalize(void) { return 0; }
static inline int MPI_Comm_rank(MPI_Comm c, int *r) { *r = c; return 0; }
static inline int MPI_Comm_size(MPI_Comm c, int *n) { (void)c; *n = 1; return 0; }
static inline int MPI_Reduce(const void *s, void *d, int n, int t, int op, int root, MPI_Comm c) { (void)t, (void)op, (void)root, (void)c; for (int i = 0; i < n; i++) ((double *)d)[i] = ((const double *)s)[i]; return 0; }
//--- figure_4_nested_multiple files
#include <upc.h>
#include <mpi.h>
#include <stdio.h>

#define N 100*THREADS
shared double v1[N], v2[N];
shared int r0;

int main(int argc, char **argv) {
int i, me, np;
double sum = 0.0, dotp;
MPI_Comm hybrid_comm;

MPI_Init(&argc, &argv);
MPI_Comm_rank(MPI_COMM_WORLD, &me);
MPI_Comm_size(MPI_COMM_WORLD, &np);

if (MYTHREAD == 0) r0 = me;
upc_barrier;
MPI_Comm_split(MPI_COMM_WORLD, 0,
r0*THREADS+MYTHREAD, &hybrid_comm);

MPI_Comm_rank(hybrid_comm, &me);
MPI_Comm_size(hybrid_comm, &np);

int B = N/(np/THREADS); // Block size

upc_forall(i=0*B;i<(0+1)*B;i++; &v1[i])
sum += v1[i]*v2[i];

MPI_Reduce(&sum, &dotp, 1, MPI_DOUBLE,
MPI_SUM, 0, hybrid_comm);

if (me == 0) printf("ok\n");

MPI_Finalize();
return 0;

}
//-- mpi.h
typedef int MPI_Comm;
#define MPI_COMM_WORLD 0
#define MPI_DOUBLE 1
#define MPI_SUM 2
static inline int MPI_Init(int *c, char ***v) { (void)c, (void)v; return 0; }
static inline int MPI_Finalize(void) { return 0; }
static inline int MPI_Comm_split(MPI_Comm c, int color, int key, MPI_Comm *out) { (void)c, (void)color; *out = key; return 0; }
static inline int MPI_Comm_rank(MPI_Comm c, int *r) { *r = c; return 0; }
static inline int MPI_Comm_size(MPI_Comm c, int *n) { (void)c; *n = THREADS; return 0; }
static inline int MPI_Reduce(const void *s, void *d, int n, int t, int op, int root, MPI_Comm c) { (void)t, (void)op, (void)root, (void)c; for (int i = 0; i < n; i++) ((double *)d)[i] = ((const double *)s)[i]; return 0; }
//--- matrix_multiply flags=-T=4
#define N 8
shared [N*N/THREADS] int a[N][N], c[N][N]; shared [N/THREADS] int b[N][N];
int main(void)
{
    int i, j, k;
    upc_forall (i = 0; i < N; i++; &a[i][0]) for (j = 0; j < N; j++) { a[i][j] = i + j; c[i][j] = 0; }
    for (i = 0; i < N; i++) upc_forall (j = 0; j < N; j++; &b[i][j]) b[i][j] = i == j ? 2 : 0;
    upc_barrier;
    upc_forall (i = 0; i < N; i++; &c[i][0]) for (j = 0; j < N; j++) for (k = 0; k < N; k++) c[i][j] += a[i][k] * b[k][j];
    upc_barrier;
    for (i = 0; i < N; i++) for (j = 0; j < N; j++) CHECK(c[i][j] == 2 * (i + j));
    return t_done();
}
//--- queens
#define N 6
shared int total[THREADS];
static int place(int row, unsigned cols, unsigned d1, unsigned d2)
{
    if (row == N) return 1;
    int n = 0;
    for (int c = 0; c < N; c++)
        if (!(cols >> c & 1) && !(d1 >> (row + c) & 1) && !(d2 >> (row - c + N) & 1))
            n += place(row + 1, cols | 1u << c, d1 | 1u << (row + c), d2 | 1u << (row - c + N));
    return n;
}
int main(void)
{
    int c, sum = 0;
    upc_forall (c = 0; c < N; c++; c) total[MYTHREAD] += place(1, 1u << c, 1u << c, 1u << (N - c));
    upc_barrier;
    for (int t = 0; t < THREADS; t++) sum += total[t];
    CHECK(sum == 4);
    return t_done();
}
//--- heat
#define N 12
shared [N] double u[2][THREADS][N];
int main(void)
{
    int t, i, k, cur = 0;
    if (MYTHREAD == 0) u[0][0][0] = u[1][0][0] = 100;
    upc_barrier;
    for (k = 0; k < 20; k++, cur = !cur) {
        upc_forall (t = 0; t < THREADS; t++; &u[cur][t][0])
            for (i = 0; i < N; i++) {
                int g = t * N + i;
                if (g == 0 || g == THREADS * N - 1) continue;
                double l = i > 0 ? u[cur][t][i - 1] : u[cur][t - 1][N - 1];
                double r = i < N - 1 ? u[cur][t][i + 1] : u[cur][t + 1][0];
                u[!cur][t][i] = (l + r) / 2;
            }
        upc_barrier;
    }
    CHECK(u[cur][0][0] == 100 && u[cur][0][1] > u[cur][0][2] && u[cur][0][1] > 50);
    return t_done();
}
//--- random_access races=lost_updates_allowed
shared unsigned long table[64*THREADS];
int main(void)
{
    unsigned long r = 12345 + MYTHREAD; int i, local = 0;
    upc_forall (i = 0; i < 64*THREADS; i++; i) table[i] = i;
    upc_barrier;
    for (i = 0; i < 500; i++) { r = r * 6364136223846793005ul + 1442695040888963407ul; unsigned long k = (r >> 20) % (64*THREADS); local += upc_threadof(&table[k]) == MYTHREAD; table[k] ^= 0; }
    upc_barrier;
    for (i = 0; i < 64*THREADS; i++) CHECK(table[i] == i);
    CHECK(local > 0);
    return t_done();
}
