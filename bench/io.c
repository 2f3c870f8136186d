// SPDX-License-Identifier: BSD-3-Clause
// Files: contiguous blocks, records interleaved by rank, arrays distributed by blocks, nonblocking
// writing beside work, a log with the shared pointer, and opening. Every pass of a writing line
// begins with an empty file, as programs mostly write new ones.
//
//     io FOLDER PLACE [part of a name...]     PLACE is what the lines call the folder
#include "bench.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <time.h>

enum {
    MIB = 1 << 20,
    N_BLOCK = 8,     // of 1 MiB, of each rank
    MIXED = 1 << 20, // bytes of each rank in interleaved records
    WINDOW = 256 << 10,
    PAGE = 4096,
    LINE_LEN = 200, // of the log
    N_LINE = 1000,  // of each rank
    N_RECORD = 500, // written one by one, of each rank
    N_FILE = 100,   // opened and closed
    PLANE = 1536,   // a side of the 2-D array of doubles
    CUBE = 128,     // of the 3-D array
    MOST_PASSES = 60,
};

struct job {
    const char *folder, *place;
    char path[512];
    int me, n;
    MPI_File f, other; // other: that of most lines, while a line has a file of its own
    int fd;
    unsigned char *buf, *check;
    unsigned char *common; // memory that ranks share
    MPI_Win win;           // which has it
    unsigned char *map;    // the file
    size_t room;
    long size;  // of a record, or of a block
    int opened; // files in the last pass
};

struct line {
    const char *name;
    long size;
    void (*open)(struct job *j); // NULL: nothing but the file
    void (*pass)(struct job *j);
    long (*bytes)(const struct job *j); // of all ranks in a pass; NULL: see unit
    const char *unit;
    bool is_write, is_floor; // is_floor: without MPI
    bool is_alone;           // ranks do not wait for each other
    void (*close)(struct job *j);
    void (*prepare)(struct job *j); // before each pass; not timed
    double (*timed)(struct job *j); // in place of pass: tells the seconds
};

static void check(int rc, const char *what)
{
    if (rc != MPI_SUCCESS) {
        b_die(what);
    }
}

