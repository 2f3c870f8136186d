// SPDX-License-Identifier: BSD-3-Clause
// Gravity between n bodies by the method of Barnes and Hut: an octree in shared memory, built by
// all threads of a group, in which far groups of bodies count as one. Every UPC group has the whole
// tree and moves its part of the bodies; one thread of each exchanges them with MPI.
//   upcc -O2 nbody.upc -o nbody -lm
//   upcrun -n 4 ./nbody 1000 4                                             UPC alone
//   mpiexec upcrun -n 2 ./nbody 1000 4 : upcrun -n 2 ./nbody 1000 4        one rank for each group
//   ./nbody [bodies] [steps] [theta: 0 looks at every body] [check: 1 compares with the direct sum]
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <upc.h>
#include <upc_hybrid.h>
#include <upc_tick.h>

enum { CHUNK = 512, LOCKS = 64, DEEPEST = 48, CHECK_MOST = 5000 };
static const double SOFT = 1e-2, STEP = 1e-3; // softening; length of a time step

typedef struct {
    double pos[3], vel[3], mass;
} body_t;

typedef struct {
    long index;
    body_t body;
} moved_t;

struct cell;
typedef shared[] struct cell *cell_p;
typedef struct cell {
    double pos[3], mass; // centre of mass
    long count;          // bodies in it
    long body;           // of a leaf; -1: this is no leaf
    cell_p child[8];     // a leaf has at most child[0]: another body at (nearly) the same place
} cell_t;

typedef struct {
    double corner[3], size;
} cube_t;

typedef struct {
    double low[3], high[3];
} box_t;

typedef struct {
    double seconds, refs, local;
} stats_t;

typedef struct {
    long *index;
    long n;
} share_t;

shared box_t boxes[THREADS];
shared stats_t stats[THREADS];
shared[] cell_p roots[2]; // trees of this step and of the one before
upc_lock_t *shared[] locks[LOCKS];

static upc_hybrid_t me;
static long n_bodies;
static double theta;
static shared[] body_t *bodies; // all, with thread 0 of the group
static shared[] moved_t *moved; // all in the order of the curve, there too
static MPI_Comm masters;        // the first threads of all groups

// Cells of a thread come in chunks, which the next tree but one uses again.
static struct {
    cell_p *chunk;
    long chunks, used;
} pool[2];

static cell_p new_cell(int tree, long body)
{
    if (pool[tree].used == pool[tree].chunks * CHUNK) {
        pool[tree].chunk = realloc(pool[tree].chunk, (pool[tree].chunks + 1) * sizeof(cell_p));
        pool[tree].chunk[pool[tree].chunks++] = (cell_p)upc_alloc(CHUNK * sizeof(cell_t));
    }
    cell_p cell = pool[tree].chunk[pool[tree].used / CHUNK] + pool[tree].used % CHUNK;
    cell_t *mine = (cell_t *)cell;
    pool[tree].used++;
    *mine = (cell_t){.count = body >= 0, .body = body};
    return cell;
}

// Goes from a cube to the eighth of it where the point is, and says which that is.
static int descend(cube_t *cube, const double *pos)
{
    int which = 0;
    cube->size /= 2;
    for (int d = 0; d < 3; d++) {
        if (pos[d] >= cube->corner[d] + cube->size) {
            cube->corner[d] += cube->size;
            which |= 1 << d;
        }
    }
    return which;
}

static upc_lock_t *lock_of(cell_p cell)
{
    return locks[(upc_addrfield(cell) / sizeof(cell_t) + upc_threadof(cell)) % LOCKS];
}

// Bodies that cannot be told apart hang in the order of their index, so the tree is the same
// whichever is first.
static void chain(shared[] cell_p *slot, cell_p leaf)
{
    while (*slot && (*slot)->body < leaf->body) {
        slot = &(*slot)->child[0];
    }
    leaf->child[0] = *slot;
    upc_fence;
    *slot = leaf;
}

static void insert(int tree, cube_t cube, cell_p leaf)
{
    double pos[3];
    upc_memget(pos, &leaf->pos, sizeof pos);
    cell_p at = roots[tree];
    for (int depth = 1;; depth++) {
        cube_t inner = cube;
        shared[] cell_p *slot = &at->child[descend(&inner, pos)];
        cell_p next = *slot;
        if (!next || next->body >= 0) { // another thread may take it the next moment
            upc_lock_t *lock = lock_of(at);
            upc_lock(lock);
            next = *slot;
            if (!next || (next->body >= 0 && depth == DEEPEST)) {
                chain(slot, leaf);
                upc_unlock(lock);
                return;
            }
            if (next->body >= 0) { // a leaf: a cell takes its place and holds it
                double old[3];
                cube_t below = inner;
                cell_p cell = new_cell(tree, -1);
                upc_memget(old, &next->pos, sizeof old);
                cell->child[descend(&below, old)] = next;
                upc_fence;
                *slot = next = cell;
            }
            upc_unlock(lock);
        }
        at = next;
        cube = inner;
    }
}

