// SPDX-License-Identifier: BSD-3-Clause
// How long it takes to be ready, and what it costs: startup MODE BOARD N
//
//   init      MPI_Init
//   session   MPI_Session_init, a communicator of mpi://SELF, one of mpi://WORLD
//   sparse    MPI_Session_init, communicators of 16 ranks each, one of their leaders
//   meet      session and a sum over the world communicator, then an all-to-all on it
//   meet2     sparse and the same two over both levels
//
// Each rank writes its times into its row of BOARD, a file that startup.py made and reads; nothing
// is printed and no MPI function is used for the measurement itself. All stay until every rank is
// ready, so that shared pages count as shared when each looks at its own memory.
#include "bench.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

enum { NODE = 16, N_TIME = 6, SMALL = 64 };

struct row {
    uint64_t ns[N_TIME]; // 0 main entered, 5 the first call begins; the others as the mode goes on
    int64_t pss_kb, private_kb, connections, sockets;
};

struct board {
    _Atomic uint32_t n_ready, n_done, is_wrong;
    uint32_t spare[13];
    struct row rows[];
};

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct board *open_board(const char *path, int n)
{
    int fd = open(path, O_RDWR);
    size_t size = sizeof(struct board) + (size_t)n * sizeof(struct row);
    void *p = fd >= 0 ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (p == MAP_FAILED) {
        fprintf(stderr, "startup: cannot map %s\n", path);
        exit(1);
    }
    close(fd);
    return p;
}

static void read_memory(struct row *r)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kb;
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, "Pss: %ld", &kb) == 1) {
            r->pss_kb = kb;
        } else if (sscanf(line, "Private_Clean: %ld", &kb) == 1 ||
                   sscanf(line, "Private_Dirty: %ld", &kb) == 1) {
            r->private_kb += kb;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
}

// Connections of TCP that this process holds.
static int64_t count_sockets(void)
{
    int64_t n = 0;
    for (int fd = 0; fd < 1024; fd++) {
        struct sockaddr_storage a;
        socklen_t len = sizeof a;
        n += getpeername(fd, (struct sockaddr *)&a, &len) == 0 &&
             (a.ss_family == AF_INET || a.ss_family == AF_INET6);
    }
    return n;
}

static void wait_for_all(_Atomic uint32_t *count, int n)
{
    struct timespec t = { 0, 2000000 };
    atomic_fetch_add(count, 1);
    while (atomic_load(count) < (uint32_t)n) {
        nanosleep(&t, NULL);
    }
}

#if MPI_VERSION >= 4
static MPI_Comm make(MPI_Session s, const char *set, int first, int last, int step, const char *tag)
{
    MPI_Group all, g;
    MPI_Comm c = MPI_COMM_NULL;
    int range[1][3] = { { first, last, step } };
    MPI_Group_from_session_pset(s, set, &all);
    if (last >= 0) {
        MPI_Group_range_incl(all, 1, range, &g);
        MPI_Group_free(&all);
        all = g;
    }
    MPI_Comm_create_from_group(all, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &c);
    MPI_Group_free(&all);
    return c;
}

// A sum over all ranks, by the communicators that exist.
static int sum_of(int value, MPI_Comm all, MPI_Comm local, MPI_Comm leaders)
{
    int part = 0, sum = 0;
    if (all != MPI_COMM_NULL) {
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, all);
        return sum;
    }
    MPI_Reduce(&value, &part, 1, MPI_INT, MPI_SUM, 0, local);
    if (leaders != MPI_COMM_NULL) {
        MPI_Allreduce(&part, &sum, 1, MPI_INT, MPI_SUM, leaders);
    }
    MPI_Bcast(&sum, 1, MPI_INT, 0, local);
    return sum;
}