static void meet_all(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

// Blocks of 1 MiB: those of one rank are together.

static long block_bytes(const struct job *j)
{
    return (long)N_BLOCK * MIB * j->n;
}

static MPI_Offset block_at(const struct job *j, int i)
{
    return ((MPI_Offset)j->me * N_BLOCK + i) * MIB;
}

static void floor_write(struct job *j)
{
    for (int i = 0; i < N_BLOCK; i++) {
        if (pwrite(j->fd, j->buf + (long)i * MIB, MIB, block_at(j, i)) != MIB) {
            b_die("the system does not write");
        }
    }
}

static void floor_read(struct job *j)
{
    for (int i = 0; i < N_BLOCK; i++) {
        if (pread(j->fd, j->check + (long)i * MIB, MIB, block_at(j, i)) != MIB) {
            b_die("the system does not read");
        }
    }
}

static long mixed_bytes(const struct job *j)
{
    return (long)MIXED * j->n;
}

// All bytes of the interleaved records by one process, from memory into which all ranks have put
// theirs before the clock started: nothing is exchanged, and nobody waits.

static void gather_open(struct job *j)
{
    MPI_Aint size;
    int unit;
    check(MPI_Win_allocate_shared(j->me == 0 ? (MPI_Aint)MIXED * j->n : 0, 1, MPI_INFO_NULL,
                                  MPI_COMM_WORLD, &j->common, &j->win),
          "MPI_Win_allocate_shared failed");
    MPI_Win_shared_query(j->win, 0, &size, &unit, &j->common);
}

static void gather_close(struct job *j)
{
    MPI_Win_free(&j->win);
}

static void gather_prepare(struct job *j)
{
    for (long at = 0; at < MIXED; at += PAGE) {
        memcpy(j->common + at * j->n + (long)j->me * PAGE, j->buf + at, PAGE);
    }
}

// What a file in a mapping costs, whatever the library: space made by rank 0 while others wait,
// pages brought by every rank, which begin at different ones, and records copied by turns. The
// mapping is there before.

static void store_open(struct job *j)
{
    gather_open(j);
    j->map = mmap(NULL, (size_t)MIXED * (size_t)j->n, PROT_READ | PROT_WRITE, MAP_SHARED, j->fd, 0);
    if (j->map == MAP_FAILED) {
        b_die("the file cannot be mapped");
    }
    madvise(j->map, (size_t)MIXED * (size_t)j->n, MADV_HUGEPAGE); // tmpfs mostly has none
}

static void store_close(struct job *j)
{
    munmap(j->map, (size_t)MIXED * (size_t)j->n);
    gather_close(j);
}

static void store_prepare(struct job *j)
{
    *(_Atomic long *)j->common = 0;
}

static void bring(struct job *j, long from, long to)
{
    enum { POPULATE_WRITE = 23 };
    if (from < to && madvise(j->map + from, (size_t)(to - from), POPULATE_WRITE) != 0) {
        b_die("the pages of the file cannot be had");
    }
}

// Rank 0 tells that the file has so many bytes; others wait for that.
static void wait_made(struct job *j, long total)
{
    _Atomic long *made = (_Atomic long *)j->common;
    if (j->me == 0) {
        *made = total;
    }
    while (*made != total) {
        if (j->n > sysconf(_SC_NPROCESSORS_ONLN)) {
            sched_yield();
        }
    }
}

static void copy_records(struct job *j, long each)
{
    for (long i = 0; i < each / j->size; i++) {
        memcpy(j->map + (i * j->n + j->me) * j->size, j->buf + i * j->size, (size_t)j->size);
    }
}

static void store_records(struct job *j, long each)
{
    long total = each * j->n, begin = each * j->me / PAGE * PAGE;
    if (j->me == 0 && posix_fallocate(j->fd, 0, total) != 0) {
        b_die("there is no space");
    }
    wait_made(j, total);
    bring(j, begin, total);
    bring(j, 0, begin);
    copy_records(j, each);
}

static void floor_store(struct job *j)
{
    store_records(j, MIXED);
}

// Records that have pages of their own: the store makes the page.
static void floor_pages(struct job *j)
{
    if (j->me == 0 && ftruncate(j->fd, mixed_bytes(j)) != 0) {
        b_die("the file cannot be made longer");
    }
    wait_made(j, mixed_bytes(j));
    copy_records(j, MIXED);
}

static void floor_log(struct job *j)
{
    store_records(j, (long)N_LINE * LINE_LEN);
}

// The command of that name, by rank 0: a file of as many bytes as all ranks have in blocks.
static double time_dd(struct job *j, const char *what)
{
    char command[1400], line[512] = "";
    double s = 0;
    if (j->me == 0) {
        snprintf(command, sizeof command, "LC_ALL=C dd %s bs=1M count=%d 2>&1 | tail -1", what,
                 N_BLOCK * j->n);
        FILE *p = popen(command, "r");
        char *comma =
            p != NULL && fgets(line, sizeof line, p) != NULL ? strstr(line, "copied, ") : NULL;
        s = comma != NULL ? atof(comma + 8) : 0;
        if (p != NULL) {
            pclose(p);
        }
    }
    MPI_Bcast(&s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (s <= 0) {
        b_die("dd did not tell how long it took");
    }
    return s;
}

static double dd_write(struct job *j)
{
    char what[700];
    snprintf(what, sizeof what, "if=/dev/zero of=%s conv=notrunc", j->path);
    return time_dd(j, what);
}

static double dd_read(struct job *j)
{
    char what[700];
    snprintf(what, sizeof what, "if=%s of=/dev/null", j->path);
    return time_dd(j, what);
}

static void floor_gather(struct job *j)
{
    for (long at = 0; j->me == 0 && at < (long)MIXED * j->n; at += WINDOW) {
        if (pwrite(j->fd, j->common + at, WINDOW, at) != WINDOW) {
            b_die("the system does not write");
        }
    }
}

static void block_write(struct job *j)
{
    for (int i = 0; i < N_BLOCK; i++) {
        check(MPI_File_write_at(j->f, block_at(j, i), j->buf + (long)i * MIB, MIB, MPI_BYTE,
                                MPI_STATUS_IGNORE),
              "MPI_File_write_at failed");
    }
}

static void block_read(struct job *j)
{
    for (int i = 0; i < N_BLOCK; i++) {
        check(MPI_File_read_at(j->f, block_at(j, i), j->check + (long)i * MIB, MIB, MPI_BYTE,
                               MPI_STATUS_IGNORE),
              "MPI_File_read_at failed");
    }
}

static void block_write_all(struct job *j)
{
    for (int i = 0; i < N_BLOCK; i++) {
        check(MPI_File_write_at_all(j->f, block_at(j, i), j->buf + (long)i * MIB, MIB, MPI_BYTE,
                                    MPI_STATUS_IGNORE),
              "MPI_File_write_at_all failed");
    }
}

static void block_read_all(struct job *j)
{
    for (int i = 0; i < N_BLOCK; i++) {
        check(MPI_File_read_at_all(j->f, block_at(j, i), j->check + (long)i * MIB, MIB, MPI_BYTE,
                                   MPI_STATUS_IGNORE),
              "MPI_File_read_at_all failed");
    }
}

// In atomic mode: blocks, and records of which each is a call, to a file that is empty or has other
// data there.

static void atomic_open(struct job *j)
{
    check(MPI_File_set_atomicity(j->f, 1), "MPI_File_set_atomicity failed");
}

static void atomic_close(struct job *j)
{
    check(MPI_File_set_atomicity(j->f, 0), "MPI_File_set_atomicity failed");
}

static long record_bytes(const struct job *j)
{
    return (long)N_RECORD * j->size * j->n;
}

static void record_write(struct job *j)
{
    for (int i = 0; i < N_RECORD; i++) {
        check(MPI_File_write_at(j->f, ((MPI_Offset)i * j->n + j->me) * j->size,
                                j->buf + i * j->size, (int)j->size, MPI_BYTE, MPI_STATUS_IGNORE),
              "MPI_File_write_at failed");
    }
}

// Record i of all ranks, then record i + 1.

static void mixed_open(struct job *j)
{
    MPI_Datatype t;
    int size = (int)j->size;
    MPI_Type_vector(MIXED / size, size, size * j->n, MPI_BYTE, &t);
    MPI_Type_commit(&t);
    check(MPI_File_set_view(j->f, (MPI_Offset)j->me * size, MPI_BYTE, t, "native", MPI_INFO_NULL),
          "MPI_File_set_view failed");
    MPI_Type_free(&t);
}

static void atomic_mixed_open(struct job *j)
{
    mixed_open(j);
    atomic_open(j);
}

static void mixed_write(struct job *j)
{
    check(MPI_File_write_at(j->f, 0, j->buf, MIXED, MPI_BYTE, MPI_STATUS_IGNORE),
          "MPI_File_write_at failed");
}

static void mixed_read(struct job *j)
{
    check(MPI_File_read_at(j->f, 0, j->check, MIXED, MPI_BYTE, MPI_STATUS_IGNORE),
          "MPI_File_read_at failed");
}

static void mixed_write_all(struct job *j)
{
    check(MPI_File_write_at_all(j->f, 0, j->buf, MIXED, MPI_BYTE, MPI_STATUS_IGNORE),
          "MPI_File_write_at_all failed");
}

static void mixed_read_all(struct job *j)
{
    check(MPI_File_read_at_all(j->f, 0, j->check, MIXED, MPI_BYTE, MPI_STATUS_IGNORE),
          "MPI_File_read_at_all failed");
}

// An array distributed by blocks over a grid of ranks; size is the count of dimensions.

static void array_open(struct job *j)
{
    int n = (int)j->size, side = n == 2 ? PLANE : CUBE, rest = j->me;
    MPI_Datatype t;
    int grid[3] = { 0 }, whole[3], mine[3], start[3];
    MPI_Dims_create(j->n, n, grid);
    for (int i = n - 1; i >= 0; i--) {
        whole[i] = side;
        mine[i] = side / grid[i];
        start[i] = rest % grid[i] * mine[i];
        rest /= grid[i];
    }
    MPI_Type_create_subarray(n, whole, mine, start, MPI_ORDER_C, MPI_DOUBLE, &t);
    MPI_Type_commit(&t);
    check(MPI_File_set_view(j->f, 0, MPI_DOUBLE, t, "native", MPI_INFO_NULL),
          "MPI_File_set_view failed");
    MPI_Type_free(&t);
}

static long array_bytes(const struct job *j)
{
    return (j->size == 2 ? (long)PLANE * PLANE : (long)CUBE * CUBE * CUBE) * 8;
}

static int array_count(const struct job *j)
{
    return (int)(array_bytes(j) / 8 / j->n);
}

static void array_write(struct job *j)
{
    check(MPI_File_write_at_all(j->f, 0, j->buf, array_count(j), MPI_DOUBLE, MPI_STATUS_IGNORE),
          "MPI_File_write_at_all failed");
}

static void array_read(struct job *j)
{
    check(MPI_File_read_at_all(j->f, 0, j->check, array_count(j), MPI_DOUBLE, MPI_STATUS_IGNORE),
          "MPI_File_read_at_all failed");
}

static void compute(void)
{
    volatile double x = 1;
    for (int k = 0; k < 100000; k++) {
        x = x * 1.0000001;
    }
}

// The same work, and a rank's share of the bytes written by itself, as one run.
static void floor_overlap(struct job *j)
{
    long each = array_bytes(j) / j->n;
    for (int i = 0; i < 20; i++) {
        compute();
    }
    for (long at = 0, part; at < each; at += part) {
        part = each - at < MIB ? each - at : MIB;
        if (pwrite(j->fd, j->buf + at, (size_t)part, j->me * each + at) != part) {
            b_die("the system does not write");
        }
    }
}

// The 2-D array is written while the program computes, and looks after MPI now and then.
static void overlap(struct job *j)
{
    MPI_Request r;
    int is_done = 0;
    check(MPI_File_iwrite_at_all(j->f, 0, j->buf, array_count(j), MPI_DOUBLE, &r),
          "MPI_File_iwrite_at_all failed");
    for (int i = 0; i < 20; i++) {
        compute();
        if (!is_done) {
            MPI_Test(&r, &is_done, MPI_STATUS_IGNORE);
        }
    }
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static long log_lines(const struct job *j)
{
    return (long)N_LINE * j->n;
}

static void log_write(struct job *j)
{
    for (int i = 0; i < N_LINE; i++) {
        check(MPI_File_write_shared(j->f, j->buf + i, LINE_LEN, MPI_BYTE, MPI_STATUS_IGNORE),
              "MPI_File_write_shared failed");
    }
    MPI_Offset bytes; // what was collected is in the file then
    check(MPI_File_get_size(j->f, &bytes), "MPI_File_get_size failed");
}

// The same with a hint: lines are stored in a mapping of the file, which nobody reads meanwhile.
static void open_mapped(struct job *j)
{
    char path[600];
    MPI_Info info;
    j->other = j->f;
    snprintf(path, sizeof path, "%s.log", j->path);
    MPI_Info_create(&info);
    MPI_Info_set(info, "pliant_shared_map", "enable");
    check(MPI_File_open(MPI_COMM_WORLD, path,
                        MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, info, &j->f),
          "MPI_File_open failed");
    MPI_Info_free(&info);
}

static void close_mapped(struct job *j)
{
    check(MPI_File_close(&j->f), "MPI_File_close failed");
    j->f = j->other;
}

// Fewer than all where that takes longer than a quarter of a second.
static void open_close(struct job *j)
{
    double begin = MPI_Wtime();
    int more = 1;
    for (j->opened = 0; j->opened < N_FILE && more; j->opened++) {
        MPI_File f;
        char path[600];
        snprintf(path, sizeof path, "%s.%d", j->path, j->opened);
        check(
            MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
            "MPI_File_open failed");
        MPI_File_close(&f);
        more = MPI_Wtime() - begin < 0.25;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

static const struct line lines[] = {
    { "floor_gather", WINDOW, gather_open, floor_gather, mixed_bytes, "GB/s", true, true, false,
      gather_close, gather_prepare },
    { "floor_dd_write", MIB, NULL, NULL, block_bytes, "GB/s", true, true, true, NULL, NULL,
      dd_write },
    { "floor_dd_read", MIB, NULL, NULL, block_bytes, "GB/s", false, true, true, NULL, NULL,
      dd_read },
    { "floor_store", 512, store_open, floor_store, mixed_bytes, "GB/s", true, true, true,
      store_close, store_prepare },
    { "floor_store", LINE_LEN, store_open, floor_log, log_lines, "M/s", true, true, true,
      store_close, store_prepare },
    { "floor_pages", 4096, store_open, floor_pages, mixed_bytes, "GB/s", true, true, true,
      store_close, store_prepare },
    { "floor_overlap", 2, NULL, floor_overlap, NULL, "ms", true, true, false },
    { "floor_write", MIB, NULL, floor_write, block_bytes, "GB/s", true, true, true },
    { "block_write", MIB, NULL, block_write, block_bytes, "GB/s", true, false, true },
    { "block_write_all", MIB, NULL, block_write_all, block_bytes, "GB/s", true, false, false },
    { "floor_read", MIB, NULL, floor_read, block_bytes, "GB/s", false, true, true },
    { "block_read", MIB, NULL, block_read, block_bytes, "GB/s", false, false, true },
    { "block_read_all", MIB, NULL, block_read_all, block_bytes, "GB/s", false, false, false },
    { "mixed_write_all", 64, mixed_open, mixed_write_all, mixed_bytes, "GB/s", true, false, false },
    { "mixed_read_all", 64, mixed_open, mixed_read_all, mixed_bytes, "GB/s", false, false, false },
    { "mixed_write_all", 512, mixed_open, mixed_write_all, mixed_bytes, "GB/s", true, false,
      false },
    { "mixed_read_all", 512, mixed_open, mixed_read_all, mixed_bytes, "GB/s", false, false, false },
    { "mixed_write_all", 4096, mixed_open, mixed_write_all, mixed_bytes, "GB/s", true, false,
      false },
    { "mixed_read_all", 4096, mixed_open, mixed_read_all, mixed_bytes, "GB/s", false, false,
      false },
    { "mixed_write", 64, mixed_open, mixed_write, mixed_bytes, "GB/s", true, false, true },
    { "mixed_read", 64, mixed_open, mixed_read, mixed_bytes, "GB/s", false, false, true },
    { "mixed_write", 512, mixed_open, mixed_write, mixed_bytes, "GB/s", true, false, true },
    { "mixed_read", 512, mixed_open, mixed_read, mixed_bytes, "GB/s", false, false, true },
    { "mixed_write", 4096, mixed_open, mixed_write, mixed_bytes, "GB/s", true, false, true },
    { "mixed_read", 4096, mixed_open, mixed_read, mixed_bytes, "GB/s", false, false, true },
    { "array_write", 2, array_open, array_write, array_bytes, "GB/s", true, false, false },
    { "array_read", 2, array_open, array_read, array_bytes, "GB/s", false, false, false },
    { "array_write", 3, array_open, array_write, array_bytes, "GB/s", true, false, false },
    { "array_read", 3, array_open, array_read, array_bytes, "GB/s", false, false, false },
    { "overlap", 2, array_open, overlap, NULL, "ms", true, false, false },
    { "log", LINE_LEN, NULL, log_write, log_lines, "M/s", true, false, true },
    { "log_mapped", LINE_LEN, open_mapped, log_write, log_lines, "M/s", true, false, true,
      close_mapped },
    { "atomic_new", MIB, atomic_open, block_write, block_bytes, "GB/s", true, false, true,
      atomic_close },
    { "atomic_over", MIB, atomic_open, block_write, block_bytes, "GB/s", true, false, true,
      atomic_close, floor_write },
    { "atomic_new", 512, atomic_open, record_write, record_bytes, "GB/s", true, false, true,
      atomic_close },
    { "atomic_over", 512, atomic_open, record_write, record_bytes, "GB/s", true, false, true,
      atomic_close, floor_write },
    { "atomic_view", 512, atomic_mixed_open, mixed_write, mixed_bytes, "GB/s", true, false, true,
      atomic_close },
    { "open", 0, NULL, open_close, NULL, "us", true, false, false },
};

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// All ranks begin at one moment, where each has a core: one that runs after another has ended would
// find the file's lock free, and the rate of both would be taken for one.
static double begin_together(const struct job *j)
{
    meet_all();
    double start = now(CLOCK_MONOTONIC) + 0.0003;
    if (j->n <= sysconf(_SC_NPROCESSORS_ONLN)) {
        MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        while (now(CLOCK_MONOTONIC) < start) {
        }
        return start;
    }
    return now(CLOCK_MONOTONIC);
}

// Seconds of a pass: of the slowest rank. Where ranks do not wait for each other and there are more
// of them than cores, one may run alone while others have not begun, so their processor time counts
// too, shared by the cores.
static double time_pass(struct job *j, const struct line *l)
{
    double wall = begin_together(j), cpu = now(CLOCK_THREAD_CPUTIME_ID), sum;
    l->pass(j);
    wall = now(CLOCK_MONOTONIC) - wall;
    cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
    MPI_Allreduce(MPI_IN_PLACE, &wall, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&cpu, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    sum /= (double)(cores < j->n ? cores : j->n);
    return l->is_alone && sum > wall ? sum : wall;
}

// A virtual machine may give memory that is free for a while back to its host (free page
// reporting): a large page then takes 1.5 ms instead of 0.05, whoever gets it. So each core has
// some that was used a moment ago.
static void warm_memory(void)
{
    enum { LEN = 16 * MIB };
    char *at = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        b_die("there is no memory");
    }
    madvise(at, LEN, MADV_HUGEPAGE);
    for (long i = 0; i < LEN; i += PAGE) {
        at[i] = 1;
    }
    munmap(at, LEN);
}

// The median of some passes, or the fastest. A slow implementation has fewer.
static double measure(struct job *j, const struct line *l)
{
    double v[MOST_PASSES], sum = 0;
    int n = 0, more = 1;
    while (more) {
        warm_memory();
        if (l->is_write && !l->is_floor) {
            check(MPI_File_set_size(j->f, 0), "MPI_File_set_size failed");
            MPI_File_seek_shared(j->f, 0, MPI_SEEK_SET);
        } else if (l->is_write && j->me == 0 && ftruncate(j->fd, 0) != 0) {
            b_die("the file cannot be made empty");
        }
        if (l->prepare != NULL) {
            l->prepare(j);
        }
        v[n] = l->timed != NULL ? l->timed(j) : time_pass(j, l);
        sum += v[n++];
        more = n < 3 ? sum < 0.3 : sum < 0.06 && n < MOST_PASSES;
    }
    return b_median(v, n);
}

// Reading lines follow writing lines of the same layout: what was written is read.
static void one(struct job *j, const struct line *l)
{
    char name[64], params[128];
    j->size = l->size;
    MPI_Offset zero = 0;
    check(MPI_File_set_view(j->f, zero, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL),
          "MPI_File_set_view failed");
    if (l->open != NULL) {
        l->open(j);
    }
    memset(j->check, 0, j->room);
    double t = measure(j, l);
    if (l->close != NULL) {
        l->close(j);
    }
    if (!l->is_write && l->timed == NULL) {
        long n = l->bytes(j) / j->n;
        if (memcmp(j->buf, j->check, (size_t)n) != 0) {
            b_die("what was read is not what was written");
        }
    }
    snprintf(name, sizeof name, "io_%s", l->name);
    snprintf(params, sizeof params, "size=%ld place=%s ranks=%d", l->size, j->place, j->n);
    double value = l->bytes != NULL             ? (double)l->bytes(j) / t
                   : strcmp(l->unit, "ms") == 0 ? t * 1e3
                                                : t / j->opened * 1e6;
    value /= strcmp(l->unit, "GB/s") == 0 ? 1e9 : strcmp(l->unit, "M/s") == 0 ? 1e6 : 1;
    if (j->me == 0) {
        b_report(name, params, value, l->unit);
    }
}

static bool is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 3; i < argc; i++) {
        if (strstr(name, argv[i]) != NULL) {
            return true;
        }
    }
    return argc <= 3;
}

static char names[N_FILE + 1][600]; // of all files that this rank deletes

// Context: signal handlers too.
static void delete_files(void)
{
    for (int i = 0; i <= N_FILE && names[i][0] != '\0'; i++) {
        unlink(names[i]);
    }
}

static void end_by_signal(int sig)
{
    delete_files();
    raise(sig); // as if there were no handler, behind this one
}

// Files in memory would keep it when the job is ended before its time.
static void delete_in_any_case(const struct job *j)
{
    static const int sigs[] = { SIGHUP, SIGINT, SIGTERM };
    struct sigaction act = { .sa_handler = end_by_signal, .sa_flags = (int)SA_RESETHAND };
    for (int i = 0; i < N_FILE; i++) {
        snprintf(names[i], sizeof names[i], "%s.%d", j->path, i);
    }
    snprintf(names[N_FILE], sizeof names[N_FILE], "%s", j->path);
    for (size_t i = 0; i < sizeof sigs / sizeof sigs[0]; i++) {
        sigaction(sigs[i], &act, NULL);
    }
}

static void clean(struct job *j)
{
    MPI_File_close(&j->f);
    close(j->fd);
    delete_files();
}

int main(int argc, char **argv)
{
    struct job j = { .me = b_start(&argc, &argv, 0) };
    if (argc < 3) {
        b_die("usage: io FOLDER PLACE [part of a name...]");
    }
    MPI_Comm_size(MPI_COMM_WORLD, &j.n);
    j.folder = argv[1];
    j.place = argv[2];
    int id = (int)getpid();
    MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(j.path, sizeof j.path, "%s/pliant-bench-io-%d", j.folder, id);
    if (j.me == 0) {
        delete_in_any_case(&j);
    }
    j.room = (size_t)PLANE * PLANE * 8;
    j.room = j.room > (size_t)N_BLOCK * MIB ? j.room : (size_t)N_BLOCK * MIB;
    j.buf = b_alloc(j.room);
    j.check = b_alloc(j.room);
    b_fill(j.buf, (long)j.room, j.me);
    check(
        MPI_File_open(MPI_COMM_WORLD, j.path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &j.f),
        "MPI_File_open failed");
    j.fd = open(j.path, O_RDWR);
    if (j.fd < 0) {
        b_die("the file cannot be opened");
    }
    for (int i = 0; i < 4; i++) { // the system's memory is as between lines from the first on
        floor_write(&j);
        meet_all();
        if (j.me == 0 && ftruncate(j.fd, 0) != 0) {
            b_die("the file cannot be made empty");
        }
        meet_all();
    }
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (is_wanted(lines[i].name, argc, argv)) {
            one(&j, &lines[i]);
        }
    }
    clean(&j);
    MPI_Finalize();
    return 0;
}
