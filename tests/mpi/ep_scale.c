// SPDX-License-Identifier: BSD-3-Clause
// Very many endpoints in one process: a ring, barriers and allreduces over all of them, and what an
// idle one costs. ep_scale N pool T: T threads drive them with nonblocking calls. ep_scale N
// fibers: each endpoint is a fiber with a stack of its own that gives way until its request is
// done.
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "t.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_CHECKED = 1 }; // memory is not what it costs, and fibers are not understood
#else
enum { IS_CHECKED = 0 };
#endif

enum { LIMIT = 1024, STACK = 16 * 1024, N_LANE = 8, UCX_WORKER = 75 * 1024 };

static int n_ep;
static MPI_Comm *comms;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long resident(void)
{
    long size, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    T_MUST(f != NULL && fscanf(f, "%ld %ld", &size, &pages) == 2);
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

// What lanes hold that have a worker of UCX, however many endpoints share them.
static long workers(void)
{
    const char *net = getenv("PLIANT_NET");
    return net != NULL && strstr(net, "ucx") != NULL ? (long)N_LANE * UCX_WORKER : 0;
}

// What one endpoint holds of memory since `before`.
static void weigh(const char *when, long before)
{
    long each = (resident() - before - workers()) / n_ep;
    printf("%s: %ld bytes per endpoint\n", when, each);
    T_OK(IS_CHECKED || each <= LIMIT);
}

// A share of the endpoints in the hands of one thread.
struct share {
    pthread_t id;
    int first, n;
};

static void share_ring(const struct share *s, int *in, int *out, MPI_Request *reqs)
{
    for (int i = 0; i < s->n; i++) {
        int me = s->first + i;
        out[i] = me * 3;
        MPI_Irecv(&in[i], 1, MPI_INT, (me + n_ep - 1) % n_ep, 7, comms[me], &reqs[2 * i]);
    }
    for (int i = 0; i < s->n; i++) {
        int me = s->first + i;
        MPI_Isend(&out[i], 1, MPI_INT, (me + 1) % n_ep, 7, comms[me], &reqs[2 * i + 1]);
    }
    T_EQ(MPI_Waitall(2 * s->n, reqs, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < s->n; i++) {
        T_MUST(in[i] == (s->first + i + n_ep - 1) % n_ep * 3);
    }
}

static void share_collectives(const struct share *s, long *in, long *sum, MPI_Request *reqs)
{
    for (int i = 0; i < s->n; i++) {
        MPI_Ibarrier(comms[s->first + i], &reqs[i]);
    }
    T_EQ(MPI_Waitall(s->n, reqs, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < s->n; i++) {
        in[i] = s->first + i;
        sum[i] = -1;
        MPI_Iallreduce(&in[i], &sum[i], 1, MPI_LONG, MPI_SUM, comms[s->first + i], &reqs[i]);
    }
    T_EQ(MPI_Waitall(s->n, reqs, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < s->n; i++) {
        T_MUST(sum[i] == (long)n_ep * (n_ep - 1) / 2);
    }
}

static void *run_share(void *arg)
{
    const struct share *s = arg;
    size_t n = (size_t)s->n;
    MPI_Request *reqs = malloc(2 * n * sizeof *reqs);
    long *in = malloc(n * sizeof *in), *out = malloc(n * sizeof *out);
    T_MUST(reqs != NULL && in != NULL && out != NULL);
    share_ring(s, (int *)in, (int *)out, reqs);
    for (int i = 0; i < 3; i++) {
        share_collectives(s, in, out, reqs);
    }
    free(reqs);
    free(in);
    free(out);
    return NULL;
}

static void run_pool(int n_thread)
{
    struct share shares[64];
    T_MUST(n_thread >= 1 && n_thread <= 64 && n_thread <= n_ep);
    for (int t = 0; t < n_thread; t++) {
        int first = (int)((long)n_ep * t / n_thread);
        shares[t] = (struct share){ 0, first, (int)((long)n_ep * (t + 1) / n_thread) - first };
        T_MUST(pthread_create(&shares[t].id, NULL, run_share, &shares[t]) == 0);
    }
    for (int t = 0; t < n_thread; t++) {
        pthread_join(shares[t].id, NULL);
    }
}

// Fibers: each has a context, and the loop gives each its turn until all are over.
struct fiber {
    ucontext_t at;
    int me;
    int is_over;
};

static ucontext_t loop;
static struct fiber *fibers, *current;

static void wait_for(MPI_Request *r)
{
    int is_done = 0;
    MPI_Test(r, &is_done, MPI_STATUS_IGNORE);
    while (!is_done) {
        swapcontext(&current->at, &loop);
        MPI_Test(r, &is_done, MPI_STATUS_IGNORE);
    }
}

static void fiber_main(void)
{
    struct fiber *f = current;
    MPI_Comm comm = comms[f->me];
    MPI_Request r;
    int out = f->me * 3, in = -1;
    MPI_Irecv(&in, 1, MPI_INT, (f->me + n_ep - 1) % n_ep, 7, comm, &r);
    MPI_Send(&out, 1, MPI_INT, (f->me + 1) % n_ep, 7, comm);
    wait_for(&r);
    T_EQ(in, (f->me + n_ep - 1) % n_ep * 3);
    MPI_Ibarrier(comm, &r);
    wait_for(&r);
    long mine = f->me, sum = -1;
    MPI_Iallreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm, &r);
    wait_for(&r);
    T_EQ(sum, (long)n_ep * (n_ep - 1) / 2);
    f->is_over = 1;
}

static void run_fibers(void)
{
    size_t len = (size_t)n_ep * STACK;
    char *stacks =
        mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    fibers = calloc((size_t)n_ep, sizeof *fibers);
    T_MUST(stacks != MAP_FAILED && fibers != NULL);
    madvise(stacks, len, MADV_NOHUGEPAGE);
    for (int i = 0; i < n_ep; i++) {
        fibers[i].me = i;
        getcontext(&fibers[i].at);
        fibers[i].at.uc_stack.ss_sp = stacks + (size_t)i * STACK;
        fibers[i].at.uc_stack.ss_size = STACK;
        fibers[i].at.uc_link = &loop;
        makecontext(&fibers[i].at, fiber_main, 0);
    }
    for (int n_over = 0; n_over < n_ep;) {
        for (int i = 0; i < n_ep; i++) {
            if (!fibers[i].is_over) {
                current = &fibers[i];
                swapcontext(&loop, &current->at);
                n_over += fibers[i].is_over;
            }
        }
    }
    munmap(stacks, len);
    free(fibers);
}

int main(int argc, char **argv)
{
    int level;
    T_MUST(argc >= 3);
    n_ep = atoi(argv[1]);
    bool is_pool = strcmp(argv[2], "pool") == 0;
    if (!is_pool && IS_CHECKED) {
        return 77;
    }
    MPI_Init_thread(&argc, &argv, is_pool ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    comms = malloc((size_t)n_ep * sizeof *comms);
    memset(comms, 0, (size_t)n_ep * sizeof *comms);
    double start = now();
    long before = resident();
    T_MUST(MPI_Comm_create_endpoints(MPI_COMM_SELF, n_ep, MPI_INFO_NULL, comms) == MPI_SUCCESS);
    printf("%d endpoints made in %.3f s\n", n_ep, now() - start);
    weigh("idle", before);
    start = now();
    if (is_pool) {
        run_pool(atoi(argv[3]));
    } else {
        run_fibers();
    }
    printf("ring, barriers and allreduces in %.3f s\n", now() - start);
    printf("at most %ld MiB\n", (resident() - before) >> 20);
    start = now();
    for (int i = 0; i < n_ep; i++) {
        T_EQ(MPI_Comm_free(&comms[i]), MPI_SUCCESS);
    }
    printf("freed in %.3f s\n", now() - start);
    free(comms);
    MPI_Finalize();
    return t_status();
}
