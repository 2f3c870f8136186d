// SPDX-License-Identifier: BSD-3-Clause
// What the tests of checkpoints run. Works in steps on a world that may change its size, with much
// on its way at every moment: an unexpected message, an outstanding receive, a synchronous send, a
// derived datatype, a split communicator with an attribute, windows in the middle of epochs, a
// thread. The last line is the result.
//
//     ckpt_probe STEPS MS [call=K] [die=K] [abort=K] [fork=K] [mb=N] [flood=KB] [poll] [state]
//         [threads] [gate=FILE] [log=FILE] [leave]
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int n_step, nap_ms, call_at = -1, die_at = -1, abort_at = -1, fork_at = -1;
static int with_poll, with_state, with_threads, with_leave;
static long n_byte, n_flood;
static const char *gate; // the last steps come when this file is there, and checkpoints until then
static const char *log_name;
static FILE *log_file, *scratch; // every rank's own; the second has no name
static int step;                 // both are the state that is registered
static double value;             // the same at all ranks
static atomic_long n_beat;
static atomic_int is_over;

static void check(int is_good, const char *what)
{
    if (!is_good) {
        fprintf(stderr, "ckpt_probe: %s is wrong at step %d\n", what, step);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static void nap(int ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000L };
    while (nanosleep(&t, &t) != 0) {
        // a checkpoint is a signal
    }
}

static int size_of(void *arg, MPI_Count *bytes)
{
    (void)arg;
    *bytes = sizeof step + sizeof value;
    return MPI_SUCCESS;
}

static int pack(void *arg, void *buf, MPI_Count bytes)
{
    (void)arg;
    (void)bytes;
    memcpy(buf, &value, sizeof value);
    memcpy((char *)buf + sizeof value, &step, sizeof step);
    return MPI_SUCCESS;
}

static int unpack(void *arg, int piece, int n_pieces, const void *buf, MPI_Count bytes)
{
    (void)arg;
    if (piece < 0 || piece >= n_pieces || bytes != sizeof step + sizeof value) {
        return MPI_ERR_OTHER;
    }
    memcpy(&value, buf, sizeof value);
    memcpy(&step, (const char *)buf + sizeof value, sizeof step);
    return MPI_SUCCESS;
}

static void *beat(void *arg)
{
    (void)arg;
    while (!is_over) {
        n_beat++;
        nap(1);
    }
    return NULL;
}

// The name of the second is anybody's soon.
static void open_files(int rank)
{
    char name[512], other[520];
    snprintf(name, sizeof name, "%s.%d", log_name, rank);
    snprintf(other, sizeof other, "%s.tmp", name);
    log_file = fopen(name, "w");
    scratch = fopen(other, "w+");
    check(log_file != NULL && scratch != NULL && remove(other) == 0, "the file");
    fprintf(scratch, "kept");
    fflush(scratch);
    FILE *f = fopen(other, "w");
    fprintf(f, "of somebody else, and longer");
    fclose(f);
}

static void close_files(void)
{
    char text[8] = "";
    rewind(scratch);
    check(fgets(text, sizeof text, scratch) != NULL && strcmp(text, "kept") == 0,
          "the scratch file");
    fclose(scratch);
    fclose(log_file);
}

enum { WIN_LEN = 50000, AROUND = 100 };

struct pending {
    MPI_Win near, far; // memory that members of a host share, and memory that they do not
    int *shared, own[WIN_LEN], row[AROUND], fetched;
    int n_added, last; // how often, and at which step it last wrote
    MPI_Request fetch;
    MPI_Comm comm;
    MPI_Request recv, sync;
    MPI_Datatype column;
    int key, attribute;
    int got, token, sync_got;
    double grid[4][4];
};

// One window is locked, with a request under way, the other one exposed and accessed, and written
// to already.
static void begin_windows(struct pending *p, int rank, int size)
{
    MPI_Group all, around;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Win_allocate(WIN_LEN * sizeof(int), sizeof(int), MPI_INFO_NULL, p->comm, &p->shared,
                     &p->near);
    MPI_Win_create(p->own, sizeof p->own, sizeof(int), MPI_INFO_NULL, p->comm, &p->far);
    MPI_Win_set_name(p->near, "near");
    p->n_added = 0;
    for (int i = 0; i < WIN_LEN; i++) {
        p->shared[i] = i == 0 ? 0 : rank * 1000 + i % 997;
        p->own[i] = rank * 7 + i;
    }
    for (int i = 0; i < AROUND; i++) {
        p->row[i] = -rank - i;
    }
    MPI_Barrier(p->comm); // all have written to their own
    MPI_Win_lock_all(0, p->near);
    MPI_Rget(&p->fetched, 1, MPI_INT, right, 1, 1, MPI_INT, p->near, &p->fetch);
    MPI_Comm_group(p->comm, &all);
    MPI_Group_incl(all, 1, &left, &around);
    MPI_Win_post(around, 0, p->far);
    MPI_Group_free(&around);
    MPI_Group_incl(all, 1, &right, &around);
    MPI_Win_start(around, 0, p->far);
    MPI_Group_free(&around);
    MPI_Group_free(&all);
    MPI_Put(p->row, AROUND, MPI_INT, right, 50, AROUND, MPI_INT, p->far);
}

// Every rank counts at all others in turn.
static void use_windows(struct pending *p)
{
    int size, was = -1, one = 1, to;
    MPI_Comm_size(p->comm, &size);
    to = step % size;
    MPI_Fetch_and_op(&one, &was, MPI_INT, to, 0, MPI_SUM, p->near);
    MPI_Win_flush(to, p->near);
    check(was >= 0, "the counter in a window");
    p->n_added++;
    p->last = step;
    MPI_Comm_rank(p->comm, &to);
    MPI_Put(&p->last, 1, MPI_INT, (to + 1) % size, 1, 1, MPI_INT, p->far);
}

static void end_windows(struct pending *p, int rank, int size)
{
    int left = (rank + size - 1) % size, added, counted, flag, len, before;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Aint *bytes;
    MPI_Wait(&p->fetch, MPI_STATUS_IGNORE);
    check(p->fetched == (rank + 1) % size * 1000 + 1, "the request of a window");
    MPI_Win_unlock_all(p->near);
    MPI_Barrier(p->comm);
    MPI_Allreduce(&p->n_added, &added, 1, MPI_INT, MPI_SUM, p->comm);
    MPI_Allreduce(&p->shared[0], &counted, 1, MPI_INT, MPI_SUM, p->comm);
    check(added == counted && added > 0, "the sum of the counters");
    MPI_Win_complete(p->far);
    MPI_Win_wait(p->far);
    MPI_Sendrecv(&p->last, 1, MPI_INT, (rank + 1) % size, 4, &before, 1, MPI_INT, left, 4, p->comm,
                 MPI_STATUS_IGNORE);
    for (int i = 1; i < WIN_LEN; i++) {
        check(p->shared[i] == rank * 1000 + i % 997, "the memory of a window");
        check(p->own[i] == (i == 1                       ? before
                            : i >= 50 && i < 50 + AROUND ? -left - (i - 50)
                                                         : rank * 7 + i),
              "the memory that a window exposes");
    }
    MPI_Win_get_name(p->near, name, &len);
    MPI_Win_get_attr(p->near, MPI_WIN_SIZE, &bytes, &flag);
    check(strcmp(name, "near") == 0 && *bytes == WIN_LEN * (MPI_Aint)sizeof(int), "the window");
    MPI_Win_free(&p->near);
    MPI_Win_free(&p->far);
}

// Things that a checkpoint at any later moment must keep.
static void begin_pending(struct pending *p, MPI_Comm world)
{
    int rank, size;
    MPI_Comm_split(world, 0, 0, &p->comm);
    MPI_Comm_rank(p->comm, &rank);
    MPI_Comm_size(p->comm, &size);
    p->attribute = 4711 + rank;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &p->key, NULL);
    MPI_Comm_set_attr(p->comm, p->key, &p->attribute);
    MPI_Type_vector(4, 1, 4, MPI_DOUBLE, &p->column);
    MPI_Type_commit(&p->column);
    for (int i = 0; i < 16; i++) {
        p->grid[i / 4][i % 4] = rank * 100 + i;
    }
    MPI_Irecv(&p->got, 1, MPI_INT, (rank + size - 1) % size, 1, p->comm, &p->recv);
    p->token = rank;
    MPI_Issend(&p->token, 1, MPI_INT, (rank + 1) % size, 2, p->comm, &p->sync);
    MPI_Send(&p->grid[0][1], 1, p->column, (rank + 1) % size, 3, p->comm); // nobody asks for it yet
    begin_windows(p, rank, size);
}

