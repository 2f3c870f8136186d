// SPDX-License-Identifier: BSD-3-Clause
// One mistake for each kind that mpiexec --check finds; the argument names it. "twins" runs all of
// them without their mistakes.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int rank, size, numbers[4096], others[4096];
static double reals[64];
static MPI_Comm world;
static const char *what;
static int is_right;        // the same without the mistake
static volatile int n_done; // counted behind calls, so that none of them is a jump

static int is(const char *name)
{
    return strcmp(what, name) == 0;
}

static void type(void)
{
    if (rank == 0) {
        MPI_Send(numbers, 4, MPI_INT, 1, 5, world); // there: type
    } else if (rank == 1) {
        MPI_Datatype t = is_right ? MPI_INT : MPI_FLOAT;
        MPI_Recv(reals, 4, t, 0, 5, world, MPI_STATUS_IGNORE); // here: type
    }
    n_done++;
}

// A struct of int and double received as two ints and a float, by requests completed the wrong way
// around.
static void type_struct(void)
{
    MPI_Datatype pair;
    int lengths[2] = { 1, 1 };
    MPI_Aint places[2] = { 0, 8 };
    MPI_Datatype types[2] = { MPI_INT, MPI_DOUBLE };
    MPI_Request requests[2];
    MPI_Type_create_struct(2, lengths, places, types, &pair);
    MPI_Type_commit(&pair);
    if (rank == 0) {
        MPI_Send(numbers, 3, MPI_INT, 1, 7, world);
        MPI_Send(reals, 1, pair, 1, 7, world); // there: type_struct
    } else if (rank == 1) {
        MPI_Irecv(numbers, 3, MPI_INT, MPI_ANY_SOURCE, 7, world, &requests[0]);
        int n = is_right ? 2 : 6;
        MPI_Datatype t = is_right ? pair : MPI_INT;
        MPI_Irecv(numbers + 8, n, t, 0, 7, world, &requests[1]); // here: type_struct
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    MPI_Type_free(&pair);
    n_done++;
}

static void changed(void)
{
    MPI_Request request;
    if (rank == 0) {
        MPI_Issend(numbers, 4, MPI_INT, 1, 0, world, &request); // here: changed
        numbers[is_right ? 5 : 1] = 7;
        MPI_Barrier(world);
        MPI_Wait(&request, MPI_STATUS_IGNORE); // there: changed
    } else {
        MPI_Barrier(world);
        if (rank == 1) {
            MPI_Recv(numbers, 4, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
        }
    }
    n_done++;
}

static void freed(void)
{
    MPI_Request request;
    if (rank == 0) {
        int *p = calloc(64, sizeof *p);
        MPI_Irecv(p, 64, MPI_INT, 1, 0, world, &request); // there: freed
        is_right ? (void)0 : free(p);                     // here: freed
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        is_right ? free(p) : (void)0;
    }
    n_done++;
}

// The message is copied when the call returns: who unmaps its buffer finds nothing wrong.
static void unmapped(void)
{
    enum { N = 8192 };
    static char room[N + MPI_BSEND_OVERHEAD];
    MPI_Request request;
    void *gone;
    int n;
    if (rank == 0) {
        void *p = mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MPI_Buffer_attach(room, sizeof room);
        MPI_Ibsend(p, N, MPI_CHAR, 1, 0, world, &request); // there: unmapped
        n_done += is_right ? 0 : munmap(p, N);             // here: unmapped
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        n_done += is_right ? munmap(p, N) : 0;
        MPI_Buffer_detach(&gone, &n);
    } else if (rank == 1) {
        MPI_Recv(numbers, N, MPI_CHAR, 0, 0, world, MPI_STATUS_IGNORE);
    }
    n_done++;
}

// Rank 0 uses the buffer of a receive whose message comes later; the data must arrive all the same.
static void early(void)
{
    MPI_Request request;
    int n = is("early-small") ? 4 : 4096, mine[4096];
    for (int i = 0; i < 4096; i++) {
        mine[i] = i + 1;
    }
    if (rank == 0 && is("early-read")) {
        MPI_Irecv(numbers, n, MPI_INT, 1, 0, world, &request); // there: early-read
        n_done += is_right ? 0 : numbers[2048];                // here: early-read
        MPI_Barrier(world);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        n_done += numbers[2048];
    } else if (rank == 0 && is("early-write")) {
        MPI_Irecv(numbers, n, MPI_INT, 1, 0, world, &request);   // there: early-write
        memcpy((is_right ? others : numbers) + 1500, mine, 100); // here: early-write
        MPI_Barrier(world);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 0) {
        MPI_Irecv(numbers, n, MPI_INT, 1, 0, world, &request); // here: early-small
        (is_right ? others : numbers)[1] = 7;
        MPI_Barrier(world);
        MPI_Wait(&request, MPI_STATUS_IGNORE); // there: early-small
        n_done += 2;                           // the calls above stay apart
    } else {
        MPI_Barrier(world);
        if (rank == 1) {
            MPI_Send(mine, n, MPI_INT, 0, 0, world);
        }
    }
    if (rank == 0 && memcmp(numbers, mine, (size_t)n * sizeof *mine) != 0) {
        fprintf(stderr, "the data is not what was sent\n");
    }
    n_done++;
}

static void overlap(void)
{
    MPI_Request r[2];
    int *at = numbers + (is_right ? 8 : 4);
    MPI_Irecv(numbers, 8, MPI_INT, rank, 1, world, &r[0]); // there: receive-overlap
    if (is("receive-overlap")) {
        MPI_Irecv(at, 8, MPI_INT, rank, 2, world, &r[1]); // here: receive-overlap
    } else {
        MPI_Isend(at, 2, MPI_INT, MPI_PROC_NULL, 2, world, &r[1]); // here: send-overlap
    }
    MPI_Cancel(&r[0]);
    if (is("receive-overlap")) {
        MPI_Cancel(&r[1]);
    }
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    n_done++;
}

static void receive_into_send(void)
{
    MPI_Request r[2];
    if (rank == 0) {
        MPI_Issend(numbers, 4, MPI_INT, 1, 1, world, &r[0]); // there: receive-into-send
        int *to = is_right ? others : numbers;
        MPI_Irecv(to, 4, MPI_INT, 1, 2, world, &r[1]); // here: receive-into-send
        MPI_Cancel(&r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(numbers, 4, MPI_INT, 0, 1, world, MPI_STATUS_IGNORE);
    }
    n_done++;
}

static void sendrecv_overlap(void)
{
    int *to = numbers + (is_right ? 8 : 4), n = 8;
    MPI_Datatype t = MPI_INT;
    MPI_Status s;
    MPI_Sendrecv(numbers, n, t, rank, 0, to, n, t, rank, 0, world, &s); // here: sendrecv-overlap
    n_done++;
}

static void self(void)
{
    MPI_Request r;
    is_right ? MPI_Irecv(others, 1, MPI_INT, rank, 0, world, &r) : 0;
    MPI_Send(numbers, 1, MPI_INT, rank, 0, world); // here: self
    is_right ? MPI_Wait(&r, MPI_STATUS_IGNORE)
             : MPI_Recv(numbers, 1, MPI_INT, rank, 0, world, MPI_STATUS_IGNORE);
    n_done++;
}

static void unsafe(void)
{
    if (is_right && rank == 0) {
        MPI_Recv(numbers, 1, MPI_INT, 1, 0, world, MPI_STATUS_IGNORE);
        MPI_Send(numbers, 1, MPI_INT, 1, 0, world);
    } else if (rank < 2) {
        MPI_Send(numbers, 1, MPI_INT, 1 - rank, 0, world);                    // there: unsafe
        MPI_Recv(numbers, 1, MPI_INT, 1 - rank, 0, world, MPI_STATUS_IGNORE); // here: unsafe
    }
    n_done++;
}

static void unsafe_ring(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    if (is_right && rank == 0) {
        MPI_Recv(numbers, 1, MPI_INT, before, 0, world, MPI_STATUS_IGNORE);
        MPI_Send(numbers, 1, MPI_INT, next, 0, world);
        return;
    }
    MPI_Send(numbers, 1, MPI_INT, next, 0, world);                      // there: unsafe-ring
    MPI_Recv(numbers, 1, MPI_INT, before, 0, world, MPI_STATUS_IGNORE); // here: unsafe-ring
    n_done++;
}

// Told while the program runs, which does not come to its end.
static void unsafe_early(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size, n;
    MPI_Send(numbers, 1, MPI_INT, next, 0, world);                      // there: unsafe-early
    MPI_Recv(numbers, 1, MPI_INT, before, 0, world, MPI_STATUS_IGNORE); // here: unsafe-early
    MPI_Barrier(world);
    for (int i = 0; i < 100; i++) {
        MPI_Iprobe(before, 7, world, &n, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(world);
    MPI_Abort(world, 3);
}

static void ready(void)
{
    if (is_right && rank < 2) {
        MPI_Request r;
        rank == 1 ? MPI_Irecv(others, 1, MPI_INT, 0, 3, world, &r) : 0;
        MPI_Sendrecv(numbers, 1, MPI_INT, 1 - rank, 5, numbers + 1, 1, MPI_INT, 1 - rank, 5, world,
                     MPI_STATUS_IGNORE);
        rank == 1 ? MPI_Wait(&r, MPI_STATUS_IGNORE) : MPI_Rsend(numbers, 1, MPI_INT, 1, 3, world);
    } else if (rank == 0) {
        MPI_Rsend(numbers, 1, MPI_INT, 1, 3, world); // there: ready
        MPI_Send(numbers, 1, MPI_INT, 1, 4, world);
    } else if (rank == 1) {
        MPI_Recv(numbers, 1, MPI_INT, 0, 4, world, MPI_STATUS_IGNORE);
        MPI_Recv(numbers, 1, MPI_INT, 0, 3, world, MPI_STATUS_IGNORE); // here: ready
    }
    n_done++;
}

static void unreceived(void)
{
    if (rank == 0) {
        MPI_Send(numbers, 1, MPI_INT, 1, 3, world); // there: unreceived
        MPI_Send(numbers, 1, MPI_INT, 1, 4, world);
    } else if (rank == 1) {
        MPI_Recv(numbers, 1, MPI_INT, 0, 4, world, MPI_STATUS_IGNORE);
        is_right ? MPI_Recv(numbers, 1, MPI_INT, 0, 3, world, MPI_STATUS_IGNORE) : 0;
    }
    n_done++;
}

static void timing(void)
{
    if (rank > 0) {
        MPI_Send(numbers, 1, MPI_INT, 0, 3, world); // there: timing
    }
    MPI_Barrier(world);
    for (int i = 1; rank == 0 && i < size; i++) {
        int from = is_right ? i : MPI_ANY_SOURCE;
        MPI_Recv(numbers, 1, MPI_INT, from, 3, world, MPI_STATUS_IGNORE); // here: timing
    }
    n_done++;
}

static void collective(void)
{
    int is_other = rank == 0 || is_right;
    if (is("collective") && is_other) {
        MPI_Scan(MPI_IN_PLACE, numbers, 1, MPI_INT, MPI_SUM, world); // there: collective
    } else if (is("collective")) {
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, numbers, 1, MPI_INT, world); // here: collective
    } else if (is("root")) {
        MPI_Bcast(numbers, 1, MPI_INT, is_other ? 0 : 1, world); // here: root
    } else if (is("operation")) {
        MPI_Op op = is_other ? MPI_SUM : MPI_MAX;
        MPI_Allreduce(MPI_IN_PLACE, numbers, 1, MPI_INT, op, world); // here: operation
    } else if (is("amount")) {
        int n = is_other ? 1 : 2;
        MPI_Exscan(MPI_IN_PLACE, numbers, n, MPI_INT, MPI_SUM, world); // here: amount
    } else {
        MPI_Datatype t = is_other ? MPI_INT : MPI_FLOAT;
        MPI_Bcast(numbers, 1, t, 0, world); // here: collective-type
    }
    n_done++;
}

// A row of ranks in which each gives to the next: the first receives nothing, the last sends none.
static void alias_in_row(int *out)
{
    int before = rank - 1, next = rank + 1;
    MPI_Comm row;
    MPI_Dist_graph_create_adjacent(world, rank > 0, &before, MPI_UNWEIGHTED, next < size, &next,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &row);
    int apart = rank == 0 || next == size ? 1 : 4;
    MPI_Neighbor_allgather(out, 4, MPI_INT, out + apart, 4, MPI_INT, row);
    MPI_Comm_free(&row);
}

static void alias(void)
{
    int out[8] = { 0 };
    alias_in_row(out);
    MPI_Allreduce(out, out + (is_right ? 4 : 2), 4, MPI_INT, MPI_SUM, world); // here: alias
    n_done++;
}

static void unfinished(void)
{
    MPI_Request request;
    MPI_Irecv(numbers, 1, MPI_INT, rank, 99, world, &request); // here: unfinished
    if (is_right) {
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    n_done++;
}

static void request_leak(void)
{
    MPI_Request request;
    MPI_Recv_init(numbers, 1, MPI_INT, rank, 99, world, &request); // here: request-leak
    is_right ? MPI_Request_free(&request) : 0;
    n_done++;
}

static void add(void *in, void *inout, int *n, MPI_Datatype *t)
{
    (void)in;
    (void)inout;
    (void)n;
    (void)t;
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

static void leaks(void)
{
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype datatype;
    MPI_Op op;
    MPI_Info info;
    MPI_Errhandler handler;
    MPI_Win win;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);                         // here: comm-leak
    MPI_Comm_group(world, &group);                              // here: group-leak
    MPI_Type_contiguous(3, MPI_INT, &datatype);                 // here: datatype-leak
    MPI_Op_create(add, 1, &op);                                 // here: op-leak
    MPI_Info_create(&info);                                     // here: info-leak
    MPI_Comm_create_errhandler(on_error, &handler);             // here: errhandler-leak
    MPI_Win_create(numbers, 64, 1, MPI_INFO_NULL, world, &win); // here: window-leak
    if (is_right) {
        MPI_Comm_free(&comm);
        MPI_Group_free(&group);
        MPI_Type_free(&datatype);
        MPI_Op_free(&op);
        MPI_Info_free(&info);
        MPI_Errhandler_free(&handler);
        MPI_Win_free(&win);
    }
    n_done++;
}

static void file_leak(void)
{
    MPI_File file;
    char name[256];
    snprintf(name, sizeof name, "%s/check_probe.%d", getenv("TMPDIR"), rank);
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    MPI_Comm alone = MPI_COMM_SELF;
    int err = MPI_File_open(alone, name, mode, MPI_INFO_NULL, &file); // here: file-leak
    if (err != MPI_SUCCESS) {
        fprintf(stderr, "no file %s\n", name);
    } else if (is_right) {
        MPI_File_close(&file);
    }
    n_done++;
}

static MPI_File own_file(void)
{
    MPI_File file;
    char name[256];
    snprintf(name, sizeof name, "%s/check_probe.%d", getenv("TMPDIR"), rank);
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    if (MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
        fprintf(stderr, "no file %s\n", name);
    }
    return file;
}

// Buffers of accesses to files, which are under way until their request is complete.
static void file_changed(void)
{
    MPI_File file = own_file();
    MPI_Request request;
    MPI_File_iwrite_at(file, 0, numbers, 4, MPI_INT, &request); // here: file-changed
    numbers[is_right ? 5 : 1]++;
    MPI_Wait(&request, MPI_STATUS_IGNORE); // there: file-changed
    MPI_File_close(&file);
    n_done++;
}

static void file_freed(void)
{
    MPI_File file = own_file();
    MPI_Request request;
    int *p = calloc(64, sizeof *p);
    MPI_File_iread_at(file, 0, p, 64, MPI_INT, &request); // there: file-freed
    is_right ? (void)0 : free(p);                         // here: file-freed
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    is_right ? free(p) : (void)0;
    MPI_File_close(&file);
    n_done++;
}

static void file_overlap(void)
{
    MPI_File file = own_file();
    MPI_Request request;
    MPI_File_iread_at(file, 0, numbers, 64, MPI_INT, &request); // there: file-overlap
    int *into = numbers + (is_right ? 64 : 63);
    MPI_File_read_at(file, 0, into, 4, MPI_INT, MPI_STATUS_IGNORE); // here: file-overlap
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    n_done++;
}

static void file_unfinished(void)
{
    MPI_File file = own_file();
    MPI_Request request;
    MPI_File_iwrite_at(file, 0, numbers, 4, MPI_INT, &request); // here: file-unfinished
    if (is_right) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
    n_done++;
}

static void split_changed(void)
{
    MPI_File file = own_file();
    MPI_File_write_at_all_begin(file, 0, numbers, 4, MPI_INT); // here: split-changed
    numbers[is_right ? 5 : 1]++;
    MPI_File_write_at_all_end(file, numbers, MPI_STATUS_IGNORE); // there: split-changed
    MPI_File_close(&file);
    n_done++;
}

static void split_overlap(void)
{
    MPI_File file = own_file();
    MPI_File_read_ordered_begin(file, numbers, 64, MPI_INT); // there: split-overlap
    int *into = numbers + (is_right ? 64 : 63), nobody = MPI_PROC_NULL;
    MPI_Recv(into, 1, MPI_INT, nobody, 0, world, MPI_STATUS_IGNORE); // here: split-overlap
    MPI_File_read_ordered_end(file, numbers, MPI_STATUS_IGNORE);
    MPI_File_read_all_begin(file, numbers, 64, MPI_INT);
    MPI_File_read_all_end(file, numbers, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    n_done++;
}

static void split_unfinished(void)
{
    MPI_File file = own_file();
    MPI_File_write_all_begin(file, numbers, 4, MPI_INT); // here: split-unfinished
    if (is_right) {
        MPI_File_write_all_end(file, numbers, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
    n_done++;
}

static void collective_changed(void)
{
    MPI_Request request[2];
    MPI_Iallreduce(numbers, others, 4, MPI_INT, MPI_SUM, world, request); // here: coll-changed
    MPI_Ibcast(numbers + 100, 4, MPI_INT, 0, world, &request[1]);
    numbers[is_right ? 5 : 1]++;
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE); // there: coll-changed
    n_done++;
}

// Notes of collectives wait for their receivers until the very end.
static void notes(void)
{
    static MPI_Request request[256];
    for (int i = 0; i < 256; i++) {
        MPI_Iallreduce(numbers + i, others + i, 1, MPI_INT, MPI_SUM, world, &request[i]);
    }
    MPI_Waitall(256, request, MPI_STATUSES_IGNORE);
    n_done++;
}

#if MPI_VERSION >= 4
// A partition may be written until it is marked; twice, because the request is used again.
static void parts_changed(void)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request r[2];
    MPI_Info none = MPI_INFO_NULL;
    MPI_Psend_init(numbers, 4, 16, MPI_INT, to, 0, world, none, &r[0]); // here: parts-changed
    MPI_Precv_init(others, 4, 16, MPI_INT, from, 0, world, none, &r[1]);
    for (int round = 0; round < 2; round++) {
        MPI_Startall(2, r);
        for (int i = 0; i < 4; i++) {
            numbers[16 * i] = round;
            i < 3 ? MPI_Pready(i, r[0]) : MPI_Pready_range(3, 3, r[0]);
        }
        numbers[is_right ? 64 : 33] += round;
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE); // there: parts-changed
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    n_done++;
}

// The sides may cut the same numbers in other ways. Requests of one tag match in the order in which
// they are made, whichever is used first, and never with other messages.
static void parts_type(void)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, n = is_right ? 16 : 32;
    char letters[12] = "partitions";
    float sent = 1, got = 0;
    MPI_Request r[6];
    MPI_Datatype two;
    MPI_Info none = MPI_INFO_NULL;
    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_commit(&two);
    MPI_Datatype type = is_right ? two : MPI_FLOAT;
    MPI_Psend_init(numbers, 4, 16, MPI_INT, to, 5, world, none, &r[0]); // there: parts-type
    MPI_Psend_init(letters, 3, 2, MPI_CHAR, to, 5, world, none, &r[2]);
    MPI_Precv_init(others, 2, n, type, from, 5, world, none, &r[1]); // here: parts-type
    MPI_Precv_init(letters + 6, 1, 6, MPI_CHAR, from, 5, world, none, &r[3]);
    MPI_Psend_init(numbers, 1, 1, MPI_INT, MPI_PROC_NULL, 5, world, none, &r[4]);
    MPI_Precv_init(numbers, 1, 1, MPI_FLOAT, MPI_PROC_NULL, 5, world, none, &r[5]);
    MPI_Type_free(&two);
    for (int round = 0; round < 2; round++) {
        MPI_Startall(4, r + 2);
        MPI_Pready_range(0, 2, r[2]);
        MPI_Pready(0, r[4]);
        MPI_Waitall(4, r + 2, MPI_STATUSES_IGNORE);
        MPI_Sendrecv(&sent, 1, MPI_FLOAT, to, 5, &got, 1, MPI_FLOAT, from, 5, world,
                     MPI_STATUS_IGNORE);
        MPI_Startall(2, r);
        MPI_Pready_range(0, 3, r[0]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 6; i++) {
        MPI_Request_free(&r[i]);
    }
    n_done++;
}

// From endpoint to endpoint, of one process and of several.
static void parts_endpoints(void)
{
#ifdef MPIX_COMM_ENDPOINTS
    MPI_Comm ep[2];
    MPI_Request r[4];
    int me, n;
    MPI_Info none = MPI_INFO_NULL;
    MPIX_Comm_create_endpoints(world, 2, none, ep);
    for (int i = 0; i < 2; i++) {
        MPI_Comm e = ep[i];
        MPI_Comm_rank(e, &me);
        MPI_Comm_size(e, &n);
        MPI_Datatype t = is_right || me > 0 ? MPI_INT : MPI_FLOAT;
        int to = (me + 1) % n, from = (me + n - 1) % n, *in = others + 64 * i;
        MPI_Psend_init(numbers, 4, 16, MPI_INT, to, 5, e, none, r + i); // there: parts-endpoints
        MPI_Precv_init(in, 2, 32, t, from, 5, e, none, r + 2 + i);      // here: parts-endpoints
    }
    MPI_Startall(4, r);
    MPI_Pready_range(0, 3, r[0]);
    MPI_Pready_range(0, 3, r[1]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++) {
        MPI_Request_free(&r[i]);
    }
    MPI_Comm_free(&ep[0]);
    MPI_Comm_free(&ep[1]);
#endif
    n_done++;
}

static void parts_leak(void)
{
    MPI_Request r;
    MPI_Psend_init(numbers, 4, 16, MPI_INT, rank, 0, world, MPI_INFO_NULL, &r); // here: parts-leak
    if (is_right) {
        MPI_Request_free(&r);
    }
    n_done++;
}
#else // of other MPIs
static void parts_changed(void)
{
}
static void parts_type(void)
{
}
static void parts_endpoints(void)
{
}
static void parts_leak(void)
{
}
#endif

static void race(void)
{
    MPI_Win win;
    int value = rank;
    MPI_Win_create(numbers, sizeof numbers, 4, MPI_INFO_NULL, world, &win);
    MPI_Win_fence(0, win);
    int at = is_right ? rank : 3;
    MPI_Put(&value, 1, MPI_INT, 0, at, 1, MPI_INT, win); // here: race
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    n_done++;
}

static void own_race(void)
{
    MPI_Win win;
    int value = rank, got;
    MPI_Win_create(numbers, sizeof numbers, 4, MPI_INFO_NULL, world, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, win); // here: own-race
    is_right ? MPI_Win_flush(0, win) : 0;
    MPI_Get(&got, 1, MPI_INT, 0, 3, 1, MPI_INT, win); // there: own-race
    MPI_Win_unlock(0, win);
    MPI_Win_free(&win);
    n_done++;
}

// All hold a shared lock, and none is done with it before all have written.
static void lock_race(void)
{
    MPI_Win win;
    int values[2] = { rank, rank };
    MPI_Win_create(numbers, sizeof numbers, 4, MPI_INFO_NULL, world, &win);
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        MPI_Put(values, 1, MPI_INT, 2, 3, 1, MPI_INT, win); // here: lock-race
    } else if (rank == 1) {
        int at = is_right ? 4 : 2;
        MPI_Put(values, 2, MPI_INT, 2, at, 2, MPI_INT, win); // there: lock-race
    }
    MPI_Barrier(world);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    n_done++;
}

static void *call_mpi(void *arg)
{
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, world, &flag, MPI_STATUS_IGNORE); // here: thread
    return arg;
}

static void thread(void)
{
    pthread_t t;
    if (is_right) {
        call_mpi(NULL);
        return;
    }
    pthread_create(&t, NULL, call_mpi, NULL);
    pthread_join(t, NULL);
    n_done++;
}

static volatile int is_inside, may_go;

static int wait_inside(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    is_inside = 1;
    while (!may_go) {
        usleep(1000);
    }
    *flag = 0;
    return MPI_SUCCESS;
}

static void *dup_self(void *arg)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_free(&comm);
    return arg;
}

static void threads_at_once(void)
{
    pthread_t t;
    int key, flag;
    MPI_Comm_create_keyval(wait_inside, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    pthread_create(&t, NULL, dup_self, NULL);
    while (!is_inside) {
        usleep(1000);
    }
    may_go = is_right;
    is_right ? pthread_join(t, NULL) : 0;
    MPI_Comm_test_inter(world, &flag); // here: threads-at-once
    may_go = 1;
    is_right ? 0 : pthread_join(t, NULL);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    MPI_Comm_free_keyval(&key);
}

static void expect(int is_so, const char *name)
{
    if (!is_so) {
        fprintf(stderr, "%s: wrong data\n", name);
        MPI_Abort(world, 3);
    }
}

// Receives that are completed in each of the ways that there are; of some the message is shorter.
static void fine_receives(int next, int before)
{
    enum { N = 9000 };
    static int out[N], in[N + 1];
    MPI_Request r[2];
    MPI_Status s;
    int flag = 0, n;
    for (int i = 0; i < N; i++) {
        out[i] = 1000 * rank + i;
    }
    in[N / 2] = -1;
    MPI_Irecv(in, N, MPI_INT, before, 1, world, &r[0]);
    MPI_Send(out, N / 2, MPI_INT, next, 1, world);
    MPI_Wait(&r[0], &s);
    MPI_Get_count(&s, MPI_INT, &n);
    expect(n == N / 2 && in[0] == 1000 * before && in[n - 1] == in[0] + n - 1 && in[n] == -1,
           "MPI_Wait");
    MPI_Irecv(in, N, MPI_INT, before, 2, world, &r[0]);
    MPI_Isend(out, N, MPI_INT, next, 2, world, &r[1]);
    while (!flag) {
        MPI_Request_get_status(r[0], &flag, MPI_STATUS_IGNORE);
    }
    expect(in[N - 1] == 1000 * before + N - 1, "MPI_Request_get_status");
    in[N - 1] = 0; // complete: the program's again
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    expect(in[N - 1] == 0, "MPI_Waitall");
    MPI_Recv_init(in, N, MPI_INT, before, 3, world, &r[0]);
    for (int i = 0; i < 2; i++) {
        in[i] = in[N - 1] = -1;
        MPI_Start(&r[0]);
        MPI_Isend(out, N, MPI_INT, next, 3, world, &r[1]);
        MPI_Waitany(1, r, &n, MPI_STATUS_IGNORE);
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
        expect(in[i] == 1000 * before + i && in[N - 1] == 1000 * before + N - 1, "MPI_Start");
    }
    MPI_Request_free(&r[0]);
    memset(in, 0, sizeof in);
    MPI_Irecv(in, N, MPI_INT, before, 4, world, &r[0]);
    MPI_Request_free(&r[0]);
    MPI_Ssend_init(out, N, MPI_INT, next, 4, world, &r[1]);
    MPI_Start(&r[1]);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    MPI_Request_free(&r[1]);
    MPI_Barrier(world);
    for (flag = 0; in[N - 1] == 0 && flag < 1000000; flag++) {
        MPI_Iprobe(before, 5, world, &n, MPI_STATUS_IGNORE);
    }
    expect(in[0] == 1000 * before && in[N - 1] == 1000 * before + N - 1, "MPI_Request_free");
}

// A number goes around, and a row of ranks hands numbers on: every message has its receive.
static void fine_ring(int next, int before)
{
    int n = 0;
    for (int i = 0; i < 4; i++) {
        if (rank == 0) {
            MPI_Send(&n, 1, MPI_INT, next, i, world);
            MPI_Recv(&n, 1, MPI_INT, before, i, world, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&n, 1, MPI_INT, before, i, world, MPI_STATUS_IGNORE);
            n++;
            MPI_Send(&n, 1, MPI_INT, next, i, world);
        }
    }
    expect(rank != 0 || size == 1 || n == 4 * (size - 1), "a ring");
}

// What was refused or cancelled does not come, and what comes after it is of another type.
static void fine_unsent(int next, int before)
{
    MPI_Request r;
    MPI_Status s;
    int flag = 0, err;
    MPI_Issend(numbers, 4, MPI_INT, next, 6, world, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, &s);
    MPI_Test_cancelled(&s, &flag);
    expect(flag, "MPI_Cancel");
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    err = MPI_Send(NULL, 4, MPI_INT, next, 6, world);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
    expect(err != MPI_SUCCESS, "MPI_Send");
    MPI_Barrier(world);
    MPI_Sendrecv(reals, 4, MPI_DOUBLE, next, 6, reals + 8, 4, MPI_DOUBLE, before, 6, world,
                 MPI_STATUS_IGNORE);
    MPI_Issend(numbers, 4, MPI_INT, next, 6, world, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

// Accesses to one place that locks, flushes or operations keep apart.
static void fine_windows(void)
{
    MPI_Win win;
    int value = rank, got, one = 1, none = 0;
    MPI_Win_create(numbers, sizeof numbers, 4, MPI_INFO_NULL, world, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get(&got, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
    MPI_Win_flush_local(0, win);
    MPI_Put(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    MPI_Barrier(world);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < size; i++) {
        if (rank == i) {
            MPI_Put(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
            MPI_Win_flush(0, win);
        }
        MPI_Barrier(world);
    }
    MPI_Fetch_and_op(&one, &got, MPI_INT, 0, 5, MPI_SUM, win);
    MPI_Compare_and_swap(&value, &none, &got, MPI_INT, 0, 5, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 6, 1, MPI_INT, MPI_SUM, win);
    MPI_Get(&got, 1, MPI_INT, 0, 7, 1, MPI_INT, win);
    MPI_Barrier(world);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

// None of this is a mistake.
static void fine(void)
{
    MPI_Request r[4];
    MPI_Status statuses[4];
    MPI_Datatype column;
    int next = (rank + 1) % size, before = (rank + size - 1) % size, n;
    MPI_Type_vector(4, 1, 4, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Irecv(numbers + 100, 8, MPI_INT, before, 1, world, &r[0]);
    MPI_Irecv(numbers + 200, 1, column, MPI_ANY_SOURCE, 2, world, &r[1]);
    MPI_Isend(numbers, 1, column, next, 1, world, &r[2]);
    MPI_Isend(numbers, 4, MPI_INT, next, 2, world, &r[3]);
    MPI_Waitall(4, r, statuses);
    MPI_Get_count(&statuses[0], MPI_INT, &n);
    MPI_Type_free(&column);
    MPI_Sendrecv_replace(numbers, 4, MPI_INT, next, 3, before, 3, world, MPI_STATUS_IGNORE);
    MPI_Send_init(numbers, 4, MPI_INT, next, 4, world, &r[0]);
    MPI_Recv_init(numbers + 50, 4, MPI_INT, before, 4, world, &r[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, r);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        numbers[0]++;
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    MPI_Ibarrier(world, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Gather(numbers, 1, MPI_INT, numbers + 300, 1, MPI_INT, 0, world);
    MPI_Scatter(numbers + 300, 2, MPI_INT, numbers + 400, 2, MPI_INT, size - 1, world);
    MPI_Send(numbers, 16, MPI_BYTE, MPI_PROC_NULL, 0, world);
    n == 4 ? (void)0 : MPI_Abort(world, 3);
    fine_receives(next, before);
    size > 1 ? fine_unsent(next, before) : (void)0;
    is("fine") ? fine_windows() : (void)0;
    size > 1 ? fine_ring(next, before) : (void)0;
    n_done++;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {
        { "type", type },
        { "type_struct", type_struct },
        { "changed", changed },
        { "freed", freed },
        { "unmapped", unmapped },
        { "early-read", early },
        { "early-write", early },
        { "early-small", early },
        { "receive-overlap", overlap },
        { "send-overlap", overlap },
        { "receive-into-send", receive_into_send },
        { "sendrecv-overlap", sendrecv_overlap },
        { "self", self },
        { "unsafe", unsafe },
        { "unsafe-ring", unsafe_ring },
        { "unsafe-early", unsafe_early },
        { "ready", ready },
        { "unreceived", unreceived },
        { "timing", timing },
        { "collective", collective },
        { "root", collective },
        { "operation", collective },
        { "amount", collective },
        { "collective-type", collective },
        { "alias", alias },
        { "unfinished", unfinished },
        { "request-leak", request_leak },
        { "leaks", leaks },
        { "file-leak", file_leak },
        { "file-changed", file_changed },
        { "file-freed", file_freed },
        { "file-overlap", file_overlap },
        { "file-unfinished", file_unfinished },
        { "split-changed", split_changed },
        { "split-overlap", split_overlap },
        { "split-unfinished", split_unfinished },
        { "coll-changed", collective_changed },
        { "parts-changed", parts_changed },
        { "parts-type", parts_type },
        { "parts-endpoints", parts_endpoints },
        { "parts-leak", parts_leak },
        { "notes", notes },
        { "race", race },
        { "own-race", own_race },
        { "lock-race", lock_race },
        { "thread", thread },
        { "threads-at-once", threads_at_once },
        { "fine", fine },
        { "fine-impi", fine }, // which carries no windows
    };
    what = argc > 1 ? argv[1] : "fine";
    int level;
    is_right = is("twins") || is("twins-threads");
    is("threads-at-once") || is("twins-threads")
        ? MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level)
        : MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    // One thread calls MPI at a time where it has to be the first one.
    int is_all = is_right, has_threads = is("twins-threads");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        int is_twin = is_all && kinds[i].run != fine && kinds[i].run != unsafe_early &&
                      (kinds[i].run == threads_at_once) == has_threads;
        if (is_twin || (!is_all && is(kinds[i].name))) {
            what = kinds[i].name;
            kinds[i].run();
            is_all ? MPI_Barrier(world) : 0;
        }
    }
    MPI_Comm_free(&world);
    MPI_Finalize();
    return 0;
}
