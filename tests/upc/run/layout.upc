//--- cyclic_owner
shared int a[5*THREADS];
int main(void)
{
    for (int i = 0; i < 5*THREADS; i++) {
        CHECK(upc_threadof(&a[i]) == i % THREADS);
        CHECK(upc_phaseof(&a[i]) == 0);
        CHECK(upc_addrfield(&a[i]) - upc_addrfield(a) == i / THREADS * sizeof(int));
    }
    return t_done();
}
//--- blocked_owner
shared [4] int b[8*THREADS];
int main(void)
{
    for (int i = 0; i < 8*THREADS; i++) {
        CHECK(upc_threadof(&b[i]) == i / 4 % THREADS);
        CHECK(upc_phaseof(&b[i]) == i % 4);
        CHECK(upc_addrfield(&b[i]) - upc_addrfield(b) == (i / (4*THREADS) * 4 + i % 4) * sizeof(int));
    }
    return t_done();
}
//--- blocked_odd_room
shared [3] short c[7*THREADS];
int main(void)
{
    for (int i = 0; i < 7*THREADS; i++) {
        CHECK(upc_threadof(&c[i]) == i / 3 % THREADS);
        CHECK(upc_phaseof(&c[i]) == i % 3);
    }
    CHECK(upc_localsizeof(c) == 9 * sizeof(short));
    return t_done();
}
//--- indefinite_owner
shared [] double d[17];
int main(void)
{
    for (int i = 0; i < 17; i++) {
        CHECK(upc_threadof(&d[i]) == 0);
        CHECK(upc_phaseof(&d[i]) == 0);
        CHECK(upc_addrfield(&d[i]) - upc_addrfield(d) == i * sizeof(double));
    }
    return t_done();
}
//--- scalar_on_zero
shared int x; shared [3] int y; shared struct { char c[5]; } s; shared [] int z;
int main(void)
{
    CHECK(upc_threadof(&x) == 0 && upc_threadof(&y) == 0 && upc_threadof(&s) == 0 && upc_threadof(&z) == 0);
    CHECK(upc_phaseof(&y) == 0);
    return t_done();
}
//--- multi_dim_checklist_1 threads=3
shared [3] int A[2][4*THREADS];
#define IS(p, t, ph, off) (upc_threadof(p) == (t) && upc_phaseof(p) == (ph) && \
    upc_addrfield(p) - upc_addrfield(A) == (off) * sizeof(int))
int main(void)
{
    CHECK(IS(&A[1][2], 1, 2, 5));
    CHECK(IS(&A[0][11], 0, 2, 5));
    CHECK(IS(&A[1], 1, 0, 3));
    CHECK(IS(A + 1, 1, 0, 3));
    CHECK((A + 1) - A == 1);
    CHECK(&A[1][0] - &A[0][0] == 12);
    CHECK(sizeof A == 96);
    CHECK(upc_localsizeof(A) == 36);
    CHECK(upc_elemsizeof(A) == 4);
    CHECK(upc_blocksizeof(A) == 3);
    return t_done();
}
//--- typedef_array_checklist_4 threads=2
typedef int S[10];
shared [3] S T[3*THREADS];
#define IS(p, t, ph, off) (upc_threadof(p) == (t) && upc_phaseof(p) == (ph) && \
    upc_addrfield(p) - upc_addrfield(T) == (off) * sizeof(int))