static void end_pending(struct pending *p)
{
    int rank, size, flag, *value_of;
    double column[4];
    MPI_Comm_rank(p->comm, &rank);
    MPI_Comm_size(p->comm, &size);
    int left = (rank + size - 1) % size;
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 1, p->comm);
    MPI_Wait(&p->recv, MPI_STATUS_IGNORE);
    check(p->got == left, "the outstanding receive");
    MPI_Recv(&p->sync_got, 1, MPI_INT, left, 2, p->comm, MPI_STATUS_IGNORE);
    MPI_Wait(&p->sync, MPI_STATUS_IGNORE);
    check(p->sync_got == left, "the synchronous send");
    MPI_Recv(column, 4, MPI_DOUBLE, left, 3, p->comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++) {
        check(column[i] == left * 100 + i * 4 + 1, "the unexpected message");
    }
    MPI_Comm_get_attr(p->comm, p->key, &value_of, &flag);
    check(flag && *value_of == 4711 + rank, "the attribute");
    end_windows(p, rank, size);
    MPI_Comm_free_keyval(&p->key);
    MPI_Type_free(&p->column);
    MPI_Comm_free(&p->comm);
}

static unsigned char pattern(long i, int rank)
{
    return (unsigned char)((uint64_t)(i + rank * 977) * 2654435761u >> 13);
}

