// SPDX-License-Identifier: BSD-3-Clause
// Large messages between processes of random sizes and layouts, checked byte by byte, in buffers of
// every kind, while PLIANT_ONECOPY says how they are copied. With an argument a filter forbids the
// system calls that read memory of other processes: "forbid-all" to all ranks, "forbid-one" to rank
// 1, "forbid-later" to all in the middle of the test.
#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "t.h"
#include "t_filter.h"

enum { ROOM = 6 << 20, ROUNDS = 60, WINDOW = 12 };

static int rank, other;
static unsigned char *out, *in, *image, *stream;
static uint64_t state = 12345; // the same at both ranks

static const long calls[] = { SYS_process_vm_readv, SYS_process_vm_writev };

static uint32_t any(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(state >> 33) % below;
}

static void fill(unsigned char *p, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = (unsigned char)(i * 31 + (i >> 8) * 17 + seed * 101);
    }
}

// A layout of about `want` bytes; *count_out of the type.
static MPI_Datatype any_type(uint32_t want, int *count_out)
{
    MPI_Datatype t;
    int len, n;
    switch (any(6)) {
    case 0: // bytes in a row
        *count_out = (int)want;
        MPI_Type_dup(MPI_BYTE, &t);
        break;
    case 1: // few large blocks
        n = 1 + (int)any(40);
        len = (int)want / n + 1;
        MPI_Type_vector(n, len, len + 1 + (int)any(3000), MPI_BYTE, &t);
        *count_out = 1;
        break;
    case 2: // many small ones
        len = 8 + (int)any(100);
        MPI_Type_vector((int)want / len + 1, len, len + 1 + (int)any(7), MPI_BYTE, &t);
        *count_out = 1;
        break;
    case 3: // two blocks, the later one first, several times
        n = 1 + (int)any(6);
        len = (int)want / (2 * n) + 1;
        MPI_Type_indexed(2, (int[]){ len, len }, (int[]){ len + 64, 0 }, MPI_BYTE, &t);
        *count_out = n;
        break;
    case 4: // a block in a larger array
        len = (int)want;
        MPI_Type_create_subarray(1, (int[]){ len + 3000 }, (int[]){ len },
                                 (int[]){ (int)any(3000) }, MPI_ORDER_C, MPI_BYTE, &t);
        *count_out = 1;
        break;
    default: // ints in a row
        *count_out = (int)want / 4 + 1;
        MPI_Type_dup(MPI_INT, &t);
        break;
    }
    MPI_Type_commit(&t);
    return t;
}

