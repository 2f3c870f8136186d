//--- matrix_multiply_blocked flags=-T=4 out=940922\n
#include <upc_relaxed.h>
#include <stdio.h>
#define N 8
#define P 4
#define M 8
shared [N*P/THREADS] int a[N][P];
shared [N*M/THREADS] int c[N][M];
shared [M/THREADS] int b[P][M];
int main(void)
{
    int i, j, l;
    upc_forall (i = 0; i < N; i++; &c[i][0])
        for (j = 0; j < P; j++) a[i][j] = i + j;
    if (!MYTHREAD) for (i = 0; i < P; i++) for (j = 0; j < M; j++) b[i][j] = i - j;
    upc_barrier;
    upc_forall (i = 0; i < N; i++; &c[i][0]) {
        for (j = 0; j < M; j++) {
            c[i][j] = 0;
            for (l = 0; l < P; l++) c[i][j] += a[i][l] * b[l][j];
        }
    }
    upc_barrier;
    if (MYTHREAD == 0) {
        long sum = 0;
        for (i = 0; i < N; i++) for (j = 0; j < M; j++) sum = sum * 3 % 1000003 + c[i][j];
        printf("%ld\n", sum);
    }
    return 0;
}
//--- sorted_list_lock out=count\s1\sbad\s0\n
#include <upc.h>
#include <stdio.h>
#include <stdlib.h>
typedef struct node node_t;
struct node { int key; char name[16]; shared node_t *next; };
shared node_t * shared head;
upc_lock_t *lock;
void insert(int key)
{
    shared node_t *n = upc_alloc(sizeof(node_t));
    if (n == NULL) { fprintf(stderr, "no memory\n"); upc_global_exit(1); }
    n->key = key;
    char tmp[16];
    snprintf(tmp, sizeof tmp, "k%d", key);
    upc_memput(n->name, tmp, sizeof tmp);
    upc_lock(lock);
    shared node_t * shared [] *pp = (shared node_t * shared [] *)&head;
    while (*pp != NULL && (*pp)->key < key) pp = &(*pp)->next;
    n->next = *pp;
    *pp = n;
    upc_unlock(lock);
}
int main(int argc, char **argv)
{
    lock = upc_all_lock_alloc();
    for (int i = 0; i < 5; i++) insert(i * THREADS + MYTHREAD);
    upc_barrier;
    if (MYTHREAD == THREADS - 1) {
        int count = 0, last = -1, bad = 0;
        for (shared node_t *p = head; p; p = p->next) {
            char buf[16], want[16];
            upc_memget(buf, p->name, 16);
            sprintf(want, "k%d", p->key);
            for (int k = 0; want[k]; k++) if (buf[k] != want[k]) bad++;
            if (p->key != last + 1) bad++;
            last = p->key;
            count++;
        }
        printf("count %d bad %d\n", count == 5 * THREADS, bad);
    }
    upc_barrier;
    while (MYTHREAD == 0 && head) { shared node_t *p = head; head = p->next; upc_free(p); }
    upc_all_lock_free(lock);
    return EXIT_SUCCESS;
}
//--- monte_carlo_pi out=pi\ssame\n
#include <upc_relaxed.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
shared int hits;
shared long all_hits[THREADS];
int hit(void)
{
    double x = ((double)rand()) / RAND_MAX, y = ((double)rand()) / RAND_MAX;
    return x * x + y * y <= 1.0 ? 1 : 0;
}
int main(int argc, char *argv[])
{
    int i, trials = 100000, my_trials, my_hits = 0;
    upc_lock_t *hit_lock = upc_all_lock_alloc();
    if (argc == 2) trials = atoi(argv[1]);
    my_trials = (trials + THREADS - 1 - MYTHREAD) / THREADS;
    srand(MYTHREAD * 17);
    for (i = 0; i < my_trials; i++) my_hits += hit();
    upc_lock(hit_lock);
    hits += my_hits;
    upc_unlock(hit_lock);
    all_hits[MYTHREAD] = my_hits;
    upc_barrier;
    if (MYTHREAD == 0) {
        long s = 0;
        for (i = 0; i < THREADS; i++) s += all_hits[i];
        double pi = 4.0 * hits / trials;
        printf("%s %s\n", fabs(pi - M_PI) < 0.05 ? "pi" : "not pi", s == hits ? "same" : "differ");
        upc_lock_free(hit_lock);
    }
    return 0;
}
//--- heat_two_dimensions out=converged\swarm\n
#include <upc_relaxed.h>
#include <stdio.h>
#include <math.h>
#define ROWS 12
#define N (16)
typedef shared [N] double row_t;
shared [ROWS*N] double grids[2][THREADS*ROWS][N];
shared double dTmax_local[THREADS];
shared int done;
int main()
{
    double dTmax, dT, T;
    int n = 0, x, y;
    shared [ROWS*N] double (*now)[N] = grids[0], (*next)[N] = grids[1], (*tmp)[N];
    for (x = 0; x < N; x++) if (MYTHREAD == 0) now[0][x] = next[0][x] = 1.0;
    upc_barrier 1;
    do {
        dTmax = 0.0;
        upc_forall (y = 1; y < THREADS * ROWS - 1; y++; &now[y][0])
            for (x = 1; x < N - 1; x++) {
                T = (now[y-1][x] + now[y+1][x] + now[y][x-1] + now[y][x+1]) / 4.0;
                dT = fabs(T - now[y][x]);
                next[y][x] = T;
                if (dTmax < dT) dTmax = dT;
            }
        dTmax_local[MYTHREAD] = dTmax;
        upc_notify n;
        tmp = now; now = next; next = tmp;
        upc_wait n;
        dTmax = dTmax_local[0];
        for (int i = 1; i < THREADS; i++) if (dTmax < dTmax_local[i]) dTmax = dTmax_local[i];
        n++;
        upc_barrier;
    } while (dTmax > 1e-3 && n < 500);
    if (MYTHREAD == 0) {
        double s = 0;
        for (y = 0; y < 12; y++) for (x = 0; x < N; x++) s += now[y][x];
        printf("%s %s\n", n > 10 && n < 500 ? "converged" : "did not converge", s > 20 && s < 100 ? "warm" : "cold");
    }
    return 0;
}
//--- bucket_sort out=0\n
#include <upc.h>
#include <upc_collective.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define PER 100
shared [PER] int keys[PER*THREADS];
shared [PER] int sorted[PER*THREADS];
shared [] int *shared bucket[THREADS];
shared [] int *shared count[THREADS];
static int cmp(const void *a, const void *b) { int x = *(const int *)a, y = *(const int *)b; return (x > y) - (x < y); }
int main()
{
    int i, t;
    count[MYTHREAD] = (shared [] int *)upc_alloc(THREADS * sizeof(int));
    upc_barrier;
    unsigned seed = 1 + MYTHREAD;
    int *mine = (int *)&keys[MYTHREAD*PER];
    for (i = 0; i < PER; i++) { seed = seed * 1103515245 + 12345; mine[i] = (seed >> 8) % 10000; }
    long before = 0, after = 0;
    for (i = 0; i < PER; i++) before += mine[i];
    int *dest = malloc(sizeof(int) * PER);
    int cnt[THREADS];
    memset(cnt, 0, sizeof cnt);
    for (i = 0; i < PER; i++) { dest[i] = (long)mine[i] * THREADS / 10000; cnt[dest[i]]++; }
    for (t = 0; t < THREADS; t++) count[t][MYTHREAD] = cnt[t];
    upc_barrier;
    int total = 0;
    for (t = 0; t < THREADS; t++) total += count[MYTHREAD][t];
    bucket[MYTHREAD] = (shared [] int *)upc_alloc((total ? total : 1) * sizeof(int));
    upc_barrier;
    for (t = 0; t < THREADS; t++) {
        int off = 0;
        for (i = 0; i < MYTHREAD; i++) off += count[t][i];
        for (i = 0; i < PER; i++) if (dest[i] == t) bucket[t][off++] = mine[i];
    }
    upc_barrier;
    int *b = (int *)bucket[MYTHREAD];
    qsort(b, total, sizeof(int), cmp);
    upc_barrier;
    int start = 0;
    for (t = 0; t < MYTHREAD; t++) for (i = 0; i < THREADS; i++) start += count[t][i];
    for (i = 0; i < total; i++) sorted[start + i] = b[i];
    upc_barrier;
    int bad = 0;
    upc_forall (i = 0; i < PER*THREADS - 1; i++; &sorted[i]) if (sorted[i] > sorted[i+1]) bad++;
    int *s = (int *)(sorted + MYTHREAD * PER);
    for (i = 0; i < PER; i++) after += s[i];
    static shared long sums[2*THREADS]; static shared [] long res[2];
    sums[MYTHREAD] = before - after; sums[MYTHREAD + THREADS] = bad;
    upc_all_reduceL(&res[0], sums, UPC_ADD, 2*THREADS, 1, NULL, UPC_IN_ALLSYNC|UPC_OUT_ALLSYNC);
    if (!MYTHREAD) printf("%ld\n", res[0]);
    upc_free(bucket[MYTHREAD]);
    free(dest);
}
//--- shared_strings out=He\s32\n
#include <upc.h>
#include <stdio.h>
#include <string.h>
#include <ctype.h>
shared [] char msg[64];
shared [32] char names[THREADS][32];
shared char cyc[26*THREADS];
int main(void)
{
    char buf[64];
    int i;
    if (MYTHREAD == 0) { strcpy((char *)msg, "hello, shared world"); }
    sprintf((char *)names[MYTHREAD], "thread-%d", MYTHREAD);
    upc_forall (i = 0; i < 26*THREADS; i++; &cyc[i]) cyc[i] = 'a' + i % 26;
    upc_barrier;
    upc_memget(buf, msg, sizeof buf);
    int ok = !strcmp(buf, "hello, shared world");
    char want[32];
    for (i = 0; i < THREADS; i++) {
        sprintf(want, "thread-%d", i);
        upc_memget(buf, names[i], 32);
        ok = ok && strcmp(buf, want) == 0;
    }
    size_t len = 0;
    while (names[(MYTHREAD + 1) % THREADS][len] != '\0') len++;
    ok = ok && len == strlen("thread-") + 1;
    for (i = 0; i < 26; i++) if (cyc[i] != "abcdefghijklmnopqrstuvwxyz"[i]) ok = 0;
    upc_barrier;
    if (ok && MYTHREAD == THREADS - 1) msg[0] = toupper(msg[0]);
    if (!ok) printf("thread %d bad\n", MYTHREAD);
    upc_barrier;
    if (!MYTHREAD) printf("%c%c %d\n", msg[0], msg[1], (int)sizeof(names[0]));
    return 0;
}
//--- collectives_mix out=done\n
#include <upc.h>
#include <upc_collective.h>
#include <stdio.h>
#define NELEMS 10
shared [] int A[NELEMS];
shared [NELEMS] int B[NELEMS*THREADS];
shared [NELEMS] int C[NELEMS*THREADS];
shared int D[THREADS*NELEMS];
shared long sum;
shared double dsum; shared double x[4*THREADS];
shared [4] int P[4*THREADS], Q[4*THREADS];
int maxabs(int a, int b) { return (a < 0 ? -a : a) > (b < 0 ? -b : b) ? a : b; }
shared int big;
int main(void)
{
    int i;
    if (MYTHREAD == 0) for (i = 0; i < NELEMS; i++) A[i] = i * i;
    upc_all_broadcast(B, A, sizeof(int)*NELEMS, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    int bad = 0;
    int *b = (int *)&B[MYTHREAD*NELEMS];
    for (i = 0; i < NELEMS; i++) bad += b[i] != i * i;
    upc_forall (i = 0; i < 4*THREADS; i++; &x[i]) x[i] = 0.5 * i;
    upc_all_reduceD(&dsum, x, UPC_ADD, 4*THREADS, 1, NULL, 0);
    int n = 4*THREADS;
    bad += dsum != 0.5 * n * (n - 1) / 2;
    upc_forall (i = 0; i < 4*THREADS; i++; &P[i]) P[i] = i % 2 ? -i : i;
    upc_all_reduceI(&big, P, UPC_FUNC, 4*THREADS, 4, maxabs, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    bad += big != -(n - 1);
    upc_all_prefix_reduceI(Q, P, UPC_MAX, n, 4, 0, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    for (i = 0; i < n; i++) bad += Q[i] != (i % 2 ? i - 1 : i);
    upc_all_exchange(upc_all_alloc(THREADS, THREADS*sizeof(int)), upc_all_alloc(THREADS, THREADS*sizeof(int)), sizeof(int), UPC_IN_NOSYNC|UPC_OUT_NOSYNC);
    upc_barrier;
    if (bad) printf("thread %d: %d bad\n", MYTHREAD, bad);
    upc_barrier;
    if (MYTHREAD == 0) printf("done\n");
    return 0;
}
//--- work_queues out=right\n
#include <upc_strict.h>
#include <stdio.h>
struct task { int lo, hi; };
struct queue { upc_lock_t *lock; int n; struct task t[64]; };
shared struct queue q[THREADS];
shared long total[THREADS];
strict shared int finished;
int pop(int who, struct task *t)
{
    int got = 0;
    if (!upc_lock_attempt(q[who].lock)) return 0;
    if (q[who].n > 0) { *t = q[who].t[--q[who].n]; got = 1; }
    upc_unlock(q[who].lock);
    return got;
}
int main(void)
{
    q[MYTHREAD].lock = upc_global_lock_alloc();
    for (int i = 0; i < 16; i++) {
        struct task t = { i * 100 + MYTHREAD * 1600, (i + 1) * 100 + MYTHREAD * 1600 };
        q[MYTHREAD].t[q[MYTHREAD].n++] = t;
    }
    upc_notify 7;
    long sum = 0;
    upc_wait 7;
    upc_lock_t *count = upc_all_lock_alloc();
    while (finished < 16 * THREADS) {
        struct task t;
        for (int v = 0; v < THREADS; v++) {
            if (pop((MYTHREAD + v) % THREADS, &t)) {
                for (int k = t.lo; k < t.hi; k++) sum += k;
                upc_lock(count); finished++; upc_unlock(count);
                break;
            }
        }
    }
    total[MYTHREAD] = sum;
    upc_barrier;
    if (MYTHREAD == 0) {
        long s = 0, n = 1600L * THREADS;
        for (int i = 0; i < THREADS; i++) s += total[i];
        printf("%s\n", s == n * (n - 1) / 2 ? "right" : "wrong");
    }
    upc_barrier;
    upc_lock_free(q[MYTHREAD].lock);
}
//--- game_of_life out=5\salive,\scorner\s1\n
#include <upc.h>
#include <stdio.h>
#define W 20
#define H (8*THREADS)
typedef unsigned char cell;
typedef shared [8*W] cell *board;
board now, nxt;
static inline int at(board b, int y, int x) { return b[((y + H) % H) * W + (x + W) % W]; }
int main(int argc, char **argv)
{
    now = (board)upc_all_alloc(THREADS, 8*W);
    nxt = (board)upc_all_alloc(THREADS, 8*W);
    int i, g;
    upc_forall (i = 0; i < H * W; i++; &now[i]) now[i] = 0;
    upc_barrier;
    if (!MYTHREAD) { now[0*W+1] = 1; now[1*W+2] = 1; now[2*W] = now[2*W+1] = now[2*W+2] = 1; }
    upc_barrier;
    for (g = 0; g < 8; g++) {
        int y, x;
        upc_forall (y = 0; y < H; y++; &nxt[y*W])
            for (x = 0; x < W; x++) {
                int n = 0;
                for (int dy = -1; dy <= 1; dy++) for (int dx = -1; dx <= 1; dx++) n += (dy || dx) && at(now, y + dy, x + dx);
                nxt[y*W+x] = n == 3 || (n == 2 && now[y*W+x]);
            }
        upc_barrier;
        board t = now; now = nxt; nxt = t;
    }
    int alive = 0;
    for (i = 0; i < H*W; i++) alive += now[i];
    upc_barrier;
    if (MYTHREAD == 0) printf("%d alive, corner %d\n", alive, at(now, 2, 3) && at(now, 3, 4));
    upc_all_free((shared void *)now); upc_all_free(nxt);
    return 0;
}
//--- tree_by_compare_and_swap out=all\s1\n
#include <upc.h>
#include <upc_atomic.h>
#include <upc_nb.h>
#include <upc_tick.h>
#include <upc_castable.h>
#include <stdio.h>
#include <inttypes.h>
#include <assert.h>
typedef struct tnode { long key; shared struct tnode *kid[2]; } tnode;
typedef shared tnode *tptr;
shared tptr root;
shared uint64_t inserted;
shared [10] double src[10*THREADS];
int main(void)
{
    upc_atomicdomain_t *d = upc_all_atomicdomain_alloc(UPC_PTS, UPC_CSWAP | UPC_GET | UPC_SET, 0);
    upc_atomicdomain_t *c = upc_all_atomicdomain_alloc(UPC_UINT64, UPC_ADD | UPC_INC | UPC_GET, UPC_ATOMIC_HINT_LATENCY);
    upc_tick_t t0 = upc_ticks_now();
    for (int i = 0; i < 50; i++) {
        tptr n = upc_alloc(sizeof *n);
        n->key = (i * 37L + MYTHREAD * 11) % 101;
        n->kid[0] = n->kid[1] = NULL;
        upc_fence;
        shared void *place = &root;
        for (;;) {
            shared void *none = NULL, *old, *me = n;
            upc_atomic_strict(d, &old, UPC_CSWAP, place, &none, &me);
            if (old == NULL) break;
            tptr o = old;
            place = &o->kid[n->key >= o->key];
        }
        upc_atomic_relaxed(c, NULL, UPC_INC, &inserted, NULL, NULL);
    }
    double buf[10];
    for (int i = 0; i < 10; i++) src[MYTHREAD*10+i] = MYTHREAD + i / 10.;
    upc_barrier;
    upc_handle_t h = upc_memget_nb(buf, &src[(MYTHREAD + 1) % THREADS * 10], sizeof buf);
    upc_sync(h);
    assert(buf[3] == (MYTHREAD + 1) % THREADS + .3);
    void *p = upc_cast(&src[(MYTHREAD + 1) % THREADS * 10]);
    if (p) assert(((double *)p)[3] == buf[3]);
    uint64_t ns = upc_ticks_to_ns(upc_ticks_now() - t0);
    assert(ns > 0);
    if (MYTHREAD == 0) {
        tptr stack[1000]; int sp = 0; long count = 0;
        stack[sp++] = root;
        while (sp) { tptr x = stack[--sp]; if (!x) continue; count++; stack[sp++] = x->kid[0]; stack[sp++] = x->kid[1]; }
        printf("%s %d\n", count == 50 * THREADS ? "all" : "lost", inserted == 50u * THREADS);
    }
    upc_all_atomicdomain_free(d); upc_all_atomicdomain_free(c);
    return 0;
}