// Everybody sends much to everybody, in small pieces and large ones: whenever the checkpoint comes,
// something is on its way.
static void flood(MPI_Comm world)
{
    enum { SMALL = 16 };
    int rank, size;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    unsigned char *out = malloc((size_t)n_flood), *in = malloc((size_t)n_flood * (size_t)size);
    MPI_Request *r = malloc(sizeof *r * 2 * (size_t)size);
    int n = 0, got[SMALL];
    for (long i = 0; i < n_flood; i++) {
        out[i] = pattern(i, rank + step);
    }
    for (int k = 0; k < size; k++) {
        MPI_Irecv(in + k * n_flood, (int)n_flood, MPI_BYTE, k, 100, world, &r[n++]);
        MPI_Isend(out, (int)n_flood, MPI_BYTE, k, 100, world, &r[n++]);
    }
    for (int i = 0; i < SMALL; i++) {
        int token = step * SMALL + i;
        MPI_Sendrecv(&token, 1, MPI_INT, (rank + 1) % size, 101, &got[i], 1, MPI_INT,
                     (rank + size - 1) % size, 101, world, MPI_STATUS_IGNORE);
        check(got[i] == token, "a small message of many");
    }
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    for (int k = 0; k < size; k++) {
        for (long i = 0; i < n_flood; i++) {
            check(in[k * n_flood + i] == pattern(i, k + step), "a large message of many");
        }
    }
    free(r);
    free(in);
    free(out);
}

// Take up the resized world when all have seen it in the place that a program may look at and
// assign to. Nobody leaves here.
static void look(MPI_Comm *world, int *version)
{
    MPI_Comm next = MPI_COMM_RESIZED_WORLD;
    int seen = next != MPI_COMM_NULL, all, at[2] = { step, 0 };
    MPI_Allreduce(&seen, &all, 1, MPI_INT, MPI_MIN, *world);
    MPIX_World_version(&at[1]);
    if (all) {
        MPI_Bcast(at, 2, MPI_INT, 0, next);
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, next);
        *world = next;
        MPI_COMM_RESIZED_WORLD = MPI_COMM_NULL; // until the next one
        MPIX_World_version(version);
    }
}