// One message from rank `from`, of a random layout, into another one of as many bytes or more.
static void any_message(int from, int round)
{
    uint32_t want = any(4) == 0 ? 1 + any(70000) : 16000 + any(2000000), how = any(4);
    int n_send, n_recv, size, room, at = 0;
    MPI_Datatype send_type = any_type(want, &n_send);
    MPI_Pack_size(n_send, send_type, MPI_COMM_SELF, &size);
    MPI_Datatype recv_type = any_type((uint32_t)size, &n_recv);
    MPI_Pack_size(n_recv, recv_type, MPI_COMM_SELF, &room);
    bool is_late = any(2) != 0;
    if (rank == from) {
        MPI_Request r;
        fill(out, ROOM, (uint32_t)round);
        if (how == 0) {
            MPI_Ssend(out, n_send, send_type, other, round, MPI_COMM_WORLD);
        } else if (how == 1) {
            MPI_Send(out, n_send, send_type, other, round, MPI_COMM_WORLD);
        } else {
            MPI_Isend(out, n_send, send_type, other, round, MPI_COMM_WORLD, &r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        }
    } else {
        MPI_Status st;
        fill(image, ROOM, (uint32_t)round);
        MPI_Pack(image, n_send, send_type, stream, ROOM, &at, MPI_COMM_SELF);
        memset(in, 0xa5, ROOM);
        memset(image, 0xa5, ROOM);
        if (is_late) {
            MPI_Probe(from, round, MPI_COMM_WORLD, &st);
        }
        MPI_Recv(in, n_recv, recv_type, from, round, MPI_COMM_WORLD, &st);
        MPI_Count got;
        MPI_Get_elements_c(&st, MPI_BYTE, &got);
        T_EQ(got, size);
        // What the layout makes of the same bytes, holes included. The last element may be in part.
        at = 0;
        memset(stream + size, 0xa5, (size_t)(room - size));
        MPI_Unpack(stream, room, &at, image, n_recv, recv_type, MPI_COMM_SELF);
        T_OK(memcmp(in, image, ROOM) == 0);
    }
    MPI_Type_free(&send_type);
    MPI_Type_free(&recv_type);
}

// Many at once in both directions.
static void window(int round)
{
    MPI_Request r[2 * WINDOW];
    size_t n = 20000 + any(400000);
    fill(out, WINDOW * n, (uint32_t)(round * 2 + rank));
    memset(in, 0, WINDOW * n);
    for (size_t i = 0; i < WINDOW; i++) {
        MPI_Irecv(in + i * n, (int)n, MPI_BYTE, other, (int)i, MPI_COMM_WORLD, &r[i]);
    }
    for (size_t i = 0; i < WINDOW; i++) {
        MPI_Isend(out + i * n, (int)n, MPI_BYTE, other, (int)i, MPI_COMM_WORLD, &r[WINDOW + i]);
    }
    MPI_Waitall(2 * WINDOW, r, MPI_STATUSES_IGNORE);
    fill(image, WINDOW * n, (uint32_t)(round * 2 + other));
    T_OK(memcmp(in, image, WINDOW * n) == 0);
}

// Receives that find their messages, on a lane that sends as well: they are read when the program
// waits or tests, also where one is too short.
static void posted_late(bool is_tested)
{
    enum { LONG = 300000, SHORT = 100000 };
    MPI_Request r[4];
    MPI_Status st[4];
    fill(out, 2 * LONG, (uint32_t)(20 + rank));
    memset(in, 0, 2 * LONG);
    for (int i = 0; i < 2; i++) {
        MPI_Isend(out + i * LONG, LONG, MPI_BYTE, other, i, MPI_COMM_WORLD, &r[2 + i]);
    }
    MPI_Sendrecv(NULL, 0, MPI_BYTE, other, 2, NULL, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE); // both offers are here now
    MPI_Irecv(in, LONG, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(in + LONG, SHORT, MPI_BYTE, other, 1, MPI_COMM_WORLD, &r[1]);
    int is_done = 0, code = MPI_SUCCESS;
    while (is_tested && !is_done) {
        code = MPI_Testall(4, r, &is_done, st);
    }
    code = is_tested ? code : MPI_Waitall(4, r, st);
    T_EQ(code, MPI_ERR_IN_STATUS);
    T_EQ(st[0].MPI_ERROR, MPI_SUCCESS);
    T_EQ(st[0].MPI_SOURCE, other);
    int class;
    MPI_Error_class(st[1].MPI_ERROR, &class);
    T_EQ(class, MPI_ERR_TRUNCATE);
    fill(image, 2 * LONG, (uint32_t)(20 + other));
    T_OK(memcmp(in, image, LONG + SHORT) == 0);
    T_EQ(in[LONG + SHORT], 0);
}

// A message that is too long: what fits is there, and the error says so.
static void truncated(void)
{
    MPI_Status st;
    if (rank == 0) {
        fill(out, ROOM, 5);
        MPI_Send(out, 1 << 20, MPI_BYTE, other, 1, MPI_COMM_WORLD);
        return;
    }
    memset(in, 0, ROOM);
    int code = MPI_Recv(in, 300000, MPI_BYTE, other, 1, MPI_COMM_WORLD, &st), class;
    MPI_Error_class(code, &class);
    T_EQ(class, MPI_ERR_TRUNCATE);
    fill(image, 300000, 5);
    T_OK(memcmp(in, image, 300000) == 0);
    T_EQ(in[300000], 0);
}

// A send that no receive has met is cancelled; the next one arrives.
static void cancelled(void)
{
    if (rank == 0) {
        MPI_Request r;
        MPI_Status st;
        int is_cancelled;
        MPI_Datatype blocks;
        MPI_Type_vector(10, 50000, 50001, MPI_BYTE, &blocks);
        MPI_Type_commit(&blocks);
        for (int i = 0; i < 2; i++) {
            MPI_Isend(out, i == 0 ? 1 << 20 : 1, i == 0 ? MPI_BYTE : blocks, other, 2,
                      MPI_COMM_WORLD, &r);
            MPI_Cancel(&r);
            MPI_Wait(&r, &st);
            MPI_Test_cancelled(&st, &is_cancelled);
            T_OK(is_cancelled);
        }
        MPI_Type_free(&blocks);
        fill(out, 1 << 20, 9);
        MPI_Send(out, 1 << 20, MPI_BYTE, other, 3, MPI_COMM_WORLD);
    } else {
        MPI_Recv(in, 1 << 20, MPI_BYTE, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fill(image, 1 << 20, 9);
        T_OK(memcmp(in, image, 1 << 20) == 0);
        int is_there;
        MPI_Iprobe(other, 2, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
        T_OK(!is_there);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void through(unsigned char *from, unsigned char *to, uint32_t n, uint32_t seed)
{
    if (rank == 0) {
        MPI_Send(from, (int)n, MPI_BYTE, other, 4, MPI_COMM_WORLD);
    } else {
        MPI_Recv(to, (int)n, MPI_BYTE, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fill(image, n, seed);
        T_OK(memcmp(to, image, n) == 0);
    }
}

// Memory that may only be read, shared memory, and memory that the kernel keeps to the process.
static void kinds_of_memory(void)
{
    enum { N = 1 << 20 };
    unsigned char *p = mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fill(p, N, 3);
    mprotect(p, N, PROT_READ);
    through(p, in, N, 3);
    munmap(p, N);
    p = mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fill(p, N, 4);
    through(p, p, N, 4);
    munmap(p, N);
    int fd = -1;
#if defined(SYS_memfd_secret)
    fd = (int)syscall(SYS_memfd_secret, 0);
#endif
    p = fd >= 0 && ftruncate(fd, N) == 0 ? mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                                         : MAP_FAILED;
    if (p != MAP_FAILED) { // else this kernel has no such memory, or a limit on locked memory
        fill(p, N, 6);
    }
    for (int i = 0; i < 3; i++) {
        fill(out, N, 6);
        through(i != 1 && p != MAP_FAILED ? p : out, i != 0 && p != MAP_FAILED ? p : in, N, 6);
    }
    if (p != MAP_FAILED) {
        munmap(p, N);
    }
    if (fd >= 0) {
        close(fd);
    }
}

static void alone_by_turns(bool is_later)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (is_later && i == ROUNDS / 2) {
            T_MUST(t_filter(calls, 2));
        }
        any_message(i % 2, i);
        if (i % 6 == 0) {
            window(i);
            posted_late(i % 12 == 0);
        }
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "forbid-all") == 0) {
        T_MUST(t_filter(calls, 2));
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (strcmp(what, "forbid-one") == 0 && rank == 1) {
        T_MUST(t_filter(calls, 2));
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    out = malloc(ROOM);
    in = malloc(ROOM);
    image = malloc(ROOM);
    stream = malloc(2 * ROOM);
    alone_by_turns(strcmp(what, "forbid-later") == 0);
    truncated();
    cancelled();
    kinds_of_memory();
    free(out);
    free(in);
    free(image);
    free(stream);
    MPI_Finalize();
    return t_status();
}
