// SPDX-License-Identifier: BSD-3-Clause
// Ranks write a range of several MiB together of which they have all bytes, in records of every
// length, from memory in one run or in pieces, at once and later; also where one rank has more than
// the others, and where ranks have the same bytes and leave as many others out. The file is
// compared byte by byte, and what ranks read is. A limit of the size of files is told to all.
//
//     io_whole [FOLDER]
//     io_whole FOLDER full    the folder is on a small disk: it is full before all is written
#include "io_t.h"
#include "t.h"

#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOTAL = 6 << 20, FREE_BYTE = 0xee };

static int me, n;
static char path[600];

static unsigned char value(long at, int round)
{
    return (unsigned char)(at * 11 + at / 253 + round * 17 + 1);
}

static void set_view(MPI_File f, long disp, long size, long step)
{
    MPI_Datatype record, view;
    MPI_Type_contiguous((int)size, MPI_BYTE, &record);
    MPI_Type_create_resized(record, 0, (MPI_Aint)step, &view);
    MPI_Type_commit(&view);
    T_EQ(MPI_File_set_view(f, disp, MPI_BYTE, view, "native", MPI_INFO_NULL), 0);
    MPI_Type_free(&view);
    MPI_Type_free(&record);
}

// Memory of n bytes, every second of 2 n where it is in pieces.
struct memory {
    unsigned char *at;
    MPI_Datatype type;
    long n;
    int step;
};

static void make(struct memory *m, long len, bool is_pieces)
{
    m->n = len;
    m->step = is_pieces ? 2 : 1;
    m->at = calloc((size_t)(len * m->step) + 1, 1);
    T_MUST(m->at != NULL);
    MPI_Type_vector((int)len, 1, m->step, MPI_BYTE, &m->type);
    MPI_Type_commit(&m->type);
}

static void drop(struct memory *m)
{
    MPI_Type_free(&m->type);
    free(m->at);
}

static void write_it(MPI_File f, struct memory *m, bool is_later)
{
    MPI_Request r;
    MPI_Status s;
    MPI_Count moved;
    if (is_later) {
        T_EQ(MPI_File_iwrite_at_all(f, 0, m->at, 1, m->type, &r), 0);
        T_EQ(MPI_Wait(&r, &s), 0);
    } else {
        T_EQ(MPI_File_write_at_all(f, 0, m->at, 1, m->type, &s), 0);
    }
    MPI_Get_elements_x(&s, MPI_BYTE, &moved);
    T_EQ(moved, (MPI_Count)m->n);
}

static void check_file(long size, int round, bool (*is_free)(long at))
{
    unsigned char *real = malloc((size_t)size);
    int fd = io_t_open(path);
    struct stat st;
    T_MUST(real != NULL && fd >= 0 && fstat(fd, &st) == 0);
    T_EQ(st.st_size, size);
    T_EQ(pread(fd, real, (size_t)size, 0), size);
    for (long at = 0; at < size; at++) {
        unsigned char want = is_free(at) ? FREE_BYTE : value(at, round);
        if (real[at] != want) {
            fprintf(stderr, "round %d: byte %ld of the file is %d, expected %d\n", round, at,
                    real[at], want);
            t_failed++;
            break;
        }
    }
    close(fd);
    free(real);
}

static long disp_now, hole_lo, hole_hi;

static bool is_outside(long at)
{
    return at < disp_now || (at >= hole_lo && at < hole_hi);
}

// What is in no view has the byte that it had.
static void begin_file(MPI_File f, long size)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        int fd = open(path, O_WRONLY | O_TRUNC);
        char *old = malloc((size_t)size);
        T_MUST(fd >= 0 && old != NULL);
        memset(old, FREE_BYTE, (size_t)size);
        T_EQ(write(fd, old, (size_t)size), size);
        free(old);
        close(fd);
    }
    MPI_File_sync(f);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(f);
}

static void read_back(MPI_File f, long size, long n_record, bool is_pieces, int round)
{
    struct memory m;
    MPI_Status s;
    make(&m, size * n_record, is_pieces);
    T_EQ(MPI_File_read_at_all(f, 0, m.at, 1, m.type, &s), 0);
    for (long i = 0; i < m.n; i++) {
        long at = disp_now + (i / size * n + me) * size + i % size;
        if (m.at[i * m.step] != value(at, round)) {
            fprintf(stderr, "rank %d, round %d: byte %ld was read as %d, expected %d\n", me, round,
                    at, m.at[i * m.step], value(at, round));
            t_failed++;
            break;
        }
    }
    drop(&m);
}

// Records by turns.
static void records(MPI_File f, long size, long disp, bool is_pieces, int round)
{
    struct memory m;
    long n_record = TOTAL / n / size;
    disp_now = disp;
    hole_lo = hole_hi = 0;
    begin_file(f, disp);
    set_view(f, disp + me * size, size, size * n);
    make(&m, size * n_record, is_pieces);
    for (long i = 0; i < m.n; i++) {
        m.at[i * m.step] = value(disp + (i / size * n + me) * size + i % size, round);
    }
    write_it(f, &m, round % 2 == 1);
    drop(&m);
    MPI_File_sync(f);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        check_file(disp + size * n_record * n, round, is_outside);
    }
    read_back(f, size, n_record, is_pieces, round);
}

