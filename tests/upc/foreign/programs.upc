//--- bucket_sort threads=1,3,4
#include <upc.h>
#include <stdio.h>
#include <stdlib.h>
#define KEYS 300
#define RANGE 1024
typedef shared [] int *list_t;
shared int keys[KEYS*THREADS];
#define MOST 8
shared [MOST] list_t boxes[THREADS][MOST]; /* from, to */
shared [MOST] int sizes[THREADS][MOST];
static int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int owner_of(key) int key; { return (int)((long)key * THREADS / RANGE); }
shared [] int *shared sorted[THREADS];
shared int n_sorted[THREADS];
int main(int argc, char **argv)
{
  int i, t, n;
  srand(MYTHREAD + 1);
  upc_forall (i = 0; i < KEYS*THREADS; i++; &keys[i]) keys[i] = rand() % RANGE;
  for (t = 0; t < THREADS; t++) {
    list_t box = (list_t)upc_alloc(KEYS * sizeof(int));
    n = 0;
    for (i = MYTHREAD; i < KEYS*THREADS; i += THREADS) if (owner_of(keys[i]) == t) box[n++] = keys[i];
    boxes[MYTHREAD][t] = box;
    sizes[MYTHREAD][t] = n;
  }
  upc_barrier;
  for (n = t = 0; t < THREADS; t++) n += sizes[t][MYTHREAD];
  n_sorted[MYTHREAD] = n;
  sorted[MYTHREAD] = (list_t)upc_alloc((n + 1) * sizeof(int));
  int *mine = (int *)sorted[MYTHREAD], *at = mine;
  for (t = 0; t < THREADS; t++) { upc_memget(at, boxes[t][MYTHREAD], sizes[t][MYTHREAD] * sizeof *at); at += sizes[t][MYTHREAD]; }
  qsort(mine, n, sizeof *mine, cmp);
  upc_barrier;
  if (MYTHREAD == 0) {
    int last = -1, bad = 0, all = 0; long sum = 0;
    for (t = 0; t < THREADS; t++) for (i = 0; i < n_sorted[t]; i++, all++) {
      bad += sorted[t][i] < last; last = sorted[t][i]; sum += last;
    }
    for (i = 0; i < KEYS*THREADS; i++) sum -= keys[i];
    printf("%s\n", bad || sum || all != KEYS*THREADS ? "wrong" : "ok");
  }
  upc_barrier;
  for (t = 0; t < THREADS; t++) upc_free(boxes[MYTHREAD][t]);
  return 0;
}
//--- random_access threads=2,4
#include <upc_relaxed.h>
#include <stdint.h>
#include <stdio.h>
#define POLY 0x0000000000000007ULL
#define PERIOD 1317624576693539401LL
#define LOGSIZE 8
typedef uint64_t u64Int; typedef int64_t s64Int;
#define NUPDATE (4 * (1 << LOGSIZE))
shared u64Int Table[(1 << LOGSIZE) * THREADS];
u64Int starts(s64Int n)
{
  int i, j; u64Int m2[64], temp, ran;
  while (n < 0) n += PERIOD;
  while (n > PERIOD) n -= PERIOD;
  if (n == 0) return 0x1;
  temp = 0x1;
  for (i = 0; i < 64; i++) {
    m2[i] = temp;
    temp = (temp << 1) ^ ((s64Int)temp < 0 ? POLY : 0);
    temp = (temp << 1) ^ ((s64Int)temp < 0 ? POLY : 0);
  }
  for (i = 62; i >= 0; i--) if ((n >> i) & 1) break;
  ran = 0x2;
  while (i > 0) {
    temp = 0;
    for (j = 0; j < 64; j++) if ((ran >> j) & 1) temp ^= m2[j];
    ran = temp; i -= 1;
    if ((n >> i) & 1) ran = (ran << 1) ^ ((s64Int)ran < 0 ? POLY : 0);
  }
  return ran;
}
int main(void)
{
  u64Int i, size = (u64Int)(1 << LOGSIZE) * THREADS, temp; int bad = 0;
  upc_forall (i = 0; i < size; i++; i) Table[i] = i;
  for (int pass = 0; pass < 2; pass++) { /* twice the same updates leave what was there */
    for (int who = 0; who < THREADS; who++) { /* in turns: no update is lost */
      upc_barrier;
      if (who != MYTHREAD) continue;
      temp = starts(NUPDATE * MYTHREAD);
      for (i = 0; i < NUPDATE; i++) {
        temp = (temp << 1) ^ (((s64Int)temp < 0) ? POLY : 0);
        Table[temp & (size - 1)] ^= temp;
      }
    }
  }
  upc_barrier;
  for (i = MYTHREAD; i < size; i += THREADS) bad += Table[i] != i;
  if (bad) printf("%d wrong at %d\n", bad, MYTHREAD);
  upc_barrier;
  if (!MYTHREAD) printf("ok\n");
  return bad;
}
//--- locked_list threads=1,3,4
#include <upc_strict.h>
#include <stdio.h>
#include <string.h>
struct item { int key; char word[10]; shared struct item *next; };
typedef shared struct item *link_t;
shared struct { link_t head; upc_lock_t *lock; int n; } list;
static void insert(int key)
{
  link_t n = (link_t)upc_global_alloc(1, sizeof(struct item));
  char text[16];
  sprintf(text, "k%d", key);
  n->key = key;
  upc_memput((shared void *)n->word, text, strlen(text) + 1);
  upc_lock(list.lock);
  shared [] link_t *at = &list.head;
  if (!*at || (*at)->key > key) { n->next = *at; *at = n; }
  else {
    link_t p = *at;
    while (p->next != NULL && p->next->key < key) p = p->next;
    n->next = p->next; p->next = n;
  }
  list.n++;
  upc_unlock(list.lock);
}
int main()
{
  if (MYTHREAD == 0) { list.lock = upc_global_lock_alloc(); list.head = NULL; }
  upc_barrier;
  for (int i = 0; i < 12; i++) insert(i * THREADS + (MYTHREAD + i) % THREADS);
  upc_barrier;
  int k = 0, bad = list.n != 12 * THREADS;
  for (link_t p = list.head; p; p = p->next, k++) {
    char have[10], want[16];
    upc_memget(have, (shared void *)p->word, 10);
    sprintf(want, "k%d", k);
    bad += p->key != k || strcmp(have, want) != 0;
  }
  bad += k != 12 * THREADS;
  upc_barrier;
  if (MYTHREAD == THREADS - 1) {
    while (list.head) { link_t p = list.head; list.head = p->next; upc_free(p); }
    if (upc_lock_attempt(list.lock)) { upc_unlock(list.lock); upc_lock_free(list.lock); puts(bad ? "wrong" : "ok"); }
  }
  return bad;
}
//--- every_collective threads=1,3,4
#include <upc.h>
#include <upc_collective.h>
#include <stdio.h>
#define N 4
shared [] int one[N * 64];
shared [N] int each[N * THREADS], other[N * THREADS];
#define MOST 4
shared [N * MOST] int wide_[N * MOST * THREADS], wide2_[N * MOST * THREADS];
shared [1] int perm[THREADS];
shared int cyc[6 * THREADS], pre[6 * THREADS];
shared long lsum; shared double dsum; shared unsigned char cor; shared float fprod;
shared [3] long longs[3 * THREADS]; shared [] double dbl[16]; shared unsigned char bytes[THREADS];
static int bad;
#define MUST(x) ((x) ? 0 : (bad++, printf("%d: %s\n", __LINE__, #x)))
#define wide(t, i) wide_[N * MOST * (t) + (i)] /* as many as there are threads of each row are used */
#define wide2(t, i) wide2_[N * MOST * (t) + (i)]
static int twice_plus(int a, int b) { return a > b ? a : b; }
int main(void)
{
  upc_flag_t sync[3] = { UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC, UPC_IN_MYSYNC | UPC_OUT_MYSYNC, UPC_IN_NOSYNC | UPC_OUT_NOSYNC };
  for (int s = 0; s < 3; s++) {
    upc_flag_t f = sync[s];
    int i, t;
    upc_barrier;
    if (MYTHREAD == 0) for (i = 0; i < N * THREADS; i++) one[i] = 100 * s + i;
    for (i = 0; i < N; i++) { each[N * MYTHREAD + i] = -1; other[N * MYTHREAD + i] = 0; }
    for (i = 0; i < N * THREADS; i++) { wide(MYTHREAD, i) = 1000 * MYTHREAD + i; wide2(MYTHREAD, i) = 0; }
    perm[MYTHREAD] = (MYTHREAD + 1) % THREADS;
    upc_barrier;
    upc_all_broadcast(each, one, N * sizeof(int), f);
    upc_barrier;
    for (i = 0; i < N * THREADS; i++) MUST(each[i] == 100 * s + i % N);
    upc_barrier;
    upc_all_scatter(each, one, N * sizeof(int), f);
    upc_barrier;
    for (i = 0; i < N * THREADS; i++) MUST(each[i] == 100 * s + i);
    upc_all_permute(other, each, perm, N * sizeof(int), f);
    upc_barrier;
    for (t = 0; t < THREADS; t++) for (i = 0; i < N; i++) MUST(other[(t + 1) % THREADS * N + i] == 100 * s + t * N + i);
    upc_barrier;
    upc_all_gather(one, other, N * sizeof(int), f);
    upc_barrier;
    for (i = 0; i < N * THREADS; i++) MUST(one[i] == other[i]);
    upc_all_gather_all(wide2_, other, N * sizeof(int), f);
    upc_barrier;
    for (t = 0; t < THREADS; t++) for (i = 0; i < N * THREADS; i++) MUST(wide2(t, i) == other[i]);
    upc_barrier;
    upc_all_exchange(wide2_, wide_, N * sizeof(int), f);
    upc_barrier;
    for (t = 0; t < THREADS; t++) for (i = 0; i < N; i++) MUST(wide2(MYTHREAD, t * N + i) == 1000 * t + MYTHREAD * N + i);
    upc_forall (i = 0; i < 6 * THREADS; i++; &cyc[i]) cyc[i] = (i * 7) % 5 + 1;
    upc_forall (i = 0; i < 3 * THREADS; i++; &longs[i]) longs[i] = 1L << 33;
    if (MYTHREAD == 0) for (i = 0; i < 16; i++) dbl[i] = 0.5;
    bytes[MYTHREAD] = 1 << MYTHREAD;
    upc_barrier;
    upc_all_reduceL(&lsum, longs, UPC_ADD, 3 * THREADS, 3, NULL, f);
    upc_all_reduceD(&dsum, dbl, UPC_MULT, 16, 0, NULL, f);
    upc_all_reduceUC(&cor, bytes, UPC_OR, THREADS, 1, NULL, f);
    upc_all_reduceI(&perm[0], cyc, UPC_FUNC, 6 * THREADS, 1, twice_plus, f);
    upc_all_prefix_reduceI(pre, cyc, UPC_ADD, 6 * THREADS, 1, NULL, f);
    upc_barrier;
    MUST(lsum == (3L * THREADS) << 33); MUST(dsum == 1.0 / 65536); MUST(cor == (1 << THREADS) - 1); MUST(perm[0] == 5);
    int sum = 0;
    for (i = 0; i < 6 * THREADS; i++) { sum += cyc[i]; MUST(pre[i] == sum); }
  }
  upc_barrier;
  if (!MYTHREAD && !bad) puts("ok");
  return bad;
}
//--- atomic_domains threads=1,3,4
#include <upc.h>
#include <upc_atomic.h>
#include <stdio.h>
shared int32_t i32; shared uint64_t u64; shared double real; shared long cell[THREADS]; shared [] int32_t *shared p_at;
int main(void)
{
  upc_atomicdomain_t *di = upc_all_atomicdomain_alloc(UPC_INT32, UPC_ADD | UPC_GET | UPC_SET | UPC_CSWAP | UPC_MIN | UPC_MAX | UPC_INC | UPC_DEC | UPC_SUB, UPC_ATOMIC_HINT_LATENCY);
  upc_atomicdomain_t *du = upc_all_atomicdomain_alloc(UPC_UINT64, UPC_AND | UPC_OR | UPC_XOR | UPC_GET | UPC_MULT, 0);
  upc_atomicdomain_t *dd = upc_all_atomicdomain_alloc(UPC_DOUBLE, UPC_ADD | UPC_MAX | UPC_GET, 0);
  upc_atomicdomain_t *dl = upc_all_atomicdomain_alloc(UPC_LONG, UPC_SET | UPC_GET | UPC_CSWAP, 0);
  int32_t three = 3, got, zero = 0; uint64_t bit = 1ULL << (40 + MYTHREAD), all; double half = 0.5, d;
  int bad = 0, k;
  for (k = 0; k < 20; k++) {
    upc_atomic_relaxed(di, &got, UPC_ADD, &i32, &three, NULL);
    upc_atomic_strict(di, NULL, UPC_INC, &i32, NULL, NULL);
    upc_atomic_relaxed(di, NULL, UPC_DEC, &i32, NULL, NULL);
    upc_atomic_relaxed(dd, NULL, UPC_ADD, &real, &half, NULL);
  }
  upc_atomic_strict(du, &all, UPC_OR, &u64, &bit, 0);
  bad += (all & bit) != 0;
  upc_barrier;
  upc_atomic_relaxed(di, &got, UPC_GET, &i32, NULL, NULL);
  upc_atomic_relaxed(du, &all, UPC_GET, &u64, NULL, NULL);
  upc_atomic_relaxed(dd, &d, UPC_GET, &real, NULL, NULL);
  bad += got != 60 * THREADS; bad += all != (((1ULL << THREADS) - 1) << 40); bad += d != 10.0 * THREADS;
  upc_barrier;
  /* one thread wins */
  long want = 0, mine = MYTHREAD + 1, old;
  upc_atomic_strict(dl, &old, UPC_CSWAP, &cell[THREADS - 1], &want, &mine);
  upc_barrier;
  upc_atomic_strict(dl, &want, UPC_GET, &cell[THREADS - 1], 0, 0);
  bad += want < 1 || want > THREADS || (want == mine) != (old == 0);
  bad += upc_atomic_isfast(UPC_INT32, UPC_ADD, (shared void *)&i32) < 0;
  upc_barrier;
  upc_all_atomicdomain_free(di); upc_all_atomicdomain_free(du); upc_all_atomicdomain_free(dd); upc_all_atomicdomain_free(dl);
  if (bad) printf("%d bad at %d\n", bad, MYTHREAD);
  upc_barrier;
  if (MYTHREAD == 0) puts("ok");
  return bad + zero;
}
//--- castable threads=1,2,4
#include <upc.h>
#include <upc_castable.h>
#include <stdio.h>
shared [8] int data[8 * THREADS];
int main(void)
{
  int bad = 0;
  for (int i = 0; i < 8; i++) data[8 * MYTHREAD + i] = 10 * MYTHREAD + i;
  upc_barrier;
  for (int t = 0; t < THREADS; t++) {
    int *p = (int *)upc_cast(&data[8 * t]);
    upc_thread_info_t info = upc_thread_info(t);
    if (t == MYTHREAD) { bad += p == NULL; bad += p != (int *)&data[8 * t]; }
    if (p != NULL) { for (int i = 0; i < 8; i++) bad += p[i] != 10 * t + i; p = NULL; }
    else bad += (info.guaranteedCastable & UPC_CASTABLE_STATIC) != 0;
    if (t == MYTHREAD) bad += (info.guaranteedCastable & UPC_CASTABLE_ALL) != UPC_CASTABLE_ALL;
  }
  bad += upc_cast((shared void *)NULL) != NULL;
  upc_barrier;
  if (!MYTHREAD) puts("ok");
  return bad;
}
//--- files threads=1,3
#include <upc.h>
#include <upc_io.h>
#include <stdio.h>
#include <unistd.h>
#define NB 10
shared [NB] char buffer[NB * THREADS], again[NB * THREADS];
int main(void)
{
  int bad = 0, i; ssize_t n;
  upc_file_t *f = upc_all_fopen("notes.bin", UPC_RDWR | UPC_CREATE | UPC_INDIVIDUAL_FP | UPC_TRUNC, 0, NULL);
  if (f == NULL) return 1;
  for (i = 0; i < NB; i++) buffer[NB * MYTHREAD + i] = 'a' + MYTHREAD;
  upc_barrier;
  bad += upc_all_fseek(f, NB * MYTHREAD, UPC_SEEK_SET) != NB * MYTHREAD;
  n = upc_all_fwrite_local(f, (void *)&buffer[NB * MYTHREAD], 1, NB, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
  bad += n != NB;
  upc_all_fsync(f);
  bad += upc_all_fget_size(f) != NB * THREADS;
  bad += upc_all_fclose(f) != 0;
  f = upc_all_fopen("notes.bin", UPC_RDONLY | UPC_COMMON_FP, 0, NULL);
  n = upc_all_fread_shared(f, again, NB, 1, NB * THREADS, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
  bad += n != NB * THREADS;
  for (i = 0; i < NB * THREADS; i++) bad += again[i] != 'a' + i / NB;
  upc_all_fclose(f);
  upc_barrier;
  if (MYTHREAD == 0) { unlink("notes.bin"); puts(bad ? "wrong" : "ok"); }
  return bad;
}
//--- nested_loops threads=1,3,4
#include <upc.h>
#include <stdio.h>
#define R 5
shared int count[R][THREADS], deep[THREADS];
shared [2] int blocky[2 * THREADS][2];
static void inner(int row)
{
  int j;
  upc_forall (j = 0; j < THREADS; j++; &count[row][j]) count[row][j] += 1 + (int)upc_threadof(&count[row][j]) * 0;
}
int main(void)
{
  int i, j, k, bad = 0;
  for (i = 0; i < R; i++) inner(i);
  upc_barrier;
  upc_forall (i = 0; i < R; i++; i)            /* this one selects */
    upc_forall (j = 0; j < THREADS; j++; j)    /* this one does not */
      count[i][j] += 10;
  upc_barrier;
  for (i = 0; i < R; i++) for (j = 0; j < THREADS; j++) bad += count[i][j] != 11;
  upc_forall (i = 0, j = 10; i < j; i++, j--; continue) deep[MYTHREAD]++;
  bad += deep[MYTHREAD] != 5;
  upc_forall (i = 0; i < 2 * THREADS; i++; &blocky[i][0]) {
    for (k = 0; ; k++) { if (k == 2) break; blocky[i][k] = i * 2 + k; }
    switch (i % 3) { case 0: continue; default: break; case 2: blocky[i][1]++; }
    if (i % 3 == 2) blocky[i][1]--;
  }
  i = 0;
  upc_forall (;i < 3;;) i++;
  bad += i != 3;
  upc_barrier;
  for (i = 0; i < 2 * THREADS; i++) for (k = 0; k < 2; k++) bad += blocky[i][k] != i * 2 + k;
  upc_barrier;
  if (MYTHREAD == 0) puts(bad ? "wrong" : "ok");
  return bad;
}
//--- lengths threads=1,3
#include <upc.h>
#include <stdio.h>
#include <stdlib.h>
static double total(int n, shared [] double (*rows)[n], int k)
{
  double sum = 0;
  for (int i = 0; i < k; i++) for (int j = 0; j < n; j++) sum += rows[i][j];
  return sum;
}
static int priv(int n, int m, int a[n][m]) { int s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) s += a[i][j]; return s; }
int main(void)
{
  int n = 3 + MYTHREAD, m = THREADS, bad = 0, box[n][m + 1];
  for (int i = 0; i < n; i++) for (int j = 0; j <= m; j++) box[i][j] = 1;
  bad += priv(n, m + 1, box) != n * (m + 1);
  shared [] double (*rows)[n] = (shared [] double (*)[n])upc_alloc(sizeof(double) * n * 4);
  for (int i = 0; i < 4; i++) for (int j = 0; j < n; j++) rows[i][j] = 0.25 * i;
  bad += total(n, rows, 4) != 1.5 * n;
  int *per = malloc(THREADS * sizeof(int[2])); typedef int pair[2]; pair *pp = (pair *)per;
  pp[THREADS - 1][1] = 5; bad += per[2 * THREADS - 1] != 5; free(per);
  upc_barrier;
  upc_free(rows);
  if (!MYTHREAD) puts("ok");
  return bad;
}
//--- records threads=1,3
#include <upc_relaxed.h>
#include <stdio.h>
#include <stddef.h>
typedef enum { RED, GREEN = 5, BLUE } colour;
typedef struct { unsigned on : 1; signed level : 6; colour c : 4; unsigned long big : 40; } flags;
typedef union { flags f; unsigned char raw[16]; struct { short lo, hi; } half; } both;
struct tree { shared struct tree *kid[2]; both b; shared [4] int *row; const char *name; double w[3]; };
shared struct tree nodes[2 * THREADS];
shared [4] int rows[4 * THREADS];
static struct tree make(int v) { struct tree t = { { NULL, &nodes[v] }, { { 1, -v, GREEN, 1UL << 35 } }, &rows[4 * MYTHREAD], "x", { v } }; return t; }
int main(void)
{
  int bad = 0, you = (MYTHREAD + 1) % THREADS;
  nodes[MYTHREAD] = make(MYTHREAD);
  nodes[MYTHREAD].w[1] = nodes[MYTHREAD].w[0] + 1;
  nodes[MYTHREAD + THREADS] = nodes[MYTHREAD];
  nodes[MYTHREAD + THREADS].b.f.level = 7;
  nodes[MYTHREAD + THREADS].b.f.big++;
  nodes[MYTHREAD].row[MYTHREAD % 4] = 77;
  rows[4 * MYTHREAD + 3] |= 128;
  upc_barrier;
  shared struct tree *p = &nodes[you], *q = nodes + you + THREADS;
  bad += p->b.f.level != -you || !p->b.f.on || p->b.f.c != GREEN || p->b.f.big != 1UL << 35;
  bad += q->b.f.level != 7 || q->b.f.big != (1UL << 35) + 1 || q->w[1] != you + 1 || q->kid[0] != NULL;
  bad += p->kid[1] != p || p->kid[1]->kid[1]->kid[1]->w[0] != you;
  bad += q - p != THREADS || p->row[3] < 128 || upc_threadof(p->row) != (size_t)you;
  bad += offsetof(struct tree, b) != 2 * sizeof(shared void *) || sizeof(p->b) != sizeof(both);
  struct tree copy = *p; shared [] both *u = &p->b;
  bad += copy.b.raw[0] != u->raw[0] || (*u).half.lo != copy.b.half.lo;
  upc_barrier;
  if (MYTHREAD == 0) puts(bad ? "wrong" : "ok");
  return bad;
}
//--- function_pointers threads=1,3
#include <upc.h>
#include <stdio.h>
typedef shared [2] int *row_t;
typedef int (*op_t)(row_t, int);
shared [2] int v[2 * THREADS];
static int add(row_t p, int n) { int s = 0; while (n--) s += *p++; return s; }
static int top(row_t p, int n) { int s = *p; for (; n > 0; n--, p++) if (*p > s) s = *p; return s; }
static op_t choose(char c) { return c == '+' ? add : &top; }
static row_t (*step(int back))(row_t, long);
static row_t fwd(row_t p, long k) { return p + k; }
static row_t bwd(row_t p, long k) { return p - k; }
static row_t (*step(int back))(row_t, long) { return back ? bwd : fwd; }
struct table { const char *name; op_t op; shared void *(*alloc)(size_t); } const table[] = { { "add", add, upc_alloc }, { "top", top, upc_alloc } };
static int calls(int (*f)(shared void *), shared void *p) { return f(p); }
static int where(shared void *p) { return (int)upc_threadof(p); }
int main(void)
{
  int bad = 0, i;
  v[2 * MYTHREAD] = MYTHREAD; v[2 * MYTHREAD + 1] = -MYTHREAD;
  upc_barrier;
  bad += choose('+')(v, 2 * THREADS) != 0 || (*choose('m'))(v, 2 * THREADS) != THREADS - 1;
  for (i = 0; i < 2; i++) bad += table[i].op(v, 2) != 0;
  row_t p = step(0)(v, 2 * THREADS - 1);
  bad += *p != 1 - THREADS || *step(1)(p, 1) != THREADS - 1 || calls(where, p) != THREADS - 1;
  shared [] int *q = table[1].alloc(sizeof(int));
  *q = 4; bad += *q != 4 || !(upc_threadof(q) == MYTHREAD);
  upc_free(q);
  int (*shared_table[2])(row_t, int) = { add, top };
  bad += shared_table[THREADS > 0](v, 1) != 0;
  upc_barrier;
  if (MYTHREAD == 0) puts(bad ? "wrong" : "ok");
  return bad;
}
//--- block_matrix flags=-T=4
#include <upc.h>
#include <stdio.h>
#define N 8
#define B 2
typedef struct { double e[B][B]; } tile;
shared [1] tile t[N / B][N / B];
shared [*] double star[N][N];
shared [N * N / 4] double flat[N * N];
int main(void)
{
  int i, j, bad = 0;
  upc_forall (i = 0; i < N / B * (N / B); i++; i) for (int r = 0; r < B; r++) for (int c = 0; c < B; c++) t[0][i].e[r][c] = 10 * i + r * B + c;
  for (i = 0; i < N; i++) upc_forall (j = 0; j < N; j++; &star[i][j]) star[i][j] = i * N + j;
  upc_forall (i = 0; i < N * N; i++; &flat[i]) flat[i] = -i;
  upc_barrier;
  for (i = 0; i < N; i++) for (j = 0; j < N; j++) {
    bad += t[i / B][j / B].e[i % B][j % B] != 10 * (i / B * (N / B) + j / B) + i % B * B + j % B;
    bad += upc_threadof(&star[i][j]) != (size_t)((i * N + j) / (N * N / 4)) || star[i][j] + flat[i * N + j] != 0;
  }
  bad += upc_blocksizeof(star) != N * N / 4 || upc_localsizeof(star) != N * N / 4 * sizeof(double) || upc_elemsizeof(t) != sizeof(tile);
  bad += THREADS != 4 || sizeof(char[THREADS]) != 4;
  static int by_threads[THREADS] = { [THREADS - 1] = 9 };
  bad += by_threads[3] != 9;
  upc_barrier;
  if (MYTHREAD == 3) puts(bad ? "wrong" : "ok");
  return bad;
}
//--- star_of_threads threads=1,3,4
#include <upc.h>
#include <stdio.h>
shared [*] int a[10 * THREADS];
shared [*] short b[THREADS][3];
int main(void)
{
  int bad = 0;
  for (int i = 0; i < 10 * THREADS; i++) bad += upc_threadof(&a[i]) != (size_t)(i / 10) || upc_phaseof(&a[i]) != (size_t)(i % 10);
  shared [10] int *p = a; p += 10 * MYTHREAD;
  int *mine = (int *)p;
  for (int i = 0; i < 10; i++) mine[i] = i;
  for (int i = 0; i < 3; i++) b[MYTHREAD][i] = MYTHREAD;
  upc_barrier;
  for (int i = 0; i < 10 * THREADS; i++) bad += a[i] != i % 10;
  for (int i = 0; i < THREADS; i++) bad += upc_threadof(&b[i][0]) != (size_t)i || upc_threadof(&b[i][2]) != (size_t)i || b[i][1] != i;
  bad += upc_blocksizeof(a) != 10 || upc_affinitysize(40 * THREADS, 40, MYTHREAD) != 40;
  upc_barrier;
  if (!MYTHREAD) puts(bad ? "wrong" : "ok");
  return bad;
}
//--- two_files threads=2,3 files
#include <stdio.h>
#include "shape.h"
shared [SIDE] double area[SIDE * THREADS];
shared int ready = 3;
static shared int hidden[THREADS];
int main(void)
{
  int bad = 0;
  static shared int calls;
  hidden[MYTHREAD] = 1;
  fill(area, MYTHREAD);
  upc_notify 7;
  bad += ready != 3;
  upc_wait 7;
  bad += sum(area, SIDE * THREADS) != SIDE * (THREADS * (THREADS - 1) / 2.0) || last_caller() < 0 || hidden_there() != 0;
  upc_barrier;
  if (MYTHREAD == 0) calls++;
  upc_barrier;
  bad += calls != 1;
  if (MYTHREAD == 0) puts(bad ? "wrong" : "ok");
  return bad;
}
//-- shape.h
#ifndef SHAPE_H
#define SHAPE_H
#include <upc.h>
enum { SIDE = 6 };
extern shared [SIDE] double area[];
extern shared int ready;
void fill(shared [SIDE] double *to, int v);
double sum(shared [SIDE] const double *from, size_t n);
int last_caller(void), hidden_there(void);
#endif
//-- other.upc
#include "shape.h"
static shared int hidden[THREADS];
static int caller = -1;
shared int ready;
void fill(shared [SIDE] double *to, int v)
{
  for (double *p = (double *)(to + SIDE * v), *e = p + SIDE; p < e; p++) *p = v;
  caller = v;
}
double sum(shared [SIDE] const double *from, size_t n)
{
  double s = 0;
  while (n-- > 0) s += *from++;
  return s;
}
int last_caller(void) { return caller; }
int hidden_there(void) { return hidden[MYTHREAD]; }
