// SPDX-License-Identifier: BSD-3-Clause
// MPI_Fork: what clones have, who they are, and that the job goes on as if they had always been.
// "once M": ranks 0 to M-1 are cloned. "again": forks until 8 ranks are there. "refuse": all that
// must fail, and leaves the world as it was. "late": a message is under way that its sender is done
// with, and that is received afterwards.
#include "fork_t.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 1 << 16 };
static int *data;

// Everybody talks to everybody: short, long, collective.
static void talk(MPI_Comm c)
{
    int rank = rank_of(c), size = size_of(c), sum = 0;
    for (int round = 0; round < 5; round++) { // until it has a board, and beyond
        T_MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, c));
        T_EQ(sum, size * (size - 1) / 2);
    }
    int *in = calloc(N, sizeof *in), *out = calloc(N, sizeof *out);
    for (int d = 1; d < size; d++) {
        int to = (rank + d) % size, from = (rank - d + size) % size;
        out[0] = out[N - 1] = rank;
        int n = d % 2 == 0 ? N : 1; // through blocks, in a cell
        T_MPI(MPI_Sendrecv(out, n, MPI_INT, to, d, in, n, MPI_INT, from, d, c, MPI_STATUS_IGNORE));
        T_EQ(in[0], from);
        T_EQ(in[n - 1], from);
    }
    free(in);
    free(out);
    T_MPI(MPI_Barrier(c));
}

// The fork must be done.
static void check_memory(int was)
{
    int bad = 0;
    for (int i = 0; i < N; i++) {
        bad += data[i] != was * N + i;
    }
    T_EQ(bad, 0);
    data[rank_of(MPI_COMM_WORLD)] = -1; // this process's alone
}

// Communicators of ranks that are cloned: all of them, and between the even and the odd ones. They
// are the clones' own afterwards, beside those of the parents.
enum { N_END = 3 };
struct parts {
    MPI_Comm all, grid, inter;
    MPI_Comm ends[N_END]; // endpoints of each
};

// One thread for all endpoints of this process.
static void talk_ends(struct parts *p, int was, int m)
{
    int in[N_END], sum[N_END], mine[N_END], n_req = 0;
    MPI_Request reqs[3 * N_END];
    for (int i = 0; i < N_END; i++) {
        int rank = rank_of(p->ends[i]), size = size_of(p->ends[i]);
        T_EQ(size, m * N_END);
        T_EQ(rank, (m - 1 - was) * N_END + i);
        mine[i] = rank;
        in[i] = sum[i] = -1;
        T_MPI(MPI_Irecv(&in[i], 1, MPI_INT, (rank + 1) % size, 8, p->ends[i], &reqs[n_req++]));
        T_MPI(MPI_Isend(&mine[i], 1, MPI_INT, (rank + size - 1) % size, 8, p->ends[i],
                        &reqs[n_req++]));
        T_MPI(MPI_Iallreduce(&mine[i], &sum[i], 1, MPI_INT, MPI_SUM, p->ends[i], &reqs[n_req++]));
    }
    T_MPI(MPI_Waitall(n_req, reqs, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N_END; i++) {
        int size = m * N_END;
        T_EQ(in[i], (mine[i] + 1) % size);
        T_EQ(sum[i], size * (size - 1) / 2);
    }
}

static void make_parts(struct parts *p, int was, int m)
{
    MPI_Comm half;
    *p = (struct parts){ .all = MPI_COMM_NULL, .grid = MPI_COMM_NULL, .inter = MPI_COMM_NULL };
    T_MPI(MPI_Comm_split(MPI_COMM_WORLD, was < m ? 3 : MPI_UNDEFINED, -was, &p->all));
    if (was >= m) {
        return;
    }
    T_MPI(MPI_Comm_set_name(p->all, "those who are cloned"));
    T_MPI(MPI_Cart_create(p->all, 1, &m, &(int){ 1 }, 0, &p->grid));
    T_MPI(MPI_Comm_create_endpoints(p->all, N_END, MPI_INFO_NULL, p->ends));
    talk(p->all);
    talk(p->grid);
    talk_ends(p, was, m);
    if (m > 1) {
        T_MPI(MPI_Comm_split(p->all, was % 2, was, &half));
        T_MPI(MPI_Intercomm_create(half, 0, p->all, m - 1 - (was + 1) % 2, 5, &p->inter));
        T_MPI(MPI_Comm_free(&half));
    }
}

static void check_parts(struct parts *p, int was, int m)
{
    char name[MPI_MAX_OBJECT_NAME];
    int len, left, right, pid = (int)getpid(), most[2], mine[2] = { pid, -pid };
    if (was >= m) {
        return;
    }
    T_EQ(size_of(p->all), m);
    T_EQ(rank_of(p->all), m - 1 - was);
    MPI_Comm_get_name(p->all, name, &len);
    T_STR(name, "those who are cloned");
    talk(p->all);
    talk(p->grid);
    talk_ends(p, was, m);
    for (int i = 0; i < N_END; i++) {
        T_MPI(MPI_Comm_free(&p->ends[i]));
    }
    T_MPI(MPI_Cart_shift(p->grid, 0, 1, &left, &right));
    T_EQ(right, (rank_of(p->grid) + 1) % m);
    if (p->inter != MPI_COMM_NULL) {
        int sum = 0, want = 0;
        for (int i = 0; i < m; i++) {
            want += i % 2 != was % 2 ? i : 0;
        }
        T_MPI(MPI_Allreduce(&was, &sum, 1, MPI_INT, MPI_SUM, p->inter));
        T_EQ(sum, want);
        T_MPI(MPI_Comm_free(&p->inter));
    }
    T_MPI(MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, p->all));
    T_OK(m == 1 || most[0] != -most[1]); // several processes, and all of them answer
    MPI_Comm dup;
    T_MPI(MPI_Comm_dup(p->all, &dup)); // they make others
    talk(dup);
    T_MPI(MPI_Comm_free(&dup));
    T_MPI(MPI_Comm_free(&p->grid));
    T_MPI(MPI_Comm_free(&p->all));
}