// Ranks 0 and 1 write the same bytes in the first half, and nobody writes as many in a hole behind:
// sums alone do not tell.
static void overlaps(MPI_File f, int round)
{
    const long part = 256 << 10, size = 4 * part;
    if (n < 2) {
        return;
    }
    disp_now = 0;
    hole_lo = 2 * part;
    hole_hi = 3 * part;
    begin_file(f, size);
    // Ranks 0 and 1: [0, part) and [part, 2 part) in pieces of 1000; both have the first part.
    set_view(f, me < 2 ? 0 : 3 * part, size, size);
    struct memory m;
    long from = me == 0 ? 0 : me == 1 ? 0 : 3 * part;
    long len = me == 0 ? 2 * part : me == 1 ? part : 0;
    if (me == 1) { // and the end, which makes the sum that of the range
        int lens[2] = { (int)part, (int)part };
        MPI_Aint at[2] = { 0, (MPI_Aint)(3 * part) };
        MPI_Datatype view;
        MPI_Type_create_hindexed(2, lens, at, MPI_BYTE, &view);
        MPI_Type_commit(&view);
        T_EQ(MPI_File_set_view(f, 0, MPI_BYTE, view, "native", MPI_INFO_NULL), 0);
        MPI_Type_free(&view);
        len = 2 * part;
    } else {
        T_EQ(MPI_File_set_view(f, from, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), 0);
    }
    make(&m, len, false);
    for (long i = 0; i < len; i++) {
        m.at[i] = value(me == 1 && i >= part ? i + 2 * part : from + i, round);
    }
    write_it(f, &m, false);
    drop(&m);
    MPI_File_sync(f);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        check_file(size, round, is_outside);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

// Beyond the limit of sizes of files: all get the class, and the sentence names the file.
static void limit(MPI_File f)
{
    struct rlimit old, low = { .rlim_cur = TOTAL / 2, .rlim_max = RLIM_INFINITY };
    char text[MPI_MAX_ERROR_STRING];
    int len, class;
    const long size = 512, n_record = TOTAL / n / size;
    struct memory m;
    begin_file(f, 0);
    T_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
    MPI_Barrier(MPI_COMM_WORLD); // the limit is one for all ranks of a process
    low.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    T_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
    set_view(f, me * size, size, size * n);
    make(&m, size * n_record, false);
    int rc = MPI_File_write_at_all(f, 0, m.at, 1, m.type, MPI_STATUS_IGNORE);
    MPI_Error_class(rc, &class);
    MPI_Error_string(rc, text, &len);
    T_EQ(class, MPI_ERR_NO_SPACE);
    T_HAS(text, path);
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_File_write_at_all(f, 0, m.at, 1, m.type, MPI_STATUS_IGNORE), 0); // and now it works
    drop(&m);
}

// Every way of writing meets the end of a disk: all ranks of a collective call have the error,
// with a sentence. Afterwards the file can be cut and written.
static void full(MPI_File f)
{
    static const long sizes[] = { 64, 512, 4096, 1 << 20 };
    char text[MPI_MAX_ERROR_STRING], *data = malloc(TOTAL);
    T_MUST(data != NULL);
    memset(data, 'x', TOTAL);
    for (int i = 0; i < 16; i++) {
        long size = sizes[i / 4];
        int rc = 0, class, same, len = TOTAL / n / (int)size * (int)size;
        MPI_Request r = MPI_REQUEST_NULL;
        T_EQ(MPI_File_set_size(f, 0), 0);
        MPI_Barrier(MPI_COMM_WORLD);
        set_view(f, me * size, size, size * n);
        rc = i % 4 == 0   ? MPI_File_write_at_all(f, 0, data, len, MPI_BYTE, MPI_STATUS_IGNORE)
             : i % 4 == 1 ? MPI_File_write_at(f, 0, data, len, MPI_BYTE, MPI_STATUS_IGNORE)
             : i % 4 == 2 ? MPI_File_iwrite_at_all(f, 0, data, len, MPI_BYTE, &r)
                          : MPI_File_write_ordered(f, data, len, MPI_BYTE, MPI_STATUS_IGNORE);
        rc = rc == 0 && i % 4 == 2 ? MPI_Wait(&r, MPI_STATUS_IGNORE) : rc;
        MPI_Error_class(rc, &class);
        MPI_Allreduce(&class, &same, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        T_EQ(same, MPI_ERR_NO_SPACE);
        if (i % 4 != 1) {
            T_EQ(class, MPI_ERR_NO_SPACE);
        }
        if (class != MPI_SUCCESS) {
            MPI_Error_string(rc, text, &same);
            T_HAS(text, path);
            T_HAS(text, "No space left on device");
        }
        T_EQ(MPI_File_set_size(f, 0), 0);
        T_EQ(MPI_File_seek_shared(f, 0, MPI_SEEK_SET), 0);
        T_EQ(MPI_File_write_at_all(f, 0, data, (int)size / n * n, MPI_BYTE, MPI_STATUS_IGNORE), 0);
    }
    free(data);
    if (me == 0) {
        printf("full %d times\n", 16);
    }
}

int main(int argc, char **argv)
{
    static const long sizes[] = { 8, 300, 4096, 70000, 200000, 1300000 };
    MPI_File f;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    io_t_path(path, sizeof path, argc > 1 ? argv[1] : ".", "io_whole");
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
         0);
    bool is_full = argc > 2 && strcmp(argv[2], "full") == 0;
    if (is_full) {
        full(f);
    }
    for (int i = 0; !is_full && i < (int)(sizeof sizes / sizeof sizes[0]); i++) {
        if (sizes[i] * n <= TOTAL) {
            records(f, sizes[i], i % 2 == 0 ? 0 : 4099, i == 2, i);
        }
    }
    if (!is_full) {
        overlaps(f, 9);
        limit(f);
    }
    T_EQ(MPI_File_close(&f), 0);
    if (me == 0) {
        unlink(path);
    }
    MPI_Finalize();
    return t_status();
}
