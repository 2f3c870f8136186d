//--- structs_and_lists threads=3
#include "t.h"
typedef struct { int x, y; char name[12]; } point_t;
typedef shared [2] point_t *points_p;
typedef struct node { int v; shared struct node *next; } node_t;
typedef shared node_t *list_t;
shared [2] point_t pts[4 * THREADS];
shared struct { unsigned a : 3, b : 5; int : 0; signed c : 7; } bits[THREADS];
shared union { int i; float f; unsigned char c[4]; } un[THREADS];
shared struct { struct { int deep[3]; } in[2]; point_t *shared *q; } nest[THREADS];
shared list_t heads[THREADS];
static void fill(points_p p, int n)
{
    for (int i = 0; i < n; i++, p++) {
        p->x = i;
        (*p).y = -i;
        p->name[0] = 'a' + i % 26;
        p->name[1] = 0;
    }
}
int main(void)
{
    if (MYTHREAD == 0) fill(pts, 4 * THREADS);
    bits[MYTHREAD].a = 5;
    bits[MYTHREAD].b = 17;
    bits[MYTHREAD].c = -3;
    bits[MYTHREAD].b += 2;
    un[MYTHREAD].f = 1.0f;
    nest[MYTHREAD].in[1].deep[2] = 7 + MYTHREAD;
    heads[MYTHREAD] = NULL;
    for (int i = 0; i < 4; i++) {
        list_t n = upc_alloc(sizeof(node_t));
        n->v = 10 * MYTHREAD + i;
        n->next = heads[MYTHREAD];
        heads[MYTHREAD] = n;
    }
    upc_barrier;
    int you = (MYTHREAD + 1) % THREADS, sum = 0;
    for (int i = 0; i < 4 * THREADS; i++) {
        point_t p = pts[i];
        CHECK(p.x == i && p.y == -i && p.name[0] == 'a' + i && upc_threadof(&pts[i]) == (size_t)(i / 2 % THREADS));
    }
    CHECK(bits[you].a == 5 && bits[you].b == 19 && bits[you].c == -3);
    CHECK(un[you].i == 0x3f800000 && un[you].c[3] + un[you].c[0] == 0x3f);
    CHECK(nest[you].in[1].deep[2] == 7 + you);
    for (list_t n = heads[you]; n; n = n->next) sum += n->v;
    CHECK(sum == 40 * you + 6);
    shared [] int *px = &pts[you].x;
    CHECK(*px == you && *(shared int *)&pts[you].y == -you);
    point_t local = { .name = "zz", .x = 9 };
    upc_barrier;
    if (MYTHREAD == 1) pts[0] = local;
    upc_barrier;
    CHECK(pts[0].x == 9 && pts[0].y == 0 && pts[0].name[1] == 'z');
    return t_done();
}
//--- casts_and_layouts threads=3
#include "t.h"
shared [3] int grid[2][3 * THREADS];
shared [] int solo[10];
shared int cyc[4 * THREADS];
shared [*] double star[5 * THREADS];
typedef int row_t[4];
shared [4] row_t rows[2 * THREADS];
typedef shared [5] int five_t;
five_t fives[5 * THREADS];
int main(void)
{
    upc_forall (int i = 0; i < 3 * THREADS; i++; &grid[1][i]) grid[1][i] = grid[0][i] + i;
    upc_forall (int i = 0; i < 4 * THREADS; i++; cyc + i) cyc[i] = i;
    upc_forall (int i = 0; i < 5 * THREADS; i++; &star[i]) star[i] = i / 2.0;
    upc_forall (int i = 0; i < 2 * THREADS; i++; rows[i]) for (int j = 0; j < 4; j++) rows[i][j] = 4 * i + j;
    upc_barrier;
    shared [] int *ind = (shared [] int *)&cyc[MYTHREAD];
    for (int i = 0; i < 4; i++) CHECK(ind[i] == MYTHREAD + i * THREADS);
    shared [2] int *two = (shared [2] int *)cyc;
    CHECK(upc_threadof(two + 2) == (size_t)(1 % THREADS) && upc_phaseof(two + 3) == 1);
    int *mine = (int *)&cyc[MYTHREAD];
    CHECK(mine[1] == MYTHREAD + THREADS);
    for (int i = 0; i < 3 * THREADS; i++) CHECK(grid[1][i] == i);
    CHECK(upc_blocksizeof(star) == 5 && upc_localsizeof(five_t[5 * THREADS]) == 20 && upc_elemsizeof(rows) == sizeof(int));
    for (int i = 0; i < 2 * THREADS; i++) CHECK(rows[i][3] == 4 * i + 3 && upc_threadof(rows[i]) == (size_t)(i % THREADS));
    CHECK(&fives[7] - &fives[2] == 5 && &fives[7] > &fives[2] && (&cyc[3] - cyc) == 3);
    shared void *v = &fives[6];
    shared [5] int *back = v;
    CHECK(back == &fives[6] && upc_phaseof(back) == 1);
    shared [4] int (*rp)[4] = rows;
    rp++;
    CHECK((*rp)[2] == 6 && rp[1][0] == 8);
    if (MYTHREAD == 0) for (int i = 0; i < 10; i++) solo[i] = i * i;
    upc_barrier;
    shared [] int *end = solo + 10, *p = solo;
    int sum = 0;
    while (p != end) sum += *p++;
    CHECK(sum == 285 && upc_threadof(end - 1) == 0);
    return t_done();
}
//--- loops threads=3
#include "t.h"
shared int hits[THREADS], a[6 * THREADS];
shared [4] int b[8 * THREADS];
enum { LAST = 11 };
static int calls;
static int owner(int i) { calls++; return i; }
int main(void)
{
    int n = 0, i, j;
    upc_forall (i = 0; i <= LAST; i++; i) n++;
    CHECK(n == LAST / THREADS + (MYTHREAD <= LAST % THREADS) && i == LAST + 1);
    n = 0;
    upc_forall (i = LAST; i >= 0; i -= 2; owner(i)) n++;
    CHECK(calls == 6 && i == -1);
    n = 0;
    upc_forall (unsigned long k = 0; k < 10; ++k; (char)k) { if (k == 3) continue; n++; }
    hits[MYTHREAD] = n;
    n = 0;
    upc_forall (i = 0; i < THREADS; i++; continue) upc_forall (j = 0; j < 6; j++; &a[i * 6 + j]) n++;
    upc_forall (i = 0; i < 2 * THREADS; i++; &b[i * 4]) upc_forall (j = 0; j < 4; j++; j) b[i * 4 + j] = i;
    upc_forall (;0;;) n = 1000;
    upc_forall (i = 0, j = 5; i < 5; i++, j--; ) CHECK(i + j == 5);
    upc_forall (i = 0; i < 3; i++; MYTHREAD) CHECK(i < 3);
    upc_forall (i = 0; i < 4 * THREADS; i++; i % 2 ? &a[i] : &a[0]) n += 0;
    upc_barrier;
    CHECK(n == 6);
    int total = 0;
    for (i = 0; i < THREADS; i++) total += hits[i];
    CHECK(total == 9);
    for (i = 0; i < 8 * THREADS; i++) CHECK(b[i] == i / 4);
    switch (MYTHREAD) {
    case 0: upc_forall (i = 0; i < 1; i++; continue) n = -1; break;
    default: n = -1;
    }
    do { upc_barrier 5; } while (n-- > 0);
    if (MYTHREAD) upc_notify; else upc_notify 3;
    upc_wait;
    return t_done();
}
//--- c_features threads=3
#include "t.h"
#include <complex.h>
#include <stdarg.h>
#include <stdbool.h>
#define SWAP(p, q) ({ __typeof__(*(p) + 0) t_ = *(p); *(p) = *(q); *(q) = t_; t_; })
#define KIND(x) _Generic((x), int: 1, double: 2, shared int *: 3, default: 4)
shared int a[THREADS], b[THREADS];
shared double _Complex z[THREADS];
shared bool flag[THREADS];
shared long long big[THREADS];
int (*table[2])(shared int *, int);
int old_style(p, n) shared int *p; int n; { return p[0] + n; }
static inline int twice(shared int *p, int n) { return *p * 2 + n; }
static int sum_of(int n, ...)
{
    va_list v;
    va_start(v, n);
    int s = 0;
    for (int i = 0; i < n; i++) s += *va_arg(v, shared int *);
    va_end(v);
    return s;
}
static shared int *pick(int i) { return &a[i]; }
struct pair { shared int *p; int n; };
static struct pair pair_of(int i) { return (struct pair){ .n = i, .p = pick(i) }; }
int main(void)
{
    a[MYTHREAD] = MYTHREAD + 1;
    b[MYTHREAD] = 100 * MYTHREAD;
    z[MYTHREAD] = MYTHREAD + 2.0 * I;
    flag[MYTHREAD] = MYTHREAD;
    big[MYTHREAD] = 1LL << (40 + MYTHREAD);
    table[0] = old_style;
    table[1] = twice;
    upc_barrier;
    int you = (MYTHREAD + 1) % THREADS, n = THREADS + 2;
    double vla[n];
    for (int i = 0; i < n; i++) vla[i] = a[i % THREADS];
    CHECK(vla[THREADS] == 1 && sizeof vla == n * sizeof(double));
    CHECK(table[0](&a[you], 5) == you + 6 && (*table[1])(&a[you], 1) == 2 * you + 3);
    CHECK(sum_of(3, &a[0], &a[THREADS - 1], pick(0)) == THREADS + 2);
    CHECK(pair_of(you).p == &a[you] && *pair_of(you).p == you + 1);
    CHECK(creal(z[you]) == you && __imag__ z[you] == 2 && cabs(z[0] - 2.0 * I) == 0);
    CHECK(flag[you] == (you != 0) && big[you] >> 40 == 1 << you);
    CHECK(KIND(1) == 1 && KIND(1.0) == 2 && KIND(&a[0]) == 3 && KIND(n > 0 ? &a[0] : NULL) == 3);
    upc_barrier;
    if (MYTHREAD == 0) CHECK(SWAP(&a[0], &b[THREADS - 1]) == 1);
    upc_barrier;
    CHECK(a[0] == 100 * (THREADS - 1) && b[THREADS - 1] == 1);
    upc_barrier;
    a[MYTHREAD] = a[MYTHREAD] = 3, a[MYTHREAD]++, ++a[MYTHREAD], a[MYTHREAD] <<= 2, a[MYTHREAD] %= 7;
    int got = a[MYTHREAD]-- + (a[you] ? 0 : 0), *lp = (int *)&a[MYTHREAD];
    CHECK(got == 6 && *lp == 5);
    const char *text = MYTHREAD ? "x" "y" : __func__;
    CHECK(text[0] == (MYTHREAD ? 'x' : 'm'));
    goto out;
out:
    upc_barrier;
    return t_done();
}
//--- strict_and_locks threads=3
#include "t.h"
#include <upc_strict.h>
shared int flag, data[THREADS];
upc_lock_t *shared [] locks[4];
upc_lock_t *one;
shared [] int counts[4];
static void add(int k)
{
#pragma upc relaxed
    upc_lock(locks[k]);
    counts[k] += 1;
    upc_unlock(locks[k]);
}
int main(void)
{
    one = upc_all_lock_alloc();
    if (MYTHREAD == 0) for (int i = 0; i < 4; i++) locks[i] = upc_global_lock_alloc();
    upc_barrier;
    for (int i = 0; i < 20; i++) add(i % 4);
    while (!upc_lock_attempt(one)) ;
    {
#pragma upc relaxed
        data[MYTHREAD] = 4;
        {
#pragma upc strict
            flag++;
        }
        data[MYTHREAD]++;
    }
    upc_unlock(one);
    while (flag < THREADS) ;
    upc_fence;
    upc_barrier;
    CHECK(flag == THREADS && data[(MYTHREAD + 1) % THREADS] == 5);
    for (int i = 0; i < 4; i++) CHECK(counts[i] == 5 * THREADS);
    upc_barrier;
    if (MYTHREAD == THREADS - 1) for (int i = 0; i < 4; i++) upc_lock_free(locks[i]);
    upc_all_lock_free(one);
    return t_done();
}
//--- copies_and_memory threads=3
#include "t.h"
shared [8] char text[8 * THREADS], other[8 * THREADS];
shared [] char *shared lines[THREADS];
shared [3] int ints[9 * THREADS];
int main(void)
{
    char buf[32] = "";
    int you = (MYTHREAD + 1) % THREADS;
    sprintf(buf, "t%d", MYTHREAD);
    upc_memput(&text[8 * MYTHREAD], buf, strlen(buf) + 1);
    lines[MYTHREAD] = upc_alloc(64);
    upc_memset(lines[MYTHREAD], '.', 63);
    lines[MYTHREAD][63] = 0;
    upc_memput(lines[MYTHREAD] + 5, buf, 2);
    upc_barrier;
    upc_memget(buf, &text[8 * you], 8);
    CHECK(atoi(buf + 1) == you);
    char got[64];
    upc_memget(got, lines[you], 64);
    CHECK(strlen(got) == 63 && got[4] == '.' && got[5] == 't' && got[6] == '0' + you && got[7] == '.');
    upc_memcpy(&other[8 * MYTHREAD], &text[8 * you], 8);
    upc_memcpy(&other[8 * MYTHREAD + 4], &text[8 * you], 0);
    upc_barrier;
    CHECK(other[8 * you + 1] == '0' + (you + 1) % THREADS);
    upc_memset(&ints[3 * MYTHREAD], 0xff, 3 * sizeof(int));
    CHECK(ints[3 * MYTHREAD + 2] == -1);
    upc_barrier;
    CHECK(ints[3 * you] == -1 && ints[3 * THREADS + 3 * you] == 0);
    shared [4] double *m = upc_all_alloc(2 * THREADS, 4 * sizeof(double));
    upc_forall (int i = 0; i < 8 * THREADS; i++; &m[i]) m[i] = i;
    upc_barrier;
    CHECK(m[8 * THREADS - 1] == 8 * THREADS - 1 && upc_threadof(&m[4]) == (size_t)(1 % THREADS));
    upc_all_free(m);
    shared int *g = NULL;
    static shared int *shared told;
    if (MYTHREAD == 0) told = g = upc_global_alloc(THREADS, sizeof(int));
    upc_barrier;
    told[MYTHREAD] = MYTHREAD;
    upc_barrier;
    CHECK(told[you] == you);
    upc_barrier;
    if (MYTHREAD == THREADS - 1) { upc_free(told); upc_free(lines[0]); upc_free(NULL); }
    return t_done();
}
//--- collectives_in_use threads=3
#include "t.h"
#include <upc_collective.h>
shared [4] int src[4 * THREADS], dst[4 * THREADS];
shared [] int root[8];
shared int sum, perm[THREADS];
shared double ds[THREADS], dmax;
static int own(int a, int b) { return a > b ? a : b; }
#define F UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC
int main(void)
{
    int you = (MYTHREAD + 1) % THREADS;
    for (int i = 0; i < 4; i++) src[4 * MYTHREAD + i] = 10 * MYTHREAD + i;
    ds[MYTHREAD] = MYTHREAD * 1.5;
    perm[MYTHREAD] = you;
    upc_barrier;
    upc_all_broadcast(dst, src, 4 * sizeof(int), F);
    CHECK(dst[4 * you + 3] == 3);
    upc_all_permute(dst, src, perm, 4 * sizeof(int), UPC_IN_MYSYNC | UPC_OUT_ALLSYNC);
    CHECK(dst[4 * you] == 10 * MYTHREAD);
    upc_all_reduceI(&sum, src, UPC_ADD, 4 * THREADS, 4, NULL, F);
    CHECK(sum == 40 * (THREADS * (THREADS - 1) / 2) + 6 * THREADS);
    upc_all_reduceI(&sum, src, UPC_FUNC, 4 * THREADS, 4, own, UPC_IN_ALLSYNC | UPC_OUT_MYSYNC);
    upc_barrier;
    CHECK(sum == 10 * (THREADS - 1) + 3);
    upc_all_reduceD(&dmax, ds, UPC_MAX, THREADS, 1, NULL, 0);
    CHECK(dmax == 1.5 * (THREADS - 1));
    upc_all_prefix_reduceI(dst, src, UPC_ADD, 4 * THREADS, 4, NULL, F);
    CHECK(dst[3] == 6);
    upc_barrier;
    upc_all_gather(root, src, sizeof(int), UPC_IN_NOSYNC | UPC_OUT_NOSYNC);
    upc_barrier;
    CHECK(root[you] == 10 * you);
    upc_barrier;
    upc_all_scatter(dst, root, sizeof(int), F);
    CHECK(dst[4 * you] == 10 * you);
    return t_done();
}
//--- private_and_static threads=3
#include "t.h"
#include <math.h>
#include <time.h>
int counter = 5;
static int *where = &counter;
const char *names[] = { "a", "b", [3] = "d" };
static shared int init = 42;
shared int table[THREADS];
extern int later;
static int next(void) { static int n = 7; return n++; }
static shared int *cell(void) { static shared int kept[THREADS]; return &kept[MYTHREAD]; }
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int argc, char **argv)
{
    counter += MYTHREAD;
    CHECK(*where == 5 + MYTHREAD && names[3][0] == 'd' && names[2] == NULL && argc == 1 && argv[0]);
    CHECK(next() == 7 && next() == 8 && init == 42 && later == 3);
    *cell() = MYTHREAD;
    int v[] = { 3, 1, 2 };
    qsort(v, 3, sizeof *v, compare);
    CHECK(v[0] == 1 && v[2] == 3 && fib(10) == 55 && fabs(sqrt(2.0) * sqrt(2.0) - 2) < 1e-12);
    srand(1);
    int r = rand();
    table[MYTHREAD] = r;
    upc_barrier;
    CHECK(table[(MYTHREAD + 1) % THREADS] == r && *(cell() + 1 - 1) == MYTHREAD);
    later++;
    CHECK(later == 4 && time(NULL) > 0);
    int *heap = malloc(10 * sizeof *heap);
    for (int i = 0; i < 10; i++) heap[i] = table[i % THREADS] ? i : -1;
    CHECK(heap[9] == 9);
    free(heap);
    return t_done();
}
int later = 3;
//--- static_threads flags=-T=4
#include "t.h"
#if THREADS != 4 || !defined __UPC_STATIC_THREADS__
#error static threads
#endif
#define N 10
shared int odd[N];
shared [N * N / THREADS] double A[N][N];
shared [*] int y[N];
shared int sq[THREADS][THREADS];
int priv[THREADS];
typedef int per_t[THREADS];
struct { int slot[THREADS]; } st;
int main(void)
{
    upc_forall (int i = 0; i < N; i++; &odd[i]) odd[i] = i;
    upc_forall (int i = 0; i < N; i++; &A[i][0]) for (int j = 0; j < N; j++) A[i][j] = i + j;
    upc_forall (int i = 0; i < THREADS; i++; i) for (int j = 0; j < THREADS; j++) sq[j][i] = i * j;
    per_t t = { [THREADS - 1] = 1 };
    priv[MYTHREAD] = st.slot[MYTHREAD] = t[3];
    switch (MYTHREAD) { case THREADS - 1: priv[0] = 2; break; case 0: break; }
    upc_barrier;
    CHECK(odd[9] == 9 && A[9][9] == 18 && sq[3][2] == 6 && upc_blocksizeof(y) == 3 && upc_threadof(&y[9]) == 3);
    CHECK(sizeof odd == 40 && sizeof priv == 16 && upc_localsizeof(odd) == 12 && priv[MYTHREAD] == 1);
    return t_done();
}
//--- matrix_and_sort threads=3
#include "t.h"
#define M 6
shared [M] int A[M * THREADS][M], C[M * THREADS][M];
shared [] int B[M][M];
shared [5] int keys[5 * THREADS];
shared int done;
static void odd_even(void)
{
    int n = 5 * THREADS;
    for (int phase = 0; phase < n; phase++) {
        upc_forall (int i = phase & 1; i < n - 1; i += 2; &keys[i])
            if (keys[i] > keys[i + 1]) {
                int t = keys[i];
                keys[i] = keys[i + 1];
                keys[i + 1] = t;
            }
        upc_barrier;
    }
}
int main(void)
{
    if (MYTHREAD == 0) for (int i = 0; i < M * M; i++) B[i / M][i % M] = i % (M + 1) == 0;
    upc_forall (int i = 0; i < M * THREADS; i++; &A[i][0]) for (int j = 0; j < M; j++) A[i][j] = i * j;
    upc_forall (int i = 0; i < 5 * THREADS; i++; &keys[i]) keys[i] = (i * 7 + 3) % (5 * THREADS);
    upc_barrier;
    upc_forall (int i = 0; i < M * THREADS; i++; &C[i][0])
        for (int j = 0; j < M; j++) {
            int s = 0;
            for (int k = 0; k < M; k++) s += A[i][k] * B[k][j];
            C[i][j] = s;
        }
    odd_even();
    for (int i = 0; i < M * THREADS; i++) for (int j = 0; j < M; j++) CHECK(C[i][j] == i * j);
    for (int i = 1; i < 5 * THREADS; i++) CHECK(keys[i - 1] <= keys[i]);
    return t_done();
}