// Every rank has something for every other: straight, or through the leaders.
static void exchange(MPI_Comm c)
{
    int rank, n;
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &n);
    for (int d = 1; d < n; d++) {
        unsigned char out[SMALL], in[SMALL];
        int to = (rank + d) % n, from = (rank + n - d) % n;
        b_fill(out, SMALL, rank);
        MPI_Sendrecv(out, SMALL, MPI_BYTE, to, 1, in, SMALL, MPI_BYTE, from, 1, c,
                     MPI_STATUS_IGNORE);
        b_expect(in, SMALL, from);
    }
}

static long connections(MPI_Session s)
{
    MPI_Info info;
    char text[32] = "";
    int flag = 0;
    MPI_Session_get_info(s, &info);
    MPI_Info_get(info, "pliant_connections", sizeof text - 1, text, &flag);
    MPI_Info_free(&info);
    return flag ? atol(text) : -1;
}

static void with_session(const char *mode, struct board *b, int n, uint64_t entered)
{
    MPI_Session s;
    MPI_Comm all = MPI_COMM_NULL, local = MPI_COMM_NULL, leaders = MPI_COMM_NULL;
    MPI_Group g;
    int rank;
    uint64_t begin = now();
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &s);
    uint64_t open = now();
    MPI_Group_from_session_pset(s, "mpi://WORLD", &g);
    MPI_Group_rank(g, &rank);
    MPI_Group_free(&g);
    struct row *r = &b->rows[rank];
    r->ns[0] = entered;
    r->ns[1] = open;
    r->ns[5] = begin;
    if (strcmp(mode, "session") == 0 || strcmp(mode, "meet") == 0) {
        begin = now();
        local = make(s, "mpi://SELF", 0, -1, 1, "self");
        r->ns[2] = now() - begin;
        all = make(s, "mpi://WORLD", 0, -1, 1, "world");
        MPI_Comm_free(&local);
    } else {
        int first = rank / NODE * NODE, last = first + NODE < n ? first + NODE - 1 : n - 1;
        local = make(s, "mpi://WORLD", first, last, 1, "node");
        if (rank == first) {
            leaders = make(s, "mpi://WORLD", 0, n - 1, NODE, "leaders");
        }
    }
    r->ns[3] = now();
    if (strncmp(mode, "meet", 4) == 0) {
        if (sum_of(rank + 1, all, local, leaders) != n * (n + 1) / 2) {
            atomic_store(&b->is_wrong, 1);
        }
        exchange(all != MPI_COMM_NULL ? all : local);
        if (leaders != MPI_COMM_NULL) {
            exchange(leaders);
        }
        r->ns[4] = now();
    }
    wait_for_all(&b->n_ready, n);
    read_memory(r);
    r->connections = connections(s);
    r->sockets = count_sockets();
    wait_for_all(&b->n_done, n);
    MPI_Comm *made[] = { &all, &local, &leaders };
    for (int i = 0; i < 3; i++) {
        if (*made[i] != MPI_COMM_NULL) {
            MPI_Comm_free(made[i]);
        }
    }
    MPI_Session_finalize(&s);
}
#endif

static void with_world(struct board *b, int n, uint64_t entered)
{
    int rank;
    uint64_t begin = now();
    MPI_Init(NULL, NULL);
    uint64_t open = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct row *r = &b->rows[rank];
    r->ns[0] = entered;
    r->ns[1] = open;
    r->ns[5] = begin;
    r->connections = -1;
    wait_for_all(&b->n_ready, n);
    read_memory(r);
    r->sockets = count_sockets();
    wait_for_all(&b->n_done, n);
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    uint64_t entered = now();
    if (argc != 4) {
        fprintf(stderr, "usage: startup MODE BOARD N (startup.py runs it)\n");
        return 2;
    }
    int n = atoi(argv[3]);
    struct board *b = open_board(argv[2], n);
    if (strcmp(argv[1], "init") == 0) {
        with_world(b, n, entered);
        return 0;
    }
#if MPI_VERSION >= 4
    with_session(argv[1], b, n, entered);
    return 0;
#else
    fprintf(stderr, "startup: this MPI has no sessions\n");
    return 3;
#endif
}
