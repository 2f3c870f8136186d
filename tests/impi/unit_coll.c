// SPDX-License-Identifier: BSD-3-Clause
// The plans of collective operations: literally where the protocol's text gives them, and played by
// all ranks of many communicators at once, where every message must find its receiver and every
// result must be right.
#include "impi/coll/impi_coll.h"
#include "t_job.h"

enum { MAX = 24 };

static const char *text(const struct pli_impi_coll_plan *p)
{
    static char out[512];
    size_t n = (size_t)snprintf(out, sizeof out, "%d", p->tag);
    for (int i = 0; i < p->n_step; i++) {
        const struct pli_impi_coll_step *s = &p->step[i];
        n += (size_t)snprintf(out + n, sizeof out - n, " %c%d%s", "srf"[s->kind], s -> rank,
                              s -> is_block      ? "*"
                                   : s->is_first ? "!"
                                                 : "");
    }
    return out;
}

static void same(const char *want, const struct pli_impi_map *m, enum pli_impi_coll_op op, int me,
                 int root)
{
    struct pli_impi_coll_plan *p;
    T_EQ(PLI_IMPI_OK, pli_impi_coll_make(m, op, me, root, 4, &p));
    if (strcmp(want, text(p)) != 0) {
        fprintf(stderr, "op %d rank %d root %d: %s, want %s\n", op, me, root, text(p), want);
        exit(1);
    }
    free(p);
}

// The example of the text: {0,1,4}A {2,3,5}B {6,7}C, masters 0, 2 and 6.
static void three_clients(void)
{
    struct pli_impi_job *job = t_job(&(struct t_shape){ 3, 1, 3, 100, 1, 1 });
    const uint32_t world[] = { 0, 1, 3, 4, 2, 5, 6, 7 };
    struct pli_impi_map *m;
    T_EQ(PLI_IMPI_OK, pli_impi_map_create(job, world, 8, &m));
    T_EQ(3, m->n_master);
    T_EQ(0, m->master[0]);
    T_EQ(2, m->master[1]);
    T_EQ(6, m->master[2]);
    T_EQ(2, pli_impi_map_n_local(m, 7));
    T_EQ(3, pli_impi_map_n_local(m, 3));
    T_EQ(2, pli_impi_map_locals(m, 3)[0]);
    T_EQ(3, pli_impi_map_locals(m, 3)[1]);
    T_EQ(5, pli_impi_map_locals(m, 3)[2]);
    same("110 r2 r6 s2 s6", m, PLI_IMPI_COLL_BARRIER, 0, 0);
    same("110 s0 r0", m, PLI_IMPI_COLL_BARRIER, 6, 0);
    same("110", m, PLI_IMPI_COLL_BARRIER, 3, 0);
    same("120 s0 s6", m, PLI_IMPI_COLL_BCAST, 5, 5);
    same("120 r5", m, PLI_IMPI_COLL_BCAST, 0, 5);
    same("120", m, PLI_IMPI_COLL_BCAST, 2, 5); // the root speaks for its client
    same("190 f0 f6", m, PLI_IMPI_COLL_REDUCE, 5, 5);
    same("190 s5", m, PLI_IMPI_COLL_REDUCE, 6, 5);
    same("190 f7! f6 f5 f4 f3 f2 f1 f0", m, PLI_IMPI_COLL_REDUCE_ORDERED, 3, 3);
    same("130 r0* r6*", m, PLI_IMPI_COLL_GATHER, 5, 5);
    same("130 s5*", m, PLI_IMPI_COLL_GATHER, 6, 5);
    same("130", m, PLI_IMPI_COLL_GATHER, 7, 5);
    same("130 r0 r1 r4 r6 r7", m, PLI_IMPI_COLL_GATHER_LONG, 5, 5);
    same("150 s0* s6*", m, PLI_IMPI_COLL_SCATTER, 5, 5);
    same("170 s6 s7 s0 s1 s4 r4 r1 r0 r7 r6", m, PLI_IMPI_COLL_ALLTOALL, 5, 0);
    same("200 f4 s6", m, PLI_IMPI_COLL_SCAN, 5, 0);
    pli_impi_map_destroy(m);
    pli_impi_job_destroy(job);
}

