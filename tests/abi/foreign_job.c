// SPDX-License-Identifier: BSD-3-Clause
// What a program of another MPI does in a job that is hung, checkpointed, resized, cloned, recorded
// or checked, has endpoints, loses a rank, starts others or is on several hosts. The first argument
// says what.
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Pliant MPI's, which no other MPI's header declares; the library has them.
extern int MPIX_World_version(int *version) __attribute__((weak));
extern int MPIX_World_resize(MPI_Comm comm, int size) __attribute__((weak));
extern int MPIX_Comm_world_at(int version, MPI_Comm *comm) __attribute__((weak));
extern MPI_Comm *MPIX_Resized_world(void) __attribute__((weak));
extern int MPI_Fork(int m) __attribute__((weak));
extern MPI_Comm MPIX_Comm_parents(void) __attribute__((weak));
extern MPI_Comm MPIX_Comm_children(void) __attribute__((weak));
extern int MPIX_Checkpoint_register(const char *name, int (*size_fn)(void *, MPI_Count *),
                                    int (*pack_fn)(void *, void *, MPI_Count),
                                    int (*unpack_fn)(void *, int, int, const void *, MPI_Count),
                                    void *arg) __attribute__((weak));
extern int MPIX_Checkpoint_restore(MPI_Comm comm, int *n_pieces) __attribute__((weak));
extern int MPIX_Checkpoint(MPI_Comm comm, int *is_restarted) __attribute__((weak));
extern int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm) __attribute__((weak));
extern int MPI_Comm_create_endpoints(MPI_Comm parent, int n, MPI_Info info, MPI_Comm comms[])
    __attribute__((weak));
extern int MPI_Comm_endpoint_attach(MPI_Comm comm, int index) __attribute__((weak));
extern int MPI_Comm_detach(MPI_Comm comm) __attribute__((weak));
#ifdef OPEN_MPI
extern struct ompi_predefined_communicator_t ompi_mpi_comm_endpoints __attribute__((weak));
#define COMM_ENDPOINTS OMPI_PREDEFINED_GLOBAL(MPI_Comm, ompi_mpi_comm_endpoints)
#else
#define COMM_ENDPOINTS ((MPI_Comm)0x4400007e)
#endif

static int rank, size;

// A sum over all, and a message around.
static int work(MPI_Comm comm)
{
    int r, n, sum, from = -1;
    MPI_Status status;
    MPI_Comm_rank(comm, &r);
    MPI_Comm_size(comm, &n);
    MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Sendrecv(&r, 1, MPI_INT, (r + 1) % n, 3, &from, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 comm, &status);
    return sum == n * (n - 1) / 2 && from == (r + n - 1) % n && status.MPI_SOURCE == from &&
           status.MPI_TAG == 3;
}

// Until a file is there: what was made before a checkpoint must be good after it.
static int wait_for(const char *path)
{
    MPI_Comm comm;
    int is_there = 0, ok = 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    ok = work(comm) && work(comm); // all have begun, and counted what they sent at first
    if (rank == 0) {
        puts("ready");
        fflush(stdout);
    }
    while (!is_there && ok) {
        is_there = rank == 0 && access(path, F_OK) == 0;
        MPI_Bcast(&is_there, 1, MPI_INT, 0, comm);
        ok = work(comm);
        usleep(1000);
    }
    MPI_Comm_free(&comm);
    return ok;
}

// The same in a world that others resize meanwhile. Those who come begin in the newest world.
static int follow(const char *path)
{
    int version = 0, is_there = 0, ok = 1;
    MPI_Comm now = MPI_COMM_WORLD;
    MPIX_World_version(&version);
    if (version > 0) {
        MPIX_Comm_world_at(version, &now);
    } else {
        MPI_Barrier(now);
    }
    if (version == 0 && rank == 0) {
        puts("ready");
        fflush(stdout);
    }
    while (!is_there && ok) {
        int newest = version, all;
        MPIX_World_version(&newest);
        MPI_Allreduce(&newest, &all, 1, MPI_INT, MPI_MIN, now);
        if (all > version) {
            MPIX_Comm_world_at(++version, &now);
            if (now == MPI_COMM_NULL) {
                return 1;
            }
            continue; // those who came begin there
        }
        MPI_Comm_rank(now, &rank);
        is_there = rank == 0 && access(path, F_OK) == 0 && version > 0;
        MPI_Bcast(&is_there, 1, MPI_INT, 0, now);
        ok = work(now);
        usleep(1000);
    }
    MPI_Comm_size(now, &size);
    return ok;
}

