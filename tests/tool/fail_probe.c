// SPDX-License-Identifier: BSD-3-Clause
// A program whose rank 1 ends as the first argument says. Driven by failure.py.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static void say(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;
    MPI_Error_string(code, text, &len);
    printf("%s\n", text);
}

// Ranks die at some steps of some version, others take their places, and all do all steps: "RANK
// STEP VERSION" says who dies when; with FAIL_HOST set, its daemon does, and all with it; with
// FAIL_ABORT set, it dies by an MPI_Abort of itself.
static int respawn(int argc, char **argv)
{
    enum { STEPS = 20 };
    int rank, size, version = 0, step = 0, one = 1, sum, newest, is_new = 0;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPIX_Comm_world_version(world, &version);
    is_new = version > 0;
    step = version > 0 ? STEPS : 0;
    int is_out = version > 0; // of step with the others
    while (step < STEPS || is_out) {
        for (int i = 2; i + 2 < argc && !is_out; i += 3) {
            if (rank == atoi(argv[i]) && step == atoi(argv[i + 1]) &&
                version == atoi(argv[i + 2])) {
                pid_t daemon = getppid();
                if (getenv("FAIL_ABORT") != NULL) {
                    MPI_Abort(MPI_COMM_SELF, 3);
                }
                kill(getenv("FAIL_HOST") != NULL && daemon > 1 ? daemon : getpid(), SIGKILL);
                pause();
            }
        }
        int rc = is_out ? MPI_Allreduce(&step, &sum, 1, MPI_INT, MPI_MIN, world)
                        : MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
        int is_good = rc == MPI_SUCCESS;
        if (!is_good) {
            MPIX_Comm_revoke(world);
        }
        rc = MPIX_Comm_agree(world, &is_good);
        if (rc == MPI_SUCCESS && is_good && is_out) {
            step = sum;
            is_out = 0;
        } else if (rc == MPI_SUCCESS && is_good) {
            step += sum == size;
        } else {
            do {
                usleep(1000);
                MPIX_World_version(&newest);
            } while (newest == version);
            version++; // one at a time, as all do
            MPIX_Comm_world_at(version, &world);
            MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
            is_out = 1;
        }
    }
    MPI_Comm_rank(world, &rank);
    printf("rank %d of %d: %d steps, version %d%s\n", rank, size, step, version,
           is_new ? ", came later" : "");
    return 0;
}

// All wait in the call that `what` names, until it fails; then those who are left say who is not,
// and work on.
static int lose(const char *what, int rank, int size)
{
    enum { LARGE = 1 << 19 };
    MPI_Comm world = MPI_COMM_WORLD, next;
    MPI_Group all, failed;
    double *big = calloc(LARGE, sizeof *big), *sum = calloc(LARGE, sizeof *sum);
    int rc = MPI_Barrier(world), class, one = 1, n, from = size - 1;
    printf("up\n");
    fflush(stdout);
    while (rc == MPI_SUCCESS) {
        rc = is(what, "barrier") ? MPI_Barrier(world)
             : is(what, "large") ? MPI_Allreduce(big, sum, LARGE, MPI_DOUBLE, MPI_SUM, world)
             : is(what, "agree") ? MPIX_Comm_agree(world, &one)
             : rank == from || is(what, "any")
                 ? MPI_Recv(&n, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, MPI_STATUS_IGNORE)
             : is(what, "recv") ? MPI_Recv(&n, 1, MPI_INT, from, 1, world, MPI_STATUS_IGNORE)
                                : MPI_Ssend(big, LARGE, MPI_DOUBLE, from, 2, world);
    }
    say(rc);
    MPI_Error_class(rc, &class);
    MPIX_Comm_failure_ack(world);
    MPIX_Comm_failure_get_acked(world, &failed);
    MPI_Comm_group(world, &all);
    MPI_Group_size(failed, &n);
    char list[200] = "";
    for (int i = 0, r, at = 0; i < n; i++) {
        MPI_Group_translate_ranks(failed, 1, &i, all, &r);
        at += snprintf(list + at, sizeof list - (size_t)at, " %d", r);
    }
    MPIX_Comm_shrink(world, &next);
    MPI_Allreduce(&one, &n, 1, MPI_INT, MPI_SUM, next);
    printf("rank %d: %s, lost%s, %d left\n", rank,
           class == MPIX_ERR_PROC_FAILED ? "failed" : "another error", list, n);
    MPI_Comm_free(&next);
    MPI_Group_free(&all);
    MPI_Group_free(&failed);
    free(big);
    free(sum);
    return 0;
}