// Take up the newest version of the world that all have seen. 0: this rank is to leave.
static int follow(MPI_Comm *world, int *version)
{
    int now, all;
    if (with_poll) {
        look(world, version);
        return 1;
    }
    MPIX_World_version(&now);
    MPI_Allreduce(&now, &all, 1, MPI_INT, MPI_MIN, *world);
    if (*version < all) { // one at a time: who came for it goes on from there
        MPI_Comm next;
        int at[2] = { step, ++*version };
        MPIX_Comm_world_at(*version, &next);
        if (next == MPI_COMM_NULL) {
            return 0;
        }
        MPI_Bcast(at, 2, MPI_INT, 0, next); // ranks that came start where the others are
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, next);
        *world = next;
    }
    return 1;
}

static void call_checkpoint(MPI_Comm world)
{
    int is_restarted, rank;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    int code = MPIX_Checkpoint(world, &is_restarted);
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;
    if (code != MPI_SUCCESS) {
        MPI_Error_string(code, text, &len);
    }
    MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
    if (rank == 0) {
        printf("checkpoint called: %s\n", code != MPI_SUCCESS ? text
                                          : is_restarted      ? "restarted"
                                                              : "made");
        fflush(stdout);
    }
}

// Of a step that is done.
static void save(MPI_Comm world)
{
    step++;
    call_checkpoint(world);
    step--;
}

// Whether the state of all is to be saved; not by a world that has a newer version, which all are
// about to take up: the test counts on the ranks of that one.
static int is_wanted(MPI_Comm world, int version)
{
    int now, mine[2] = { 0, 0 }, all[2];
    if (with_state) {
        MPIX_Checkpoint_wanted(&mine[0]);
        MPIX_World_version(&now);
        mine[1] = now > version;
    }
    MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MAX, world);
    return all[0] && !all[1];
}

// Whether all have seen a newer version of the world.
static int is_outdated(MPI_Comm world, int version)
{
    int now, all;
    MPIX_World_version(&now);
    MPI_Allreduce(&now, &all, 1, MPI_INT, MPI_MIN, world);
    return !with_poll && all > version;
}

// Messages go on meanwhile. When the world has changed the program takes that up, and waits again
// after the next step. A test that forgot the gate is not waited for.
static void wait_at_gate(MPI_Comm world, int version)
{
    enum { PATIENCE_S = 300 };
    static int is_shut; // as rank 0 knows
    int rank;
    double begin = MPI_Wtime();
    MPI_Comm_rank(world, &rank);
    is_shut = is_shut || step == n_step - 5;
    for (;;) {
        is_shut = is_shut && !(rank == 0 && access(gate, F_OK) == 0);
        MPI_Bcast(&is_shut, 1, MPI_INT, 0, world);
        if (is_outdated(world, version) || !is_shut) { // in this order: all ask
            return;
        }
        if (n_flood > 0) {
            flood(world);
        }
        if (is_wanted(world, version)) {
            save(world);
        }
        check(MPI_Wtime() - begin < PATIENCE_S, "the gate");
        nap(1);
    }
}

static void work(MPI_Comm world, int version)
{
    static struct pending p;
    // Who came later has no part in what is pending, and who has that is not forked.
    int was_first = version == 0 && fork_at < 0;
    if (was_first) {
        begin_pending(&p, world);
    }
    for (; step < n_step; step++) {
        int rank, size;
        MPI_Comm_rank(world, &rank);
        MPI_Comm_size(world, &size);
        double mine = rank == 0 ? value * 1.0000001 + step : 0, sum;
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, world);
        value = sum; // does not depend on the number of ranks
        int all = is_wanted(world, version);
        if (was_first) {
            use_windows(&p);
        }
        if (n_flood > 0) {
            flood(world);
        }
        if (rank == 0) {
            printf("step %d of %d ranks\n", step, size);
            fflush(stdout);
        }
        if (log_file != NULL) {
            fprintf(log_file, "step %d\n", step);
            fflush(log_file);
        }
        if (step == die_at && rank == size - 1) {
            raise(SIGKILL);
        }
        check(step != abort_at, "this step");
        if (step == call_at || all) {
            save(world);
        }
        if (step == fork_at) {
            check(MPI_Fork(size) >= 0, "the fork");
            MPIX_World_version(&version);
            world = MPI_COMM_WORLD;
        }
        nap(nap_ms);
        if (gate != NULL && step >= n_step - 5) {
            wait_at_gate(world, version);
        }
        if (!follow(&world, &version)) {
            break;
        }
    }
    if (was_first) {
        end_pending(&p);
    }
    int rank, size;
    MPI_Comm now;
    MPIX_Comm_world_at(version, &now);
    if (now != MPI_COMM_NULL) {
        MPI_Comm_rank(now, &rank);
        MPI_Comm_size(now, &size);
        if (rank == 0) {
            printf("result %.17g with %d ranks\n", value, size);
        }
    }
}