static int grow(void)
{
    int version = -1;
    MPI_Comm now;
    MPIX_World_version(&version);
    int ok = version == 1 || *MPIX_Resized_world() == MPI_COMM_NULL;
    if (version == 0 && MPIX_World_resize(MPI_COMM_WORLD, size + 1) != MPI_SUCCESS) {
        return 0;
    }
    MPIX_Comm_world_at(1, &now);
    MPI_Comm_size(now, &size);
    ok &= *MPIX_Resized_world() == now && work(*MPIX_Resized_world());
    *MPIX_Resized_world() = MPI_COMM_NULL; // until the next resize
    return ok && size == 3 && *MPIX_Resized_world() == MPI_COMM_NULL;
}

// Every rank is cloned; each half works by itself, then both together.
static int clone(void)
{
    int made = MPI_Fork(size), n = -1;
    MPI_Comm now, half = made > 0 ? MPIX_Comm_parents() : MPIX_Comm_children();
    MPI_Comm other = made > 0 ? MPIX_Comm_children() : MPIX_Comm_parents();
    MPI_Comm_size(half, &n);
    MPIX_Comm_world_at(1, &now);
    int ok = made >= 0 && n == size && other == MPI_COMM_NULL && work(half);
    MPI_Comm_rank(now, &rank);
    MPI_Comm_size(now, &size);
    return ok && size == 2 * n && work(now);
}

static int next_step, n_pieces_got;

static int step_size(void *arg, MPI_Count *bytes)
{
    *bytes = sizeof *(int *)arg;
    return MPI_SUCCESS;
}

static int step_pack(void *arg, void *buf, MPI_Count bytes)
{
    memcpy(buf, arg, (size_t)bytes);
    return MPI_SUCCESS;
}

static int step_unpack(void *arg, int piece, int n_pieces, const void *buf, MPI_Count bytes)
{
    memcpy(arg, buf, (size_t)bytes);
    n_pieces_got += piece < n_pieces;
    return MPI_SUCCESS;
}