// A program that has no error handler goes on in the world that it has.
static int deaf(int rank)
{
    int size, sum, one = 1;
    if (rank == 0) {
        MPIX_World_resize(MPI_COMM_SELF, 1); // smaller: nobody comes who would wait
    }
    for (int i = 0; i < 100; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        usleep(500);
    }
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0 && sum == size) {
        printf("%d ranks went on\n", size);
    }
    return 0;
}

// Rank 1 aborts a communicator, whose other members do not look at MPI meanwhile; who is not of it
// goes on with those who are left.
static int group(int rank, const char *what)
{
    MPI_Comm half, all, next;
    int rc = MPI_SUCCESS, one = 1, n, size, n_odd;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    MPI_Barrier(all);
    if (rank == 1) {
        printf("rank 1 ends it\n");
        if (is(what, "errors")) {
            MPI_Comm_set_errhandler(half, MPI_ERRORS_ABORT);
            MPI_Send(&one, 1, MPI_INT, size, 0, half);
        }
        MPI_Abort(is(what, "half") ? half : is(what, "self") ? MPI_COMM_SELF : all, 5);
    }
    while (rank % 2 == 1 && !is(what, "self")) {
        pause();
    }
    n_odd = is(what, "self") ? 1 : size / 2;
    for (next = MPI_COMM_NULL; next == MPI_COMM_NULL;) {
        while (rc == MPI_SUCCESS) {
            rc = MPI_Barrier(MPI_COMM_WORLD);
        }
        MPIX_Comm_shrink(MPI_COMM_WORLD, &next); // others may die meanwhile
        MPI_Comm_size(next, &n);
        if (n != size - n_odd) {
            MPI_Comm_free(&next);
        }
    }
    say(rc);
    MPI_Allreduce(&one, &n, 1, MPI_INT, MPI_SUM, next);
    printf("rank %d goes on with %d\n", rank, n);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argc > 1 ? argv[1] : "";
    if (is(what, "deaf")) {
        int rc = deaf(rank);
        MPI_Finalize();
        return rc;
    }
    if (!is(what, "fatal")) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    if (is(what, "revoke")) {
        say(MPIX_Comm_revoke(MPI_COMM_WORLD));
        MPI_Finalize();
        return 0;
    }
    if (is(what, "lose")) {
        int rc = lose(argc > 2 ? argv[2] : "", rank, size);
        MPI_Finalize();
        return rc;
    }
    if (is(what, "respawn")) {
        int rc = respawn(argc, argv);
        MPI_Finalize();
        return rc;
    }
    if (is(what, "group")) {
        return group(rank, argc > 2 ? argv[2] : "half");
    }
    if (rank == 1 && is(what, "abort")) {
        MPI_Abort(MPI_COMM_WORLD, 7);
    } else if (rank == 1 && is(what, "exit")) {
        exit(3);
    } else if (rank == 1) {
        kill(getpid(), SIGKILL);
    }
    int rc = MPI_Barrier(MPI_COMM_WORLD);
    if (rc != MPI_SUCCESS) {
        say(rc);
    }
    if (is(what, "stuck") && rank == 2) { // a mistake of the program that no death excuses
        MPI_Recv(&rc, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (is(what, "stuck")) {
        MPI_Comm next;
        MPIX_Comm_shrink(MPI_COMM_WORLD, &next);
    }
    MPI_Finalize();
    return 0;
}