int main(int argc, char **argv)
{
    int rank, got, version, n_pieces;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &got);
    n_step = argc > 1 ? atoi(argv[1]) : 10;
    nap_ms = argc > 2 ? atoi(argv[2]) : 0;
    for (int i = 3; i < argc; i++) {
        call_at = strncmp(argv[i], "call=", 5) == 0 ? atoi(argv[i] + 5) : call_at;
        die_at = strncmp(argv[i], "die=", 4) == 0 ? atoi(argv[i] + 4) : die_at;
        fork_at = strncmp(argv[i], "fork=", 5) == 0 ? atoi(argv[i] + 5) : fork_at;
        abort_at = strncmp(argv[i], "abort=", 6) == 0 ? atoi(argv[i] + 6) : abort_at;
        n_flood = strncmp(argv[i], "flood=", 6) == 0 ? atol(argv[i] + 6) << 10 : n_flood;
        n_byte = strncmp(argv[i], "mb=", 3) == 0 ? atol(argv[i] + 3) << 20 : n_byte;
        gate = strncmp(argv[i], "gate=", 5) == 0 ? argv[i] + 5 : gate;
        log_name = strncmp(argv[i], "log=", 4) == 0 ? argv[i] + 4 : log_name;
        with_poll = with_poll || strcmp(argv[i], "poll") == 0;
        with_state = with_state || strcmp(argv[i], "state") == 0;
        with_leave = with_leave || strcmp(argv[i], "leave") == 0;
        with_threads = with_threads || strcmp(argv[i], "threads") == 0;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm world = MPI_COMM_WORLD;
    if (with_leave) { // the last rank has ended before anything happens
        int size;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1, 0, &world);
        if (rank == size - 1) {
            MPI_Finalize();
            return 0;
        }
    }
    unsigned char *memory = n_byte > 0 ? malloc((size_t)n_byte) : NULL;
    for (long i = 0; i < n_byte; i++) {
        memory[i] = pattern(i, rank);
    }
    pthread_t thread;
    if (with_threads) {
        pthread_create(&thread, NULL, beat, NULL);
    }
    MPIX_World_version(&version);
    if (with_state) {
        MPIX_Checkpoint_register("probe", size_of, pack, unpack, NULL);
    }
    if (with_state && version == 0) {
        MPIX_Checkpoint_restore(MPI_COMM_WORLD, &n_pieces);
        MPI_Bcast(&step, 1, MPI_INT, 0, MPI_COMM_WORLD); // with more ranks some got no piece
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    if (version > 0) { // came for a larger world
        int at[2];
        MPI_Bcast(at, 2, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        step = at[0] + 1;
        version = at[1]; // there may be a newer one by now
    }
    if (log_name != NULL) {
        open_files(rank);
    }
    work(world, version);
    if (log_name != NULL) {
        close_files();
    }
    for (long i = 0; i < n_byte; i++) {
        if (memory[i] != pattern(i, rank)) {
            check(0, "the memory");
        }
    }
    if (with_threads) {
        long before = n_beat;
        for (int i = 0; i < 2000 && n_beat == before; i++) {
            nap(10);
        }
        check(n_beat > before, "the thread");
        is_over = 1;
        pthread_join(thread, NULL);
    }
    free(memory);
    MPI_Finalize();
    return 0;
}