// More clients than the linear form takes: trees.
static void trees(void)
{
    struct pli_impi_job *job = t_job(&(struct t_shape){ 6, 1, 1, 100, 1, 1 });
    const uint32_t world[] = { 0, 1, 2, 3, 4, 5 };
    struct pli_impi_map *m;
    T_EQ(PLI_IMPI_OK, pli_impi_map_create(job, world, 6, &m));
    same("110 r4 r2 r1 s1 s2 s4", m, PLI_IMPI_COLL_BARRIER, 0, 0);
    same("110 r5 r3 s0 r0 s3 s5", m, PLI_IMPI_COLL_BARRIER, 1, 0);
    same("110 s1 r1", m, PLI_IMPI_COLL_BARRIER, 5, 0);
    same("120 s5 s0 s2", m, PLI_IMPI_COLL_BCAST, 4, 4);
    same("120 r4 s1 s3", m, PLI_IMPI_COLL_BCAST, 5, 4);
    same("190 f5 f0 f2", m, PLI_IMPI_COLL_REDUCE, 4, 4);
    same("190 f1 s4", m, PLI_IMPI_COLL_REDUCE, 0, 4);
    pli_impi_map_destroy(m);
    pli_impi_job_destroy(job);
}

struct sim { // all ranks of a communicator
    const struct pli_impi_map *m;
    struct pli_impi_coll_plan *plan[MAX];
    int at[MAX];
    uint64_t value[MAX];           // a set of ranks, or the digest of a sequence
    uint64_t queue[MAX][MAX][MAX]; // by sender, receiver
    int n_in[MAX][MAX], n_out[MAX][MAX];
};

static bool step(struct sim *s, int me, uint64_t (*fold)(uint64_t, uint64_t), uint64_t own)
{
    const struct pli_impi_coll_step *t = &s->plan[me]->step[s->at[me]];
    uint64_t got = own;
    if (t->kind == PLI_IMPI_STEP_SEND) {
        s->queue[me][t->rank][s->n_in[me][t->rank]++] = s->value[me];
    } else if (t->rank != me && s->n_out[t->rank][me] == s->n_in[t->rank][me]) {
        return false;
    } else {
        if (t->rank != me) {
            got = s->queue[t->rank][me][s->n_out[t->rank][me]++];
        }
        s->value[me] = t->is_first ? got : fold(got, s->value[me]);
    }
    s->at[me]++;
    return true;
}

static void play(struct sim *s, enum pli_impi_coll_op op, int root, int maxlinear,
                 uint64_t (*fold)(uint64_t, uint64_t), const uint64_t *own)
{
    int size = s->m->size;
    bool moved = true;
    memset(s->at, 0, sizeof s->at);
    memset(s->n_in, 0, sizeof s->n_in);
    memset(s->n_out, 0, sizeof s->n_out);
    for (int i = 0; i < size; i++) {
        s->value[i] = own[i];
        T_EQ(PLI_IMPI_OK, pli_impi_coll_make(s->m, op, i, root, maxlinear, &s->plan[i]));
    }
    while (moved) {
        moved = false;
        for (int i = 0; i < size; i++) {
            while (s->at[i] < s->plan[i]->n_step && step(s, i, fold, own[i])) {
                moved = true;
            }
        }
    }
    for (int i = 0; i < size; i++) {
        T_EQ(s->plan[i]->n_step, s->at[i]); // nobody waits for ever
        for (int k = 0; k < size; k++) {
            T_EQ(s->n_in[i][k], s->n_out[i][k]); // and nothing is left over
        }
        free(s->plan[i]);
    }
}

static uint64_t both(uint64_t in, uint64_t acc)
{
    T_EQ(0, in & acc); // nobody counts twice
    return in | acc;
}

static uint64_t take(uint64_t in, uint64_t acc)
{
    (void)acc;
    return in;
}

static uint64_t joined(uint64_t in, uint64_t acc)
{
    return in | acc;
}

// Whoever is last of a run of ranks says where it begins; joining needs neighbours.
static uint64_t next_to(uint64_t in, uint64_t acc)
{
    T_EQ((in & 0xff) + 1, acc >> 8); // op(in, acc): in comes just before acc
    return (in & ~(uint64_t)0xff) | (acc & 0xff);
}