static void combine(cell_p cell)
{
    cell_t sum, part;
    upc_memget(&sum, cell, sizeof sum);
    for (int i = 0; i < 8; i++) {
        for (cell_p p = sum.child[i]; p; p = part.body >= 0 ? part.child[0] : NULL) {
            upc_memget(&part, p, sizeof part);
            for (int d = 0; d < 3; d++) {
                sum.pos[d] += part.mass * part.pos[d];
            }
            sum.mass += part.mass;
            sum.count += part.count;
        }
    }
    for (int d = 0; d < 3; d++) {
        sum.pos[d] /= sum.mass;
    }
    upc_memput(cell, &sum, sizeof sum);
}

static void summarize_below(cell_p cell)
{
    if (cell && cell->body < 0) {
        for (int i = 0; i < 8; i++) {
            summarize_below(cell->child[i]);
        }
        combine(cell);
    }
}

// The 64 subtrees of the second level are dealt out; one thread does what is above them.
static void summarize(cell_p root)
{
    for (int i = 0; i < 64; i++) {
        cell_p cell = root->child[i / 8];
        if (i % THREADS == MYTHREAD && cell && cell->body < 0) {
            summarize_below(cell->child[i % 8]);
        }
    }
    upc_barrier;
    if (MYTHREAD == 0) {
        for (int i = 0; i < 8; i++) {
            cell_p cell = root->child[i];
            if (cell && cell->body < 0) {
                combine(cell);
            }
        }
        combine(root);
    }
    upc_barrier;
}

// Collects the bodies that come from..to-1 in a walk through the tree, which follows a
// space-filling curve; first is the number of the first body in this cell.
static void walk(cell_p p, long first, long from, long to, share_t *out)
{
    cell_t cell;
    upc_memget(&cell, p, sizeof cell);
    if (cell.body >= 0) {
        if (first >= from && first < to) {
            out->index[out->n++] = cell.body;
        }
        return;
    }
    for (int i = 0; i < 8 && first < to; i++) {
        cell_t part;
        for (cell_p q = cell.child[i]; q; q = part.body >= 0 ? part.child[0] : NULL) {
            upc_memget(&part, q, sizeof part);
            if (first + part.count > from && first < to) {
                walk(q, first, from, to, out);
            }
            first += part.count;
        }
    }
}

static void partition(cell_p before, long from, long to, share_t *out)
{
    out->n = 0;
    if (before) {
        walk(before, 0, from, to, out);
        return;
    }
    for (long i = from; i < to; i++) { // no tree yet
        out->index[out->n++] = i;
    }
}

static cube_t bounds(const share_t *mine)
{
    box_t box = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}}, other;
    cube_t cube = {.size = 0};
    for (long i = 0; i < mine->n; i++) {
        double pos[3];
        upc_memget(pos, &bodies[mine->index[i]].pos, sizeof pos);
        for (int d = 0; d < 3; d++) {
            box.low[d] = fmin(box.low[d], pos[d]);
            box.high[d] = fmax(box.high[d], pos[d]);
        }
    }
    upc_memput(&boxes[MYTHREAD], &box, sizeof box);
    upc_barrier;
    for (int t = 0; t < THREADS; t++) {
        upc_memget(&other, &boxes[t], sizeof other);
        for (int d = 0; d < 3; d++) {
            box.low[d] = fmin(box.low[d], other.low[d]);
            box.high[d] = fmax(box.high[d], other.high[d]);
        }
    }
    for (int d = 0; d < 3; d++) {
        cube.corner[d] = box.low[d];
        cube.size = fmax(cube.size, 1.001 * (box.high[d] - box.low[d]));
    }
    return cube;
}

static void attract(double *acc, const double *at, const double *pos, double mass)
{
    double d[3], r2 = SOFT * SOFT;
    for (int i = 0; i < 3; i++) {
        d[i] = pos[i] - at[i];
        r2 += d[i] * d[i];
    }
    double f = mass / (r2 * sqrt(r2));
    for (int i = 0; i < 3; i++) {
        acc[i] += f * d[i];
    }
}

