// SPDX-License-Identifier: BSD-3-Clause
// Events of MPI_T that tell of a process that is met and of one that dies, of a world that has
// another size, and of a checkpoint; the argument says which.
#include "t.h"

#include <mpi.h>
#include <signal.h>
#include <string.h>

struct seen {
    int n_word; // of the event
    int n, words[2], source;
};

static void note(MPI_T_event_instance e, MPI_T_event_registration r, MPI_T_cb_safety safety,
                 void *data)
{
    struct seen *s = data;
    (void)r;
    (void)safety;
    for (int i = 0; i < s->n_word; i++) {
        T_EQ(MPI_T_event_read(e, i, &s->words[i]), MPI_SUCCESS);
    }
    T_EQ(MPI_T_event_get_source(e, &s->source), MPI_SUCCESS);
    s->n++;
}

static MPI_T_event_registration listen(const char *name, struct seen *s)
{
    int index;
    MPI_T_event_registration r;
    T_MUST(MPI_T_event_get_index(name, &index) == MPI_SUCCESS);
    T_MUST(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &r) == MPI_SUCCESS);
    T_EQ(MPI_T_event_register_callback(r, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, s, note),
         MPI_SUCCESS);
    return r;
}

static void failure(const struct seen *died)
{
    int rank, x = 0, left, right;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    left = (rank + 2) % 3;
    right = (rank + 1) % 3;
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &x, 1, MPI_INT, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    T_EQ(x, left);
    if (rank == 2) {
        raise(SIGKILL);
    }
    T_OK(MPI_Recv(&x, 1, MPI_INT, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    // A lost connection may fail the receive before the launcher's word comes.
    for (double end = MPI_Wtime() + 30; died->n == 0 && MPI_Wtime() < end;) {
        int is_there;
        MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
    }
}

// Two ranks become three. The new one is not told: it was never in a world of another size.
static void resize(int version)
{
    int rank, size, x;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (version == 0) {
        T_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
        if (rank == 0) {
            T_EQ(MPIX_World_resize(MPI_COMM_SELF, 3), MPI_SUCCESS);
        }
        T_EQ(MPI_Recv(&x, 1, MPI_INT, 1 - rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             MPI_WORLD_RESIZED);
        T_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS); // with the one that waits in MPI_Init
    }
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    T_EQ(size, 3);
}

static int size_of(void *arg, MPI_Count *bytes)
{
    (void)arg;
    *bytes = 1;
    return MPI_SUCCESS;
}

static int pack(void *arg, void *buf, MPI_Count bytes)
{
    (void)arg;
    memset(buf, 1, (size_t)bytes);
    return MPI_SUCCESS;
}

static int unpack(void *arg, int piece, int n_pieces, const void *buf, MPI_Count bytes)
{
    (void)arg, (void)piece, (void)n_pieces, (void)buf, (void)bytes;
    return MPI_SUCCESS;
}

// It is told of by a thread that looks for messages.
static void checkpoint(const struct seen *saved)
{
    int is_restarted = 1, is_there;
    MPIX_Checkpoint_register("byte", size_of, pack, unpack, NULL);
    for (int i = 0; i < 2; i++) {
        T_EQ(MPIX_Checkpoint(MPI_COMM_WORLD, &is_restarted), MPI_SUCCESS);
        T_EQ(is_restarted, 0);
        for (double end = MPI_Wtime() + 30; saved->n <= i && MPI_Wtime() < end;) {
            MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
        }
    }
}

int main(int argc, char **argv)
{
    int provided, version = 0;
    struct seen met = { .n_word = 1 }, died = { .n_word = 1 };
    struct seen resized = { .n_word = 2 }, saved = { .n_word = 1 };
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_event_registration all[] = { listen("connect", &met), listen("failure", &died),
                                       listen("resize", &resized), listen("checkpoint", &saved) };
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const char *what = argc > 1 ? argv[1] : "failure";
    if (strcmp(what, "failure") == 0) {
        failure(&died);
    } else if (strcmp(what, "resize") == 0) {
        MPIX_Comm_world_version(MPI_COMM_WORLD, &version);
        resize(version);
    } else {
        checkpoint(&saved);
    }
    for (int i = 0; i < 4; i++) { // what has happened is handed over before
        T_EQ(MPI_T_event_handle_free(all[i], NULL, NULL), MPI_SUCCESS);
    }
    if (strcmp(what, "failure") == 0) {
        T_OK(met.n >= 1 && met.source == 0);
        T_OK(died.n == 1 && died.words[0] == 1 && died.source == 1);
    } else if (strcmp(what, "resize") == 0 && version == 0) {
        T_OK(resized.n == 1 && resized.words[0] == 1 && resized.words[1] == 3);
        T_EQ(resized.source, 1);
    } else if (strcmp(what, "resize") == 0) {
        T_EQ(resized.n, 0);
    } else if (strcmp(what, "checkpoint") == 0) {
        T_OK(saved.n == 2 && saved.words[0] == 2 && saved.source == 1);
    }
    T_OK(strcmp(what, "failure") == 0 || died.n == 0);
    T_OK(strcmp(what, "resize") == 0 || resized.n == 0);
    T_OK(strcmp(what, "checkpoint") == 0 || saved.n == 0);
    MPI_Finalize();
    T_EQ(MPI_T_finalize(), MPI_SUCCESS);
    return t_status();
}