int main(void)
{
    CHECK(IS(&T[1][0], 1, 1, 4));
    CHECK(IS(&T[5][9], 1, 2, 29));
    return t_done();
}
//--- typedef_block
typedef shared [4] int T4;
T4 v[4*THREADS];
int main(void)
{
    T4 *q = v;
    CHECK(upc_blocksizeof(T4) == 4 && upc_blocksizeof(*q) == 4 && upc_blocksizeof(v) == 4);
    q += 5;
    CHECK(upc_threadof(q) == 1 % THREADS && upc_phaseof(q) == 1);
    return t_done();
}
//--- star_dynamic
shared [*] int x[7*THREADS];
_Static_assert(upc_blocksizeof(x) == 7, "seven each");
int main(void)
{
    for (int i = 0; i < 7*THREADS; i++) {
        CHECK(upc_threadof(&x[i]) == i / 7);
    }
    shared [7] int *p = x;
    CHECK(upc_threadof(p + 8) == (THREADS > 1));
    return t_done();
}
//--- star_static flags=-T=4
shared [*] int y[10];
shared [*] int z;
int main(void)
{
    static const char own[] = "0001112223";
    for (int i = 0; i < 10; i++) {
        CHECK(upc_threadof(&y[i]) == own[i] - '0');
    }
    CHECK(upc_blocksizeof(y) == 3 && upc_localsizeof(y) == 12 && upc_blocksizeof(z) == 1);
    return t_done();
}
//--- rows flags=-T=3
#define N 5
shared [N] double R[N][N];
int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            CHECK(upc_threadof(&R[i][j]) == i % THREADS);
    int mine = 0, i;
    upc_forall (i = 0; i < N; i++; &R[i][0]) mine += i;
    upc_forall (i = 0; i < N; i++; R[i]) mine -= i;
    CHECK(mine == 0);
    return t_done();
}
//--- columns
shared int C[3][THREADS];
int main(void)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < THREADS; j++)
            CHECK(upc_threadof(&C[i][j]) == j);
    return t_done();
}
//--- blocks_cross_rows flags=-T=3
shared [4] int g[3][5];
int main(void)
{
    static const char own[] = "000011112222000";
    static const char exp[] = "000011112222000";
    for (int i = 0; i < 15; i++) {
        CHECK(upc_threadof(&g[i / 5][i % 5]) == "000011112222000"[i] - '0');
    }
    (void)own; (void)exp;
    return t_done();
}
//--- rows_of_two threads=2
shared [2] int c[3][2*THREADS];
int main(void)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            CHECK(upc_threadof(&c[i][j]) == j / 2);
    return t_done();
}
//--- symmetric_offsets
shared [2] long a[6*THREADS];
int main(void)
{
    for (int t = 0; t < THREADS; t++) {
        CHECK(upc_addrfield(&a[2 * t]) == upc_addrfield(a));
    }
    return t_done();
}
//--- contiguous_local_part
shared [3] int a[9*THREADS];
int main(void)
{
    int *l = (int *)&a[3 * MYTHREAD];
    for (int k = 0; k < upc_localsizeof(a) / sizeof(int); k++) {
        l[k] = 1000 * MYTHREAD + k;
    }
    upc_barrier;
    for (int i = 0; i < 9*THREADS; i++) {
        int t = i / 3 % THREADS;
        CHECK(a[i] == 1000 * t + i / (3*THREADS) * 3 + i % 3);
    }
    return t_done();
}
//--- zero_initial
shared int a[4*THREADS]; shared struct { int x; double y; } s; shared int *shared p;
int main(void)
{
    for (int i = 0; i < 4*THREADS; i++) CHECK(a[i] == 0);
    CHECK(s.x == 0 && s.y == 0 && p == NULL);
    return t_done();
}
//--- struct_elements
struct P { char tag; double v[3]; short n; };
shared [2] struct P a[5*THREADS];
int main(void)
{
    CHECK(upc_elemsizeof(a) == sizeof(struct P));
    for (int i = 0; i < 5*THREADS; i++) {
        CHECK(upc_threadof(&a[i]) == i / 2 % THREADS);
        CHECK(upc_threadof(&a[i].v[2]) == i / 2 % THREADS);
        CHECK(upc_phaseof(&a[i].v[2]) == 0);
    }
    return t_done();
}
//--- threads_in_any_dim
shared int a[THREADS][3], b[2][THREADS], c[2][3*THREADS][2];
int main(void)
{
    CHECK(sizeof a == 3 * THREADS * sizeof(int));
    CHECK(sizeof b == 2 * THREADS * sizeof(int));
    CHECK(sizeof c == 12 * THREADS * sizeof(int));
    CHECK(sizeof c[0] == 6 * THREADS * sizeof(int));
    CHECK(sizeof c[0][0] == 2 * sizeof(int));
    if (MYTHREAD == 0) c[1][2][1] = 7;
    upc_barrier;
    CHECK(c[1][2][1] == 7);
    CHECK(upc_threadof(&c[1][2][1]) == (6 * THREADS + 5) % THREADS);
    return t_done();
}
//--- three_dims_values
shared [5] int c[2][3*THREADS][4];
int main(void)
{
    if (MYTHREAD == THREADS - 1)
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 3*THREADS; j++)
                for (int k = 0; k < 4; k++)
                    c[i][j][k] = (i * 3*THREADS + j) * 4 + k;
    upc_barrier;
    shared [5] int *p = &c[0][0][0];
    for (int n = 0; n < 24*THREADS; n++) CHECK(p[n] == n);
    return t_done();
}