static void once(int m)
{
    struct parts parts;
    int was = rank_of(MPI_COMM_WORLD), n = size_of(MPI_COMM_WORLD), pid = (int)getpid(), key, flag;
    MPI_Comm dup, self, old;
    MPI_Datatype pair;
    void *value;
    for (int i = 0; i < N; i++) {
        data[i] = was * N + i;
    }
    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    T_MPI(MPI_Comm_dup(MPI_COMM_SELF, &self));
    talk(dup);
    make_parts(&parts, was, m);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, data);
    talk(MPI_COMM_WORLD);
    T_OK(MPI_COMM_PARENTS == MPI_COMM_NULL && MPI_COMM_CHILDREN == MPI_COMM_NULL);
    // Messages that nobody has asked for stay with the rank they were sent to.
    int word = was, other = (was + 1) % n, before = (was + n - 1) % n;
    char room[MPI_BSEND_OVERHEAD + 64]; // one rank sends to itself
    T_MPI(MPI_Buffer_attach(room, sizeof room));
    T_MPI(MPI_Bsend(&word, 1, MPI_INT, other, 77, MPI_COMM_WORLD));
    T_MPI(MPI_Buffer_detach(&(void *){ NULL }, &(int){ 0 }));
    MPI_Comm world0;
    T_MPI(MPIX_Comm_world_at(0, &world0));
    T_OK(world0 == MPI_COMM_WORLD);

    int got = split(m);

    int now = rank_of(MPI_COMM_WORLD), is_new = (int)getpid() != pid;
    T_EQ(got, is_new ? 0 : m);
    T_EQ(size_of(MPI_COMM_WORLD), n + m);
    T_EQ(now, is_new ? was + n : was);
    check_memory(was);
    T_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
    T_OK(flag && value == data);
    T_MPI(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
    MPI_Comm_free_keyval(&key);
    talk(MPI_COMM_WORLD);
    T_OK((MPI_COMM_PARENTS == MPI_COMM_NULL) == is_new);
    T_OK((MPI_COMM_CHILDREN == MPI_COMM_NULL) == !is_new);
    talk(is_new ? MPI_COMM_CHILDREN : MPI_COMM_PARENTS);
    T_EQ(size_of(is_new ? MPI_COMM_CHILDREN : MPI_COMM_PARENTS), is_new ? m : n);
    T_MPI(MPIX_Comm_world_at(0, &old));
    T_OK((old == MPI_COMM_NULL) == is_new);
    int two[2] = { now, now }, in[2] = { -1, -1 };
    int right = (now + 1) % (n + m), left = (now + n + m - 1) % (n + m);
    T_MPI(MPI_Sendrecv(two, 1, pair, right, 1, in, 1, pair, left, 1, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
    T_EQ(in[1], left);
    MPI_Type_free(&pair);
    T_EQ(rank_of(self), 0);
    T_EQ(rank_of(MPI_COMM_SELF), 0);
    talk(self);
    check_parts(&parts, was, m);
    if (is_new && m < n) {
        int x;
        T_REFUSED(MPI_Comm_rank(dup, &x), MPI_ERR_COMM, "made before MPI_Fork");
    } else if (!is_new) {
        T_EQ(size_of(old), n);
        T_MPI(MPI_Recv(&word, 1, MPI_INT, before, 77, old, MPI_STATUS_IGNORE));
        T_EQ(word, before);
        talk(old);
    }
    if (!is_new || m == n) {
        T_EQ(size_of(dup), n);
        T_EQ(rank_of(dup), was);
        talk(dup); // the clones have one of their own
    }
    T_MPI(MPI_Comm_free(&dup));
    T_OK(dup == MPI_COMM_NULL);
    T_MPI(MPI_Comm_free(&self));
    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    talk(dup);
    T_MPI(MPI_Comm_free(&dup));
    printf("rank %d of %d was rank %d\n", now, n + m, was);
}

static void again(void)
{
    int n_fork = 0, n_new = 0;
    while (size_of(MPI_COMM_WORLD) < 8) {
        int n = size_of(MPI_COMM_WORLD), m = n == 1 ? 1 : n == 2 ? 1 : n == 3 ? 3 : 8 - n;
        int got = split(m), version;
        n_fork++;
        n_new = got == 0 ? n_fork : n_new;
        T_OK(got == 0 || got == m);
        T_EQ(size_of(MPI_COMM_WORLD), n + m);
        MPIX_World_version(&version);
        T_EQ(version, n_fork);
        talk(MPI_COMM_WORLD);
    }
    // Whoever was there at a fork is still in its parts.
    for (int v = 1; v <= n_fork; v++) {
        MPI_Comm parents, children;
        T_MPI(MPIX_Comm_parents_at(v, &parents));
        T_MPI(MPIX_Comm_children_at(v, &children));
        T_OK((parents != MPI_COMM_NULL) == (n_new < v));
        T_OK((children != MPI_COMM_NULL) == (n_new == v));
        if (n_new <= v) {
            talk(n_new == v ? children : parents);
        }
    }
    talk(MPI_COMM_WORLD);
}

static void refused(int got, const char *piece)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;
    T_OK(got < 0);
    MPI_Error_string(-got, text, &len);
    if (strstr(text, piece) == NULL || strncmp(text, "MPI_Fork", 8) != 0) {
        fprintf(stderr, "the sentence is \"%s\", but \"%s\" was wanted\n", text, piece);
        t_failed++;
    }
    talk(MPI_COMM_WORLD);
}

static void refuse(void)
{
    int rank = rank_of(MPI_COMM_WORLD), n = size_of(MPI_COMM_WORLD), x, flag;
    MPI_Request r;
    refused(MPI_Fork(0), "it must be 1 to");
    refused(MPIX_Fork(n + 1), "rank 0 has argument m =");
    refused(MPI_Fork(rank == 1 ? 2 : 1), "different values");
    if (rank == 1) {
        MPI_Irecv(&x, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &r);
    }
    refused(MPI_Fork(1), "rank 1 has 1 request ");
    if (rank == 1) {
        MPI_Cancel(&r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request p;
    MPI_Send_init(&x, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &p);
    refused(MPI_Fork(1), "rank 0 has 1 request ");
    MPI_Request_free(&p);
    MPI_Comm c;
    T_REFUSED(MPIX_Comm_parents_at(1, &c), MPI_ERR_ARG, "versions 1 to 0");
    MPI_Initialized(&flag);
    T_OK(flag);
    once(1); // and after all that it works
}

// Rank 0 is outside MPI and has as many small messages of rank 1 as that one has blocks for.
static void late(void)
{
    enum { LEN = 1000, BLOCKS = 64, AWAY_S = 3 };
    static char text[LEN];
    int was = rank_of(MPI_COMM_WORLD), pid = (int)getpid();
    MPI_Comm dup;
    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    talk(dup);
    if (was == 0) {
        sleep(AWAY_S);
    }
    for (int i = 0; i <= BLOCKS && was == 1; i++) {
        memset(text, i, LEN);
        T_MPI(MPI_Send(text, LEN, MPI_BYTE, i < BLOCKS ? 0 : 2, 6, dup));
    }
    T_EQ(split(3) == 0, (int)getpid() != pid);
    talk(MPI_COMM_WORLD);
    for (int i = 0; i <= BLOCKS && (int)getpid() == pid; i++) {
        if (was == (i < BLOCKS ? 0 : 2)) {
            T_MPI(MPI_Recv(text, LEN, MPI_BYTE, 1, 6, dup, MPI_STATUS_IGNORE));
            T_OK(text[0] == i && text[LEN - 1] == i);
        }
    }
    talk(dup); // the clones have one of their own, without messages
    T_MPI(MPI_Comm_disconnect(&dup));
}

int main(int argc, char **argv)
{
    t_start(&argc, &argv);
    T_MUST(argc > 1);
    data = malloc(N * sizeof *data);
    if (strcmp(argv[1], "once") == 0) {
        once(atoi(argv[2]));
    } else if (strcmp(argv[1], "again") == 0) {
        again();
    } else if (strcmp(argv[1], "late") == 0) {
        late();
    } else {
        refuse();
    }
    free(data);
    return t_end();
}
