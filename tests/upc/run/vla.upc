//--- vla_parameter
// Rows of a length that only the call knows, in every distribution.
long sum(int n, int rows, shared [] long a[][n])
{
    long all = 0;
    n = -1; // the length is that of the call
    for (int i = 0; i < rows; i++) {
        for (unsigned j = 0; j < sizeof a[0] / sizeof a[0][0]; j++) {
            all += a[i][j];
        }
    }
    return n == -1 ? all : -1;
}
void fill(int n, shared long (*a)[n], int rows)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < n; j++)
            if (upc_threadof(&a[i][j]) == MYTHREAD) a[i][j] = 100 * i + j;
}
void fill_blocks(int n, int m, shared [3] long a[][n][m], int k)
{
    for (int i = 0; i < k * n * m; i++)
        if (upc_threadof(&a[i / m / n][i / m % n][i % m]) == MYTHREAD) a[i / m / n][i / m % n][i % m] = i;
}
shared [] long one[6][5];
shared long cyclic[7 * 6 * THREADS];
shared [3] long blocks[4 * 3 * 6 * THREADS];
int main(void)
{
    if (MYTHREAD == 0) {
        for (int i = 0; i < 30; i++) one[i / 5][i % 5] = i;
    }
    fill(7, (shared long (*)[7])cyclic, 6 * THREADS);
    fill_blocks(3, 4, (shared [3] long (*)[3][4])blocks, 6);
    upc_barrier;
    CHECK(sum(5, 6, one) == 435);
    CHECK(sum(3, 10, (shared [] long (*)[3])one) == 435);
    for (int i = 0; i < 7 * 6 * THREADS; i++) CHECK(cyclic[i] == 100 * (i / 7) + i % 7);
    for (int i = 0; i < 72; i++) CHECK(blocks[i] == i);
    return t_done();
}
//--- vla_pointer
shared int a[12 * THREADS];
shared [] int *shared where;
static int calls;
static int length(int n)
{
    calls++;
    return n;
}
int main(void)
{
    int n = 4;
    upc_forall (int i = 0; i < 12 * THREADS; i++; i) a[i] = i;
    upc_barrier;
    shared int (*p)[length(n)] = (shared int (*)[n])a, (*q)[n], *first = &p[1][0];
    CHECK(calls == 1);
    n = 99;
    q = p + 2;
    CHECK((*q)[3] == 11 && q - p == 2 && q > p && first == &a[4] && *first == 4);
    p++;
    CHECK(p[0][0] == 4 && (*p)[1] == 5 && p[-1][2] == 2 && calls == 1);
    p -= 1;
    CHECK(&p[2][1] == &a[9] && sizeof *p == 4 * sizeof(int) && sizeof(*p) / sizeof((*p)[0]) == 4);
    int m = 3;
    CHECK(((shared int (*)[m])a)[3][2] == 11 && (*((shared int (*)[m])a + 1))[0] == 3);
    int k = 0;
    for (shared int (*r)[m] = (shared int (*)[m])a; k < 4 * THREADS; k++, r++) {
        CHECK(r[0][0] == 3 * k && r[0][2] == 3 * k + 2);
    }
    typedef shared int row[m];
    typedef shared int (*rows)[2][m];
    m = 77;
    row *t = (row *)a;
    rows s = (rows)a;
    CHECK(t[2][1] == 7 && sizeof(row) == 12 && s[1][1][2] == 11 && (s + 1) - s == 1);
    shared int (*list[2])[n - 95] = { p, p + 1 };
    CHECK(list[1][0][1] == 5 && sizeof *list[0] == 16);
    upc_barrier;
    CHECK(calls == 1);
    return t_done();
}
//--- vla_matrix
// A product of matrices whose size is an argument of the program's functions.
void multiply(int n, shared [] double c[n][n], shared [] double a[n][n], shared [] double b[n][n])
{
    upc_forall (int i = 0; i < n; i++; i) {
        for (int j = 0; j < n; j++) {
            double x = 0;
            for (int k = 0; k < n; k++) x += a[i][k] * b[k][j];
            c[i][j] = x;
        }
    }
}
shared [] double *shared at;
int main(void)
{
    int n = 5 + THREADS;
    if (MYTHREAD == 0) at = (shared [] double *)upc_alloc(3 * n * n * sizeof(double));
    upc_barrier;
    shared [] double (*m)[n][n] = (shared [] double (*)[n][n])at;
    upc_forall (int i = 0; i < n * n; i++; i) {
        m[0][i / n][i % n] = i % 7;
        m[1][i / n][i % n] = i / n == i % n ? 2 : 0;
    }
    upc_barrier;
    multiply(n, m[2], m[0], m[1]);
    upc_barrier;
    for (int i = 0; i < n * n; i++) CHECK(at[2 * n * n + i] == 2 * (i % 7));
    upc_barrier;
    return t_done();
}
