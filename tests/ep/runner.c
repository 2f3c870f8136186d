// SPDX-License-Identifier: BSD-3-Clause
// Runs an MPI test program with every rank an endpoint: runner RANKS PROGRAM.so [ARGUMENT...]. The
// ranks are spread over the processes that mpiexec starts; each is a thread with a copy of the
// program of its own, for a shared object is loaded once however often it is asked for, but a copy
// in memory without a name is another one.
#define PLI_TESTS_EP_RUNNER
#include "ep/rank.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

struct thread {
    pthread_t id;
    struct ep_rank *rank; // of this thread and those it starts
    int (*main)(int argc, char **argv);
    int argc;
    char **argv;
    MPI_Comm world;
};

static pthread_key_t key;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "runner: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *load(const char *path)
{
    char name[32];
    struct stat st;
    int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("rank", MFD_CLOEXEC);
    if (from < 0 || to < 0 || fstat(from, &st) != 0) {
        fail(path, "cannot be opened");
    }
    for (off_t at = 0; at < st.st_size;) {
        if (sendfile(to, from, &at, (size_t)(st.st_size - at)) <= 0) {
            fail(path, "cannot be copied");
        }
    }
    close(from);
    // The descriptor stays open: its number is the name by which the loader knows this copy.
    snprintf(name, sizeof name, "/proc/self/fd/%d", to);
    void *so = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (so == NULL) {
        fail(path, dlerror());
    }
    return so;
}

// What exit() does in a program: before MPI_Finalize a rank takes the job with it.
static void leave(int status)
{
    struct ep_rank *rank = pthread_getspecific(key);
    if (rank == NULL || !rank->is_finalized) {
        fprintf(stderr, "runner: a rank ends with status %d before MPI_Finalize\n", status);
        MPI_Abort(MPI_COMM_WORLD, status != 0 ? status : 1);
    }
    rank->status = status;
    pthread_exit(NULL);
}

// Errors of no object are the process's; here a rank has an object for that, and until MPI-3 it was
// its world.
static void forward(MPI_Comm *self, int *code, ...)
{
    (void)self;
    struct ep_rank *rank = pthread_getspecific(key);
    MPI_Errhandler e = MPI_ERRORS_ARE_FATAL;
    if (rank != NULL && !rank->is_finalized) {
        MPI_Comm_get_errhandler(rank->self, &e);
    }
    if (e == MPI_ERRORS_ARE_FATAL && rank != NULL && !rank->is_finalized) {
        MPI_Comm_call_errhandler(rank->world, *code);
    } else if (e != MPI_ERRORS_ARE_FATAL) {
        MPI_Comm_call_errhandler(rank->self, *code);
        MPI_Errhandler_free(&e);
    } else {
        fail("an error of no object", "in a thread that is no rank");
    }
}

static void join(struct ep_rank *rank)
{
    pthread_setspecific(key, rank);
    MPI_Comm_attach(rank->world);
}

static void *run(void *arg)
{
    struct thread *t = arg;
    struct ep_rank *rank = t->rank;
    int me;
    rank->world = t->world;
    rank->leave = leave;
    rank->join = join;
    join(rank);
    MPI_Comm_rank(t->world, &me);
    MPI_Comm_set_name(t->world, "MPI_COMM_WORLD");
    MPI_Comm_split(t->world, me, 0, &rank->self);
    MPI_Comm_set_name(rank->self, "MPI_COMM_SELF");
    rank->status = t->main(t->argc, t->argv);
    if (rank->is_initialized && !rank->is_finalized) {
        leave(rank->status);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int level, rank, size, status = 0;
    int n_total = atoi(argv[1]);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = n_total / size + (rank < n_total % size);
    MPI_Comm *comms = calloc((size_t)n + 1, sizeof *comms);
    struct thread *threads = calloc((size_t)n + 1, sizeof *threads);
    MPI_Comm_create_endpoints(MPI_COMM_WORLD, n, MPI_INFO_NULL, comms);
    pthread_key_create(&key, NULL);
    MPI_Errhandler e;
    MPI_Comm_create_errhandler(forward, &e);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, e);
    MPI_Errhandler_free(&e);
    for (int i = 0; i < n; i++) {
        void *so = load(argv[2]);
        threads[i].rank = dlsym(so, "ep_rank");
        void *entry = dlsym(so, "main");
        memcpy(&threads[i].main, &entry, sizeof entry);
        threads[i].world = comms[i];
        threads[i].argc = argc - 2;
        threads[i].argv = argv + 2;
        if (threads[i].rank == NULL || entry == NULL) {
            fail(argv[2], "was not built with ep/rank.h");
        }
    }
    for (int i = 0; i < n; i++) {
        if (pthread_create(&threads[i].id, NULL, run, &threads[i]) != 0) {
            fail("pthread_create", "no thread");
        }
    }
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i].id, NULL);
        status = status != 0 ? status : threads[i].rank->status;
    }
    free(threads);
    free(comms);
    MPI_Finalize();
    return status;
}