static uint64_t heads(const struct pli_impi_map *m, int root)
{
    uint64_t set = 0;
    for (int i = 0; i < m->size; i++) {
        set |= (uint64_t)1 << pli_impi_map_head(m, root, i);
    }
    return set;
}

static void check_map(const struct pli_impi_map *m, int maxlinear)
{
    static struct sim s;
    s.m = m;
    uint64_t one[MAX], run[MAX], own[MAX];
    for (int i = 0; i < m->size; i++) {
        one[i] = (uint64_t)1 << i;
        run[i] = (uint64_t)i << 8 | (uint64_t)i;
    }
    for (int root = 0; root < m->size; root++) {
        for (int i = 0; i < m->size; i++) {
            own[i] = i == root ? 99 : 0;
        }
        play(&s, PLI_IMPI_COLL_BCAST, root, maxlinear, take, own);
        for (int i = 0; i < m->size; i++) {
            bool is_head = pli_impi_map_head(m, root, i) == i;
            T_EQ(is_head ? 99 : 0, s.value[i]);
        }
        play(&s, PLI_IMPI_COLL_REDUCE, root, maxlinear, both, one);
        T_EQ(heads(m, root), s.value[root]);
        play(&s, PLI_IMPI_COLL_REDUCE_ORDERED, root, maxlinear, next_to, run);
        T_EQ(m->size - 1, s.value[root]);
        play(&s, PLI_IMPI_COLL_GATHER, root, maxlinear, both, one);
        T_EQ(heads(m, root), s.value[root]);
        play(&s, PLI_IMPI_COLL_GATHERV, root, maxlinear, both, one);
        play(&s, PLI_IMPI_COLL_SCATTER, root, maxlinear, take, own);
        play(&s, PLI_IMPI_COLL_SCATTERV, root, maxlinear, take, own);
        for (int i = 0; i < m->size; i++) {
            T_EQ(pli_impi_map_are_local(m, i, root) && i != root ? 0 : 99, s.value[i]);
        }
    }
    play(&s, PLI_IMPI_COLL_BARRIER, 0, maxlinear, joined, one);
    for (int i = 0; i < m->n_master; i++) {
        T_EQ(heads(m, 0), s.value[m->master[i]]); // each has heard of all
    }
    play(&s, PLI_IMPI_COLL_SCAN, 0, maxlinear, next_to, run);
    for (int i = 0; i < m->size; i++) {
        T_EQ(i, s.value[i]); // from 0 to i
    }
    play(&s, PLI_IMPI_COLL_ALLTOALL, 0, maxlinear, joined, one);
}

int main(void)
{
    three_clients();
    trees();
    srand(7);
    for (int round = 0; round < 200; round++) {
        uint32_t n_client = 1 + (uint32_t)rand() % 9;
        struct t_shape shape = {
            n_client, 1 + (uint32_t)rand() % 2, 1 + (uint32_t)rand() % 3, 100, 1, 1
        };
        struct pli_impi_job *job = t_job(&shape);
        struct pli_impi_map *m;
        uint32_t world[64];
        int n = (int)job->n_proc;
        for (int i = 0; i < n; i++) {
            world[i] = (uint32_t)i;
        }
        for (int i = n - 1; i > 0; i--) { // any order
            int k = rand() % (i + 1);
            uint32_t t = world[i];
            world[i] = world[k];
            world[k] = t;
        }
        n = n < MAX ? n : MAX;
        T_EQ(PLI_IMPI_OK, pli_impi_map_create(job, world, n, &m));
        check_map(m, round % 6);
        pli_impi_map_destroy(m);
        pli_impi_job_destroy(job);
    }
    uint64_t max = 1, cid = 0;
    T_EQ(PLI_IMPI_OK, pli_impi_coll_take_cid(&max, 2, &cid));
    T_EQ(2, cid);
    T_EQ(3, max);
    max = UINT64_MAX - 1;
    T_EQ(PLI_IMPI_ERR_RANGE, pli_impi_coll_take_cid(&max, 2, &cid));
    return 0;
}