// Ten steps; after the fifth the state is saved, and the job ends.
static int save_state(void)
{
    int n_pieces = -1, is_restarted = -1, n_got = -1, ok = 1;
    MPIX_Checkpoint_register("step", step_size, step_pack, step_unpack, &next_step);
    MPIX_Checkpoint_restore(MPI_COMM_WORLD, &n_pieces);
    MPI_Allreduce(&n_pieces_got, &n_got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(&next_step, 1, MPI_INT, 0, MPI_COMM_WORLD);
    ok &= n_got == n_pieces && next_step == (n_pieces > 0 ? 5 : 0);
    while (ok && next_step < 10) {
        ok &= work(MPI_COMM_WORLD);
        if (++next_step == 5) {
            ok &= MPIX_Checkpoint(MPI_COMM_WORLD, &is_restarted) == MPI_SUCCESS;
            break;
        }
    }
    return ok;
}

// Records of all members by turns, written together and read alone, and lines of a log.
static int files(MPI_Comm comm)
{
    enum { RECORD = 40, N_RECORD = 500, BYTES = RECORD * N_RECORD };
    char name[64], out[BYTES], in[BYTES] = "";
    MPI_Datatype record, view;
    MPI_Offset bytes = 0;
    MPI_File f;
    int r, n, id = (int)getpid(), ok = 1;
    MPI_Comm_rank(comm, &r);
    MPI_Comm_size(comm, &n);
    MPI_Bcast(&id, 1, MPI_INT, 0, comm);
    snprintf(name, sizeof name, "/tmp/foreign_job.%d", id);
    for (int i = 0; i < BYTES; i++) {
        out[i] = (char)(r * 31 + i % 127);
    }
    MPI_Type_contiguous(RECORD, MPI_BYTE, &record);
    MPI_Type_create_resized(record, 0, (MPI_Aint)RECORD * n, &view);
    MPI_Type_commit(&view);
    ok &= MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                        MPI_INFO_NULL, &f) == MPI_SUCCESS;
    ok &= MPI_File_set_view(f, (MPI_Offset)RECORD * r, MPI_BYTE, view, "native", MPI_INFO_NULL) ==
          MPI_SUCCESS;
    ok &= MPI_File_write_at_all(f, 0, out, BYTES, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    ok &= MPI_File_read_at(f, 0, in, BYTES, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    ok &= memcmp(in, out, BYTES) == 0;
    ok &= MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS;
    ok &= MPI_File_set_size(f, 0) == MPI_SUCCESS;
    for (int i = 0; i < N_RECORD; i++) {
        ok &= MPI_File_write_shared(f, out, RECORD, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    }
    MPI_Barrier(comm);
    ok &= MPI_File_get_size(f, &bytes) == MPI_SUCCESS && bytes == (MPI_Offset)BYTES * n;
    ok &= MPI_File_close(&f) == MPI_SUCCESS && f == MPI_FILE_NULL;
    MPI_Type_free(&view);
    MPI_Type_free(&record);
    return ok;
}

// One of the two ranks that a process of a job with --endpoints=2 has.
static void *endpoint(void *index)
{
    int n = 0, *result = malloc(sizeof *result);
    MPI_Comm dup;
    MPI_Comm_endpoint_attach(COMM_ENDPOINTS, index != NULL);
    MPI_Comm_size(COMM_ENDPOINTS, &n);
    MPI_Comm_dup(COMM_ENDPOINTS, &dup);
    *result = n == 2 * size && work(COMM_ENDPOINTS) && work(dup) && files(dup);
    MPI_Comm_free(&dup);
    MPI_Comm_detach(COMM_ENDPOINTS);
    return result;
}

enum { N_ENDPOINT = 20 };

// A message around through the handles of all processes, by one thread.
static int many_handles(void)
{
    MPI_Comm comms[N_ENDPOINT];
    MPI_Request requests[2 * N_ENDPOINT];
    MPI_Status statuses[2 * N_ENDPOINT];
    int ok = 1, sent[N_ENDPOINT], got[N_ENDPOINT], n = size * N_ENDPOINT;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    ok &= MPI_Comm_create_endpoints(MPI_COMM_WORLD, -1, MPI_INFO_NULL, comms) != MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_create_endpoints(MPI_COMM_WORLD, N_ENDPOINT, MPI_INFO_NULL, comms);
    for (int i = 0; i < N_ENDPOINT; i++) {
        MPI_Comm_rank(comms[i], &sent[i]);
        ok &= sent[i] == rank * N_ENDPOINT + i;
        MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, 5, comms[i], &requests[2 * i]);
        MPI_Isend(&sent[i], 1, MPI_INT, (sent[i] + 1) % n, 5, comms[i], &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * N_ENDPOINT, requests, statuses);
    for (int i = 0; i < N_ENDPOINT; i++) {
        int from = (sent[i] + n - 1) % n;
        ok &= got[i] == from && statuses[2 * i].MPI_SOURCE == from;
        MPI_Comm_free(&comms[i]);
        ok &= comms[i] == MPI_COMM_NULL;
    }
    return ok;
}

static int endpoints(void)
{
    pthread_t thread;
    void *other = NULL;
    pthread_create(&thread, NULL, endpoint, &thread);
    int *mine = endpoint(NULL);
    pthread_join(thread, &other);
    int ok = *mine && *(int *)other && many_handles();
    free(mine);
    free(other);
    return ok;
}

// Rank 0 says in which order the messages of the others come.
static int any_order(void)
{
    MPI_Status status;
    for (int i = 0, x; i < 4; i++) {
        for (int from = 1; rank == 0 && from < size; from++) {
            MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            printf("%d ", status.MPI_SOURCE);
        }
        if (rank != 0) {
            MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        }
    }
    return 1;
}

// A receive that is polled, from a rank that may never begin.
static int poll_other(void)
{
    int x = -1, is_there = 0;
    MPI_Request request;
    MPI_Irecv(&x, 1, MPI_INT, rank ^ 1, 6, MPI_COMM_WORLD, &request);
    MPI_Send(&rank, 1, MPI_INT, rank ^ 1, 6, MPI_COMM_WORLD);
    while (!is_there) {
        MPI_Test(&request, &is_there, MPI_STATUS_IGNORE);
    }
    return x == (rank ^ 1);
}

// A mistake that --check finds.
static int mistake(void)
{
    float x = 0;
    int y = 0;
    MPI_Request request;
    MPI_Irecv(&y, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &request); // the mistake
    MPI_Send(&x, 1, MPI_FLOAT, (rank + 1) % size, 3, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return 1;
}

// Rank 1 is lost; the others go on without it.
static int lose_one(void)
{
    MPI_Comm rest;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 1) {
        raise(SIGKILL);
    }
    int code = MPI_Barrier(MPI_COMM_WORLD);
    MPIX_Comm_shrink(MPI_COMM_WORLD, &rest);
    MPI_Comm_size(rest, &size);
    int ok = code != MPI_SUCCESS && size == 3 && work(rest);
    MPI_Comm_free(&rest);
    return ok;
}

// Two processes of another program, which may be one of another MPI.
static int start_others(char *program)
{
    MPI_Comm others, all;
    int codes[2] = { -1, -1 };
    MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, codes);
    MPI_Intercomm_merge(others, 0, &all);
    int ok = work(all) && (rank != 0 || (codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS));
    MPI_Comm_size(all, &size);
    MPI_Comm_disconnect(&others);
    MPI_Comm_disconnect(&all);
    return ok;
}

static int be_started(MPI_Comm parent)
{
    MPI_Comm all;
    MPI_Intercomm_merge(parent, 1, &all);
    int ok = work(all);
    MPI_Comm_disconnect(&parent);
    MPI_Comm_disconnect(&all);
    MPI_Finalize();
    return !ok;
}

int main(int argc, char **argv)
{
    int ok = 1, all = 0;
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        return be_started(parent);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(argv[1], "hang") == 0 && rank == 0) {
        MPI_Recv(&ok, 1, MPI_INT, 1, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // the hang
    } else if (strcmp(argv[1], "wait") == 0) {
        ok = wait_for(argv[2]);
    } else if (strcmp(argv[1], "follow") == 0) {
        ok = follow(argv[2]);
    } else if (strcmp(argv[1], "clone") == 0) {
        ok = clone();
    } else if (strcmp(argv[1], "state") == 0) {
        ok = save_state();
    } else if (strcmp(argv[1], "grow") == 0) {
        ok = grow();
    } else if (strcmp(argv[1], "endpoints") == 0) {
        ok = endpoints();
    } else if (strcmp(argv[1], "order") == 0) {
        ok = any_order();
    } else if (strcmp(argv[1], "poll") == 0) {
        ok = poll_other();
    } else if (strcmp(argv[1], "mistake") == 0) {
        ok = mistake();
    } else if (strcmp(argv[1], "lose") == 0) {
        ok = lose_one();
    } else if (strcmp(argv[1], "start") == 0) {
        ok = start_others(argv[2]);
    } else {
        ok = work(MPI_COMM_WORLD);
    }
    int is_changed = strcmp(argv[1], "grow") == 0 || strcmp(argv[1], "lose") == 0 ||
                     strcmp(argv[1], "follow") == 0 || strcmp(argv[1], "clone") == 0;
    if (!is_changed) {
        MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        ok = all;
    }
    if (rank == 0) {
        printf("%s with %d\n", ok ? "right" : "wrong", size);
        fflush(stdout);
    }
    MPI_Finalize();
    return !ok;
}