static void add_force(cell_p p, double size, long body, const double *at, double *acc, stats_t *st)
{
    cell_t cell;
    upc_memget(&cell, p, sizeof cell);
    st->refs++;
    st->local += upc_threadof(p) == MYTHREAD;
    double r2 = 0;
    for (int d = 0; d < 3; d++) {
        r2 += (cell.pos[d] - at[d]) * (cell.pos[d] - at[d]);
    }
    if (cell.body >= 0) {
        if (cell.body != body) {
            attract(acc, at, cell.pos, cell.mass);
        }
        if (cell.child[0]) {
            add_force(cell.child[0], size, body, at, acc, st);
        }
    } else if (size * size < theta * theta * r2) {
        attract(acc, at, cell.pos, cell.mass);
    } else {
        for (int i = 0; i < 8; i++) {
            if (cell.child[i]) {
                add_force(cell.child[i], size / 2, body, at, acc, st);
            }
        }
    }
}

static void advance(body_t *b, const double *acc)
{
    for (int d = 0; d < 3; d++) {
        b->vel[d] += STEP * acc[d];
        b->pos[d] += STEP * b->vel[d];
    }
}

static cube_t build(int tree, share_t *mine)
{
    const long from = n_bodies * MYTHREAD / THREADS, to = n_bodies * (MYTHREAD + 1) / THREADS;
    partition(roots[!tree], from, to, mine);
    cube_t cube = bounds(mine);
    pool[tree].used = 0;
    if (MYTHREAD == 0) {
        roots[tree] = new_cell(tree, -1);
    }
    upc_barrier;
    for (long i = 0; i < mine->n; i++) {
        body_t b;
        cell_p leaf = new_cell(tree, mine->index[i]);
        upc_memget(&b, &bodies[mine->index[i]], sizeof b);
        leaf->mass = b.mass;
        upc_memput(&leaf->pos, b.pos, sizeof b.pos);
        insert(tree, cube, leaf);
    }
    upc_barrier;
    summarize(roots[tree]);
    return cube;
}

// Thread 0 tells the other groups what its group moved; then all threads enter what all moved.
static void exchange(void)
{
    upc_barrier;
    if (MYTHREAD == 0 && me.groups > 1) {
        int counts[me.groups], begins[me.groups];
        for (int g = 0; g < me.groups; g++) {
            begins[g] = (int)(n_bodies * g / me.groups);
            counts[g] = (int)(n_bodies * (g + 1) / me.groups) - begins[g];
        }
        MPI_Datatype type;
        MPI_Type_contiguous(sizeof(moved_t), MPI_BYTE, &type);
        MPI_Type_commit(&type);
        MPI_Allgatherv(MPI_IN_PLACE, 0, type, (moved_t *)moved, counts, begins, type, masters);
        MPI_Type_free(&type);
    }
    upc_barrier;
    const long to = n_bodies * (MYTHREAD + 1) / THREADS;
    for (long i = n_bodies * MYTHREAD / THREADS; i < to; i++) {
        moved_t m;
        upc_memget(&m, &moved[i], sizeof m);
        upc_memput(&bodies[m.index], &m.body, sizeof m.body);
    }
    upc_barrier;
}

static void simulate(int steps, stats_t *st)
{
    share_t mine = {.index = malloc(n_bodies * sizeof(long))};
    const long low = n_bodies * me.group / me.groups;
    const long n = n_bodies * (me.group + 1) / me.groups - low;
    const long from = low + n * MYTHREAD / THREADS, to = low + n * (MYTHREAD + 1) / THREADS;
    for (int s = 0; s < steps; s++) {
        cube_t cube = build(s % 2, &mine);
        partition(roots[s % 2], from, to, &mine);
        upc_barrier;
        upc_tick_t begin = upc_ticks_now();
        for (long i = 0; i < mine.n; i++) {
            moved_t m = {.index = mine.index[i]};
            double acc[3] = {0, 0, 0};
            upc_memget(&m.body, &bodies[m.index], sizeof m.body);
            add_force(roots[s % 2], cube.size, m.index, m.body.pos, acc, st);
            advance(&m.body, acc);
            upc_memput(&moved[from + i], &m, sizeof m);
        }
        st->seconds += upc_ticks_to_ns(upc_ticks_now() - begin) / 1e9;
        exchange();
    }
    free(mine.index);
}

// A ball of bodies at rest, denser in the middle.
static void set_up(body_t *b, long n)
{
    uint64_t state = 1;
    for (long i = 0; i < n; i++) {
        double x[3], r2;
        do {
            r2 = 0;
            for (int d = 0; d < 3; d++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                x[d] = (double)(state >> 11) / (double)(1ull << 52) - 1;
                r2 += x[d] * x[d];
            }
        } while (r2 > 1);
        b[i] = (body_t){.mass = 1.0 / (double)n};
        for (int d = 0; d < 3; d++) {
            b[i].pos[d] = x[d] * sqrt(r2);
        }
    }
    if (n > 2) { // two that no tree can tell apart
        b[1] = b[2];
    }
}

