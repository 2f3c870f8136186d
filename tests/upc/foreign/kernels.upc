// SPDX-License-Identifier: BSD-3-Clause
// Programs in the manner of kernel suites: star stencil, transpose, a pipeline between neighbours, search of an
// unbalanced tree with stealing, permutation by collected puts. Compiled without any flag.
//--- star_stencil threads=1,3,4
#define N 24
#define RADIUS 2
#define ITERATIONS 3
typedef shared [] double *row_t;
shared row_t in_rows[N * THREADS], out_rows[N * THREADS]; // the first N are used
double weight[2 * RADIUS + 1][2 * RADIUS + 1];
int main(void)
{
    double norm = 0.0, reference = (double)ITERATIONS * 2.0;
    for (int k = 1; k <= RADIUS; k++) {
        weight[RADIUS][RADIUS + k] = weight[RADIUS + k][RADIUS] = 1.0 / (2.0 * k * RADIUS);
        weight[RADIUS][RADIUS - k] = weight[RADIUS - k][RADIUS] = -(1.0 / (2.0 * k * RADIUS));
    }
    upc_forall (int j = 0; j < N; j++; j) {
        in_rows[j] = (row_t)upc_alloc(N * sizeof(double));
        out_rows[j] = (row_t)upc_alloc(N * sizeof(double));
        for (int i = 0; i < N; i++) {
            in_rows[j][i] = i + j;
            out_rows[j][i] = 0.0;
        }
    }
    upc_barrier;
    for (int iter = 0; iter < ITERATIONS; iter++) {
        upc_forall (int j = RADIUS; j < N - RADIUS; j++; j) {
            for (int i = RADIUS; i < N - RADIUS; i++) {
                for (int x = -RADIUS; x <= RADIUS; x++) out_rows[j][i] += weight[RADIUS][RADIUS + x] * in_rows[j][i + x];
                for (int y = -RADIUS; y <= RADIUS; y++) out_rows[j][i] += weight[RADIUS + y][RADIUS] * in_rows[j + y][i];
            }
        }
        upc_barrier;
        upc_forall (int j = 0; j < N; j++; j)
            for (int i = 0; i < N; i++) in_rows[j][i] += 1.0;
        upc_barrier;
    }
    for (int j = RADIUS; j < N - RADIUS; j++)
        for (int i = RADIUS; i < N - RADIUS; i++) norm += out_rows[j][i];
    norm /= (N - 2 * RADIUS) * (N - 2 * RADIUS);
    CHECK(norm > reference - 1e-8 && norm < reference + 1e-8);
    upc_barrier;
    upc_forall (int j = 0; j < N; j++; j) {
        upc_free(in_rows[j]);
        upc_free(out_rows[j]);
    }
    return t_done();
}
//--- transpose threads=1,3,4
#define BLOCK 6
shared [BLOCK] double *A, *B; // column by column: BLOCK columns of each thread
int main(void)
{
    int order = BLOCK * THREADS, bad = 0;
    A = upc_all_alloc(order * THREADS, BLOCK * sizeof(double));
    B = upc_all_alloc(order * THREADS, BLOCK * sizeof(double));
    for (int i = 0; i < order; i++) // row i: BLOCK elements with each thread
        for (int j = MYTHREAD * BLOCK; j < (MYTHREAD + 1) * BLOCK; j++) A[i * order + j] = (double)(order * i + j);
    upc_barrier;
    for (int t = 1; t <= THREADS; t++) { // another partner in each phase
        int from = (MYTHREAD + t) % THREADS;
        double tile[BLOCK][BLOCK];
        for (int i = 0; i < BLOCK; i++) upc_memget(tile[i], &A[(MYTHREAD * BLOCK + i) * order + from * BLOCK], sizeof tile[i]);
        for (int j = 0; j < BLOCK; j++)
            for (int i = 0; i < BLOCK; i++) B[(from * BLOCK + j) * order + MYTHREAD * BLOCK + i] = tile[i][j];
    }
    upc_barrier;
    for (int i = 0; i < order; i++)
        for (int j = 0; j < order; j++) bad += B[i * order + j] != (double)(order * j + i);
    CHECK(bad == 0);
    return t_done();
}
//--- pipeline threads=1,3,4
#define M 30 // columns of each thread
#define ROWS 12
strict shared int ready[THREADS];
shared [M * ROWS] double grid[THREADS][ROWS][M];
int main(void)
{
    double (*mine)[M] = (double (*)[M])&grid[MYTHREAD][0][0];
    for (int j = 0; j < M; j++) mine[0][j] = MYTHREAD * M + j;
    for (int i = 0; i < ROWS; i++) mine[i][0] = MYTHREAD == 0 ? i : mine[i][0];
    upc_barrier;
    for (int i = 1; i < ROWS; i++) {
        if (MYTHREAD > 0) {
            while (ready[MYTHREAD - 1] < i)
                ;
            mine[i][0] = mine[i - 1][0] + grid[MYTHREAD - 1][i][M - 1] - grid[MYTHREAD - 1][i - 1][M - 1];
        }
        for (int j = 1; j < M; j++) mine[i][j] = mine[i - 1][j] + mine[i][j - 1] - mine[i - 1][j - 1];
        ready[MYTHREAD] = i;
    }
    upc_barrier;
    CHECK(grid[THREADS - 1][ROWS - 1][M - 1] == (double)(THREADS * M - 1 + ROWS - 1));
    return t_done();
}
//--- tree_search threads=1,3,4
typedef struct { unsigned long state; int height; } tree_node;
typedef struct { upc_lock_t *lock; tree_node items[4096]; } stack_t_;
shared stack_t_ stacks[THREADS];
strict shared int tops[THREADS];
strict shared int idle;
shared long counts[THREADS];
upc_lock_t *idle_lock;
static unsigned long next_random(unsigned long x) { return (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ul + 0x94d049bb133111ebul; }
static int children(const tree_node *n) { return n->height == 0 ? 40 : n->height > 12 ? 0 : (int)(next_random(n->state) >> 33) % 5 - 1; }
static long walk(tree_node n) // by recursion, to compare with
{
    long c = 1;
    for (int k = 0; k < children(&n); k++) c += walk((tree_node){ next_random(n.state + (unsigned long)k), n.height + 1 });
    return c;
}
static int take(int from, tree_node *n)
{
    int got = 0;
    if (tops[from] == 0) return 0; // a look without the lock
    upc_lock(stacks[from].lock);
    if (tops[from] > 0) {
        *n = stacks[from].items[--tops[from]];
        got = 1;
    }
    upc_unlock(stacks[from].lock);
    return got;
}
static void add(tree_node n)
{
    upc_lock(stacks[MYTHREAD].lock);
    stacks[MYTHREAD].items[tops[MYTHREAD]++] = n;
    upc_unlock(stacks[MYTHREAD].lock);
}
int main(void)
{
    tree_node root = { 42, 0 }, n;
    stacks[MYTHREAD].lock = upc_global_lock_alloc();
    tops[MYTHREAD] = 0;
    idle_lock = upc_all_lock_alloc();
    upc_barrier;
    if (MYTHREAD == 0) add(root);
    upc_barrier;
    for (int is_idle = 0; idle < THREADS;) {
        int found = take(MYTHREAD, &n);
        for (int t = 1; t < THREADS && !found; t++) {
            int victim = (MYTHREAD + t) % THREADS;
            if (tops[victim] > 0 && is_idle) { // counted busy before it takes
                upc_lock(idle_lock); idle--; upc_unlock(idle_lock);
                is_idle = 0;
            }
            found = !is_idle && take(victim, &n);
        }
        if (!found && !is_idle) {
            upc_lock(idle_lock); idle++; upc_unlock(idle_lock);
            is_idle = 1;
        } else if (found) {
            counts[MYTHREAD]++;
            for (int k = 0; k < children(&n); k++) add((tree_node){ next_random(n.state + (unsigned long)k), n.height + 1 });
        }
    }
    upc_barrier;
    long all = 0;
    for (int t = 0; t < THREADS; t++) all += counts[t];
    CHECK(all == walk(root) && all > 40);
    upc_barrier;
    return t_done();
}
//--- permute_collected threads=1,3,4
#define PER 64
shared int src[PER * THREADS], dest[PER * THREADS], perm[PER * THREADS];
shared [PER * 2] int box[THREADS][PER * 2];
shared int n_box[THREADS];
int main(void)
{
    int total = PER * THREADS, out[PER * 2];
    for (int i = MYTHREAD; i < total; i += THREADS) {
        src[i] = 7 * i;
        perm[i] = (int)((long)i * (total - 1) % total); // one to one
    }
    upc_barrier;
    for (int t = 0; t < THREADS; t++) { // one receiver in each turn, another for each sender
        int to = (MYTHREAD + t) % THREADS, n = 0;
        for (int i = MYTHREAD; i < total; i += THREADS)
            if (perm[i] % THREADS == to) out[n++] = perm[i], out[n++] = src[i];
        upc_memput(&box[to][0], out, (size_t)n * sizeof(int));
        n_box[to] = n;
        upc_barrier;
        for (int k = 0; k < n_box[MYTHREAD]; k += 2) dest[box[MYTHREAD][k]] = box[MYTHREAD][k + 1];
        upc_barrier;
    }
    for (int i = 0; i < total; i++) CHECK(dest[perm[i]] == 7 * i);
    return t_done();
}
