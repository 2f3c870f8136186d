// SPDX-License-Identifier: BSD-3-Clause
// Atomic mode: ranks, and their threads, write and read ranges that overlap, at random. The file
// has segments; each access is of several of them in a row, or of all as a view with gaps, and each
// write has one value in all its words. So no segment that is read has two values, and what is read
// of a file that is only written as a whole has one. Arguments: the folder of the files, and how
// many threads a rank has.
#include "io_t.h"
#include "t.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { N_SEGMENT = 24, N_ACCESS = 150, MOST_THREADS = 4 };

static int me, n, n_thread = 1;
static int begins[N_SEGMENT + 1]; // of segments, in words
static MPI_File parts, whole;

// Short and long ones, most across pages.
static void draw_segments(void)
{
    static const int lens[] = { 3, 64, 700, 5000, 1, 9000 };
    for (int i = 0; i < N_SEGMENT; i++) {
        begins[i + 1] = begins[i] + lens[i % 6];
    }
}

static uint64_t value_of(int thread, int i)
{
    return (uint64_t)(me * MOST_THREADS + thread + 1) << 32 | (uint64_t)(uint32_t)i;
}

static bool is_one_value(const uint64_t *x, int len)
{
    for (int i = 1; i < len; i++) {
        if (x[i] != x[0]) {
            return false;
        }
    }
    return true;
}

static void fill(uint64_t *x, int len, uint64_t value)
{
    for (int i = 0; i < len; i++) {
        x[i] = value;
    }
}

static void access_parts(uint64_t *buf, uint64_t value, unsigned *seed)
{
    int first = rand_r(seed) % N_SEGMENT, last = first + 1 + rand_r(seed) % (N_SEGMENT - first);
    int len = begins[last] - begins[first], count;
    MPI_Offset at = (MPI_Offset)begins[first] * 8;
    MPI_Status s;
    if (rand_r(seed) % 2 == 0) {
        fill(buf, len, value);
        T_EQ(MPI_File_write_at(parts, at, buf, len, MPI_UINT64_T, &s), 0);
    } else {
        T_EQ(MPI_File_read_at(parts, at, buf, len, MPI_UINT64_T, &s), 0);
        for (int i = first; i < last; i++) {
            T_OK(is_one_value(buf + begins[i] - begins[first], begins[i + 1] - begins[i]));
        }
    }
    MPI_Get_count(&s, MPI_UINT64_T, &count);
    T_EQ(count, len);
}

static void access_whole(uint64_t *buf, uint64_t value, unsigned *seed)
{
    int len = begins[N_SEGMENT];
    if (rand_r(seed) % 2 == 0) {
        fill(buf, len, value);
        T_EQ(MPI_File_write_at(whole, 0, buf, len, MPI_UINT64_T, MPI_STATUS_IGNORE), 0);
    } else {
        T_EQ(MPI_File_read_at(whole, 0, buf, len, MPI_UINT64_T, MPI_STATUS_IGNORE), 0);
        T_OK(is_one_value(buf, len));
    }
}

static void *do_accesses(void *arg)
{
    int thread = *(const int *)arg;
    unsigned seed = (unsigned)(me * MOST_THREADS + thread + 1);
    uint64_t *buf = malloc((size_t)begins[N_SEGMENT] * 8);
    T_MUST(buf != NULL);
    for (int i = 0; i < N_ACCESS && t_failed == 0; i++) {
        if (i % 4 == 3) {
            access_whole(buf, value_of(thread, i), &seed);
        } else {
            access_parts(buf, value_of(thread, i), &seed);
        }
    }
    free(buf);
    return NULL;
}

// A file of zeros that all see.
static MPI_File open_zeros(const char *path)
{
    MPI_File f;
    int flag = 0;
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
         0);
    T_EQ(MPI_File_set_size(f, 0), 0);
    T_EQ(MPI_File_set_size(f, (MPI_Offset)begins[N_SEGMENT] * 16), 0);
    T_EQ(MPI_File_set_atomicity(f, 1), 0);
    T_EQ(MPI_File_get_atomicity(f, &flag), 0);
    T_EQ(flag, 1);
    return f;
}

static void do_rounds(void)
{
    pthread_t threads[MOST_THREADS];
    int numbers[MOST_THREADS] = { 0, 1, 2, 3 };
    for (int i = 1; i < n_thread; i++) {
        T_EQ(pthread_create(&threads[i], NULL, do_accesses, &numbers[i]), 0);
    }
    do_accesses(&numbers[0]);
    for (int i = 1; i < n_thread; i++) {
        pthread_join(threads[i], NULL);
    }
}

// Behind the end of the file: all of it is there in the end, whoever made the file longer.
static void check_end(MPI_File f)
{
    enum { N_LINE = 40, LINE = 1500 };
    static uint64_t line[LINE];
    MPI_Offset base = (MPI_Offset)begins[N_SEGMENT] * 16, size;
    for (int i = 0; i < N_LINE; i++) {
        fill(line, LINE, value_of(0, i));
        T_EQ(MPI_File_write_at(f, base + (MPI_Offset)(i * n + me) * LINE * 8, line, LINE,
                               MPI_UINT64_T, MPI_STATUS_IGNORE),
             0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_File_get_size(f, &size), 0);
    T_EQ(size, base + (MPI_Offset)N_LINE * n * LINE * 8);
    for (int i = 0; i < N_LINE; i++) {
        int from = (i + me) % n;
        T_EQ(MPI_File_read_at(f, base + (MPI_Offset)(i * n + from) * LINE * 8, line, LINE,
                              MPI_UINT64_T, MPI_STATUS_IGNORE),
             0);
        T_EQ(line[0], (uint64_t)(from * MOST_THREADS + 1) << 32 | (uint64_t)i);
        T_OK(is_one_value(line, LINE));
    }
}

int main(int argc, char **argv)
{
    char names[2][200];
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    T_MUST(argc >= 2);
    n_thread = argc > 2 ? atoi(argv[2]) : 1;
    T_MUST(n_thread <= MOST_THREADS);
    draw_segments();
    io_t_path(names[0], sizeof names[0], argv[1], "io_atomic_parts");
    io_t_path(names[1], sizeof names[1], argv[1], "io_atomic_whole");
    parts = open_zeros(names[0]);
    whole = open_zeros(names[1]);
    MPI_Datatype every_second;
    MPI_Type_vector(begins[N_SEGMENT] / 50 + 1, 50, 90, MPI_UINT64_T, &every_second);
    MPI_Type_commit(&every_second);
    T_EQ(MPI_File_set_view(whole, 0, MPI_UINT64_T, every_second, "native", MPI_INFO_NULL), 0);
    MPI_Type_free(&every_second);
    for (int turn = 0; turn < 2; turn++) { // the mode ends, and begins again
        do_rounds();
        T_EQ(MPI_File_set_atomicity(parts, 0), 0);
        T_EQ(MPI_File_write_at_all(parts, me * 8, &turn, 1, MPI_INT, MPI_STATUS_IGNORE), 0);
        T_EQ(MPI_File_set_size(parts, 0), 0);
        T_EQ(MPI_File_set_size(parts, (MPI_Offset)begins[N_SEGMENT] * 16), 0);
        T_EQ(MPI_File_set_atomicity(parts, 1), 0);
    }
    check_end(parts);
    T_EQ(MPI_File_close(&parts), 0);
    T_EQ(MPI_File_close(&whole), 0);
    if (me == 0) {
        unlink(names[0]);
        unlink(names[1]);
    }
    MPI_Finalize();
    return t_status();
}