// How far the bodies are from where the direct sum takes them, as a part of the way they went.
static double error_of(int steps)
{
    body_t *b = malloc(n_bodies * sizeof *b), *start = malloc(n_bodies * sizeof *b);
    double(*acc)[3] = malloc(n_bodies * sizeof *acc), wrong = 0, way = 0;
    set_up(b, n_bodies);
    set_up(start, n_bodies);
    for (int s = 0; s < steps; s++) {
        for (long i = 0; i < n_bodies; i++) {
            acc[i][0] = acc[i][1] = acc[i][2] = 0;
            for (long j = 0; j < n_bodies; j++) {
                attract(acc[i], b[i].pos, b[j].pos, i == j ? 0 : b[j].mass);
            }
        }
        for (long i = 0; i < n_bodies; i++) {
            advance(&b[i], acc[i]);
        }
    }
    for (long i = 0; i < n_bodies; i++) {
        for (int d = 0; d < 3; d++) {
            wrong += pow(bodies[i].pos[d] - b[i].pos[d], 2);
            way += pow(b[i].pos[d] - start[i].pos[d], 2);
        }
    }
    free(b);
    free(start);
    free(acc);
    return sqrt(wrong / way);
}

// In the first thread of each group: what all threads counted.
static stats_t total(void)
{
    stats_t sum = {0}, all;
    for (int t = 0; t < THREADS; t++) {
        sum.seconds = fmax(sum.seconds, stats[t].seconds);
        sum.refs += stats[t].refs;
        sum.local += stats[t].local;
    }
    all = sum;
    if (me.groups > 1) {
        MPI_Reduce(&sum.seconds, &all.seconds, 1, MPI_DOUBLE, MPI_MAX, 0, masters);
        MPI_Reduce(&sum.refs, &all.refs, 2, MPI_DOUBLE, MPI_SUM, 0, masters);
    }
    return all;
}

static int report(int steps, int check)
{
    int right = 1;
    stats_t st = total();
    if (me.group == 0) {
        printf("%d groups of %d threads, %ld bodies, %d steps: force %.6f s, %.2f %% local, ",
               me.groups, THREADS, n_bodies, steps, st.seconds, 100 * st.local / st.refs);
        double error = check ? error_of(steps) : 0;
        right = error <= (theta == 0 ? 1e-10 : 0.04 * theta * theta + 1e-3);
        if (check) {
            printf("error %.2g, %s\n", error, right ? "as it should be" : "WRONG");
        } else {
            printf("not checked\n");
        }
    }
    return right;
}

static void allocate(void)
{
    for (int i = MYTHREAD; i < LOCKS; i += THREADS) {
        locks[i] = upc_global_lock_alloc();
    }
    bodies = (shared[] body_t *)upc_all_alloc(1, n_bodies * sizeof(body_t));
    moved = (shared[] moved_t *)upc_all_alloc(1, n_bodies * sizeof(moved_t));
    if (MYTHREAD == 0) {
        set_up((body_t *)bodies, n_bodies);
    }
    upc_barrier;
}

int main(int argc, char **argv)
{
    me = upc_hybrid_info();
    n_bodies = argc > 1 ? atol(argv[1]) : 500;
    int steps = argc > 2 ? atoi(argv[2]) : 4;
    theta = argc > 3 ? atof(argv[3]) : 0.5;
    int check = argc > 4 ? atoi(argv[4]) : n_bodies <= CHECK_MOST;
    if (n_bodies < 4 || n_bodies > 10000000 || steps < 1 || theta < 0) {
        fprintf(stderr, "nbody: 4 to 10000000 bodies, at least one step, and theta from 0 on\n");
        return 2;
    }
    if (me.groups > 1 && me.rank >= 0) {
        MPI_Init(&argc, &argv);
        MPI_Comm_split(MPI_COMM_WORLD, MYTHREAD == 0 ? 0 : MPI_UNDEFINED, me.group, &masters);
    }
    allocate();
    stats_t st = {0};
    simulate(steps, &st);
    upc_memput(&stats[MYTHREAD], &st, sizeof st);
    upc_barrier;
    int right = MYTHREAD != 0 || report(steps, check);
    if (me.groups > 1 && me.rank >= 0) {
        if (MYTHREAD == 0) {
            MPI_Comm_free(&masters);
        }
        MPI_Finalize();
    }
    return !right;
}
