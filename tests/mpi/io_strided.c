// SPDX-License-Identifier: BSD-3-Clause
// Records of all ranks by turns in a file of several MiB, which each rank writes and reads alone or
// with the others, in large pages where the file system has them. One record of each turn is in no
// view. While the others are written each rank writes its part of those with another handle, record
// by record, and nothing of that may be lost.
//
//     io_strided [FOLDER [BYTES]]
#include "io_t.h"
#include "t.h"

#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

static int me, n;
static long total = 5 << 20; // bytes of the file, about
static char path[600];

static unsigned char value(long at, int round)
{
    return (unsigned char)(at * 7 + at / 251 + round * 13 + 1);
}

// The offset of a record: that of rank n is in no view.
static long place(int rank, long turn, int size)
{
    return (turn * (n + 1) + rank) * size;
}

static void write_other(MPI_File other, unsigned char *record, long from, long to, int size,
                        int round)
{
    for (long turn = from; turn < to; turn++) {
        long at = place(n, turn, size);
        for (int i = 0; i < size; i++) {
            record[i] = value(at + i, round);
        }
        T_EQ(MPI_File_write_at(other, at, record, size, MPI_BYTE, MPI_STATUS_IGNORE), 0);
    }
}

static void check_bytes(const unsigned char *found, long at, int len, int round, const char *who)
{
    for (int i = 0; i < len; i++) {
        if (found[i] != value(at + i, round)) {
            fprintf(stderr, "rank %d, round %d, %s: byte %ld is %d, expected %d\n", me, round, who,
                    at + i, found[i], value(at + i, round));
            t_failed++;
            return;
        }
    }
}

// The file as the system has it.
static void check_file(long size, int round)
{
    unsigned char *real = malloc((size_t)size);
    int fd = io_t_open(path);
    struct stat st;
    T_MUST(real != NULL && fd >= 0 && fstat(fd, &st) == 0);
    T_EQ(st.st_size, size);
    long got = 0, part;
    while (got < size && (part = read(fd, real + got, (size_t)(size - got))) > 0) {
        got += part;
    }
    T_EQ(got, size);
    check_bytes(real, 0, (int)got, round, "the file");
    close(fd);
    free(real);
}

// Several accesses, as the file then becomes longer within a page, and in pages that are there.
static void check_records(MPI_File f, MPI_File other, int size, int n_access, int round)
{
    long turns = total / (size * (n + 1)) / n_access * n_access, each = turns / n_access;
    int len = (int)(each * size), is_all = round % 2;
    unsigned char *buf = malloc((size_t)len), *record = malloc((size_t)size);
    MPI_Datatype record_type, type;
    T_MUST(buf != NULL && record != NULL);
    MPI_Type_contiguous(size, MPI_BYTE, &record_type);
    MPI_Type_create_resized(record_type, 0, (MPI_Aint)size * (n + 1), &type);
    MPI_Type_commit(&type);
    T_EQ(MPI_File_set_view(f, (MPI_Offset)me * size, MPI_BYTE, type, "native", MPI_INFO_NULL), 0);
    for (int k = 0; k < n_access; k++) {
        long first = k * each;
        for (long i = 0; i < each * size; i++) {
            buf[i] = value(place(me, first + i / size, size) + i % size, round);
        }
        long mine = first + me * each / n, next = first + (me + 1) * each / n;
        long middle = mine + (next - mine) / 2;
        write_other(other, record, mine, middle, size, round);
        T_EQ(is_all ? MPI_File_write_at_all(f, first * size, buf, len, MPI_BYTE, MPI_STATUS_IGNORE)
                    : MPI_File_write_at(f, first * size, buf, len, MPI_BYTE, MPI_STATUS_IGNORE),
             0);
        write_other(other, record, middle, next, size, round);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        check_file(turns * size * (n + 1), round);
    }
    for (int k = 0; k < n_access; k++) {
        long first = k * each;
        MPI_Status s;
        int bytes;
        memset(buf, 0, (size_t)len);
        T_EQ(is_all ? MPI_File_read_at_all(f, first * size, buf, len, MPI_BYTE, &s)
                    : MPI_File_read_at(f, first * size, buf, len, MPI_BYTE, &s),
             0);
        MPI_Get_count(&s, MPI_BYTE, &bytes);
        T_EQ(bytes, len);
        for (long turn = 0; turn < each && t_failed == 0; turn++) {
            check_bytes(buf + turn * size, place(me, first + turn, size), size, round, "read");
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&type);
    MPI_Type_free(&record_type);
    free(buf);
    free(record);
}

// One rank writes alone what it has of records that all could write by turns: the file ends with
// its last one.
static void check_alone(MPI_File f)
{
    enum { SIZE = 4096 };
    long turns = total / (SIZE * n);
    unsigned char *buf = calloc((size_t)turns, SIZE);
    MPI_Datatype record, type;
    MPI_Offset size;
    MPI_Type_contiguous(SIZE, MPI_BYTE, &record);
    MPI_Type_create_resized(record, 0, (MPI_Aint)SIZE * n, &type);
    MPI_Type_commit(&type);
    T_MUST(buf != NULL);
    T_EQ(MPI_File_set_size(f, 0), 0);
    T_EQ(MPI_File_set_view(f, (MPI_Offset)me * SIZE, MPI_BYTE, type, "native", MPI_INFO_NULL), 0);
    for (int writer = 0; writer < n; writer++) {
        if (me == writer) {
            T_EQ(MPI_File_write_at(f, 0, buf, (int)(turns * SIZE), MPI_BYTE, MPI_STATUS_IGNORE), 0);
            T_EQ(MPI_File_get_size(f, &size), 0);
            T_EQ(size, ((turns - 1) * n + me + 1) * SIZE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Type_free(&type);
    MPI_Type_free(&record);
    free(buf);
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 100, 512, 4096, 6000 };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    io_t_path(path, sizeof path, argc > 1 ? argv[1] : "/var/tmp", "io_strided");
    total = argc > 2 ? atol(argv[2]) : total;
    MPI_File f, other;
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &f), 0);
    T_EQ(MPI_File_open(MPI_COMM_SELF, path, mode, MPI_INFO_NULL, &other), 0);
    for (int i = 0; i < 16; i++) {
        MPI_Barrier(MPI_COMM_WORLD); // the last size of four meets data of others
        T_EQ(MPI_File_set_size(f, i % 4 < 3 ? 0 : total / 2), 0);
        check_records(f, other, sizes[i % 4], i % 8 < 4 ? 1 : 3, i + i / 8);
    }
    check_alone(f);
    T_EQ(MPI_File_close(&other), 0);
    T_EQ(MPI_File_close(&f), 0);
    if (me == 0) {
        unlink(path);
    }
    MPI_Finalize();
    return t_status();
}
