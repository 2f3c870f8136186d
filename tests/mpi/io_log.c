// SPDX-License-Identifier: BSD-3-Clause
// Lines of a log: all of them are in the file, once, and its size is right whenever MPI tells it
// and in the end. The first argument says how they come there: "map", ranks store them in a mapping
// of the file (hint pliant_shared_map); "batch", they are collected (hint pliant_shared_batch);
// "plain", no hint. The second, "die": a rank dies, which needs mpiexec --on-failure=shrink.
#include "t.h"

#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_LINE = 3000, LONGEST = 80000, FEW = 100 };

static int me, n;
static char path[64];
static const char *hint = "pliant_shared_map"; // NULL: none
static bool is_batch;                          // lines may be in the file a little later

static MPI_File open_log(int mode)
{
    MPI_File f;
    MPI_Info info;
    char text[16] = "";
    int has = 0;
    MPI_Info_create(&info);
    if (hint != NULL) {
        MPI_Info_set(info, hint, "enable");
    }
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | mode, info, &f), 0);
    MPI_Info_free(&info);
    MPI_File_get_info(f, &info);
    MPI_Info_get(info, hint != NULL ? hint : "pliant_shared_batch", 15, text, &has);
    T_STR(text, hint != NULL ? "enable" : "automatic");
    MPI_Info_free(&info);
    return f;
}

static long long size_on_disk(void)
{
    struct stat s;
    T_EQ(stat(path, &s), 0);
    return s.st_size;
}

// "<rank> <number> <length> xxxx\n", of very different lengths.
static int make_line(char *line, int rank, int i)
{
    int len = i % 500 == 499 ? LONGEST : 24 + (i * 37 + rank * 11) % 300;
    memset(line, 'a' + rank % 26, (size_t)len);
    int used = snprintf(line, 24, "%d %d %d", rank, i, len);
    line[used] = ' ';
    line[len - 1] = '\n';
    return len;
}

static long long write_lines(MPI_File f, int from, int to)
{
    static char line[LONGEST];
    long long sum = 0;
    for (int i = from; i < to; i++) {
        int len = make_line(line, me, i), count;
        MPI_Status s;
        MPI_Request r;
        if (i % 3 == 0) {
            T_EQ(MPI_File_iwrite_shared(f, line, len, MPI_CHAR, &r), 0);
            T_EQ(MPI_Wait(&r, &s), 0);
        } else {
            T_EQ(MPI_File_write_shared(f, line, len, MPI_CHAR, &s), 0);
        }
        MPI_Get_count(&s, MPI_CHAR, &count);
        T_EQ(count, len);
        sum += len;
    }
    return sum;
}

static void add_up(long long *sum)
{
    MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
}

static void expect_size(MPI_File f, long long want)
{
    MPI_Offset size;
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_File_get_size(f, &size), 0);
    T_EQ(size, want);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Every line is there once and as a whole, those of a rank in their order; *counts: how many.
static void read_lines(int *counts)
{
    static char line[LONGEST + 1], want[LONGEST];
    FILE *f = fopen(path, "r");
    T_MUST(f != NULL);
    memset(counts, 0, (size_t)n * sizeof *counts);
    while (fgets(line, sizeof line, f) != NULL && t_failed == 0) {
        int rank = -1, i = -1, len = -1;
        T_EQ(sscanf(line, "%d %d %d", &rank, &i, &len), 3);
        T_MUST(rank >= 0 && rank < n);
        T_EQ(i, counts[rank]++);
        T_EQ(make_line(want, rank, i), len);
        T_EQ(memcmp(line, want, (size_t)len), 0);
    }
    fclose(f);
}

static void check_lines(void)
{
    MPI_File f = open_log(MPI_MODE_WRONLY);
    int *counts = calloc((size_t)n, sizeof *counts);
    long long sum = write_lines(f, 0, N_LINE / 2), more;
    add_up(&sum);
    expect_size(f, sum);
    T_EQ(MPI_File_sync(f), 0);
    T_EQ(size_on_disk(), sum);
    if (me == 0) {
        read_lines(counts); // others may read what was written so far
        T_EQ(counts[n - 1], N_LINE / 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    more = write_lines(f, N_LINE / 2, N_LINE);
    add_up(&more);
    expect_size(f, sum + more);
    T_EQ(MPI_File_close(&f), 0);
    T_EQ(size_on_disk(), sum + more);
    read_lines(counts);
    for (int i = 0; i < n; i++) {
        T_EQ(counts[i], N_LINE);
    }
    free(counts);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Other calls that write, or set the size, between lines.
static void check_mixture(void)
{
    char buf[FEW], own = (char)('A' + me);
    MPI_Offset at;
    memset(buf, own, FEW);
    MPI_File f = open_log(MPI_MODE_WRONLY | MPI_MODE_APPEND);
    T_EQ(MPI_File_set_size(f, 0), 0);
    expect_size(f, 0);
    T_EQ(MPI_File_seek_shared(f, 0, MPI_SEEK_SET), 0);
    T_EQ(MPI_File_write_shared(f, buf, FEW, MPI_CHAR, MPI_STATUS_IGNORE), 0);
    expect_size(f, (long long)FEW * n);
    T_EQ(MPI_File_write_at(f, 1000000 + me, &own, 1, MPI_CHAR, MPI_STATUS_IGNORE), 0);
    expect_size(f, 1000000 + n);
    T_EQ(MPI_File_write_at_all(f, 2000000 + me, &own, 1, MPI_CHAR, MPI_STATUS_IGNORE), 0);
    expect_size(f, 2000000 + n);
    T_EQ(MPI_File_seek_shared(f, 0, MPI_SEEK_END), 0);
    T_EQ(MPI_File_write_ordered(f, buf, FEW, MPI_CHAR, MPI_STATUS_IGNORE), 0);
    T_EQ(MPI_File_write_shared(f, buf, FEW, MPI_CHAR, MPI_STATUS_IGNORE), 0);
    long long want = 2000000 + n + 2LL * FEW * n;
    expect_size(f, want);
    T_EQ(MPI_File_preallocate(f, 1000), 0);
    expect_size(f, want);
    T_EQ(MPI_File_preallocate(f, want + 5), 0);
    expect_size(f, want + 5);
    T_EQ(MPI_File_set_size(f, 300), 0);
    expect_size(f, 300);
    T_EQ(MPI_File_get_position_shared(f, &at), 0);
    T_EQ(at, want);
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_File_set_atomicity(f, 1), 0);
    T_EQ(MPI_File_write_shared(f, buf, FEW, MPI_CHAR, MPI_STATUS_IGNORE), 0);
    expect_size(f, want + (long long)FEW * n);
    T_EQ(MPI_File_close(&f), 0);
    T_EQ(size_on_disk(), want + (long long)FEW * n);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Where the hint does not apply: data may be read, so the file is never too long.
static void check_without(void)
{
    char buf[FEW];
    memset(buf, 'x', FEW);
    MPI_File f = open_log(MPI_MODE_RDWR);
    T_EQ(MPI_File_set_size(f, 0), 0);
    T_EQ(MPI_File_write_shared(f, buf, FEW, MPI_CHAR, MPI_STATUS_IGNORE), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(size_on_disk(), FEW * n);
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_File_close(&f), 0);
}

// Lines that were collected are in the file soon, without any call, and whoever reads the file by
// MPI sees them at once.
static void check_soon(void)
{
    char buf[FEW], got[FEW];
    memset(buf, 'a' + me % 26, FEW);
    MPI_File f = open_log(MPI_MODE_RDWR);
    T_EQ(MPI_File_set_size(f, 0), 0);
    for (int i = 0; i < 3; i++) {
        T_EQ(MPI_File_write_shared(f, buf, FEW, MPI_CHAR, MPI_STATUS_IGNORE), 0);
    }
    for (int i = 0; i < 6000 && size_on_disk() < 3LL * FEW * n; i++) {
        usleep(10000);
    }
    T_EQ(size_on_disk(), 3 * FEW * n);
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_File_set_size(f, 0), 0);
    T_EQ(MPI_File_seek_shared(f, 0, MPI_SEEK_SET), 0);
    T_EQ(MPI_File_write_ordered(f, buf, FEW, MPI_CHAR, MPI_STATUS_IGNORE), 0);
    T_EQ(MPI_File_write_shared(f, buf, FEW, MPI_CHAR, MPI_STATUS_IGNORE), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    int sum[26] = { 0 }, count;
    for (int i = 0; i < 2 * n; i++) {
        MPI_Status s;
        memset(got, 0, FEW);
        T_EQ(MPI_File_read_at(f, (MPI_Offset)i * FEW, got, FEW, MPI_CHAR, &s), 0);
        MPI_Get_count(&s, MPI_CHAR, &count);
        T_EQ(count, FEW);
        T_EQ(got[0], got[FEW - 1]);
        T_MUST(got[0] >= 'a' && got[0] <= 'z');
        sum[got[0] - 'a']++;
    }
    for (int i = 0; i < n && n <= 26; i++) {
        T_EQ(sum[i], 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_File_close(&f), 0);
}

// Space that the file may not have is not asked for, and lines that fit are written.
static void check_limit(void)
{
    struct rlimit old, low;
    char buf[FEW];
    memset(buf, 'x', FEW);
    signal(SIGXFSZ, SIG_IGN);
    MPI_File f = open_log(MPI_MODE_WRONLY);
    T_EQ(MPI_File_set_size(f, 0), 0);
    getrlimit(RLIMIT_FSIZE, &old);
    low = old;
    low.rlim_cur = (rlim_t)FEW * (rlim_t)n + FEW / 2;
    T_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
    T_EQ(MPI_File_write_shared(f, buf, FEW, MPI_CHAR, MPI_STATUS_IGNORE), 0);
    expect_size(f, (long long)FEW * n);
    MPI_File_seek_shared(f, (MPI_Offset)low.rlim_cur, MPI_SEEK_SET);
    int rc = MPI_File_write_shared(f, buf, FEW, MPI_CHAR, MPI_STATUS_IGNORE), class;
    if (is_batch && rc == MPI_SUCCESS) { // the file is exact, or all are told why not
        rc = MPI_File_sync(f);
    } else if (is_batch) {
        MPI_File_sync(f);
    }
    MPI_Error_class(rc, &class);
    T_EQ(class, MPI_ERR_NO_SPACE);
    expect_size(f, (long long)FEW * n);
    T_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
    T_EQ(MPI_File_close(&f), 0);
    T_EQ(size_on_disk(), FEW * n);
}

// What a rank has written is in the file also when it dies at once, and others make the file exact.
static void check_death(void)
{
    MPI_File f = open_log(MPI_MODE_WRONLY);
    int *counts = calloc((size_t)n, sizeof *counts);
    write_lines(f, 0, FEW);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        kill(getpid(), SIGKILL);
    }
    write_lines(f, FEW, 2 * FEW);
    T_EQ(MPI_File_close(&f), 0);
    read_lines(counts);
    for (int i = 0; i < n; i++) {
        T_EQ(counts[i], i == 0 ? FEW : 2 * FEW);
    }
    MPI_Comm rest;
    T_EQ(MPIX_Comm_shrink(MPI_COMM_WORLD, &rest), 0);
    MPI_Barrier(rest);
    MPI_Comm_free(&rest);
    free(counts);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    snprintf(path, sizeof path, "/tmp/io_log.%d", (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    bool dies = argc > 2 && strcmp(argv[2], "die") == 0;
    if (argc > 1 && strcmp(argv[1], "map") != 0) {
        is_batch = true;
        hint = strcmp(argv[1], "batch") == 0 ? "pliant_shared_batch" : NULL;
    }
    if (dies) {
        check_death();
    } else {
        check_lines();
        check_mixture();
        if (is_batch) {
            check_soon();
        } else {
            check_without();
        }
        check_limit();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (me == (dies ? 1 : 0)) {
        unlink(path);
    }
    MPI_Finalize();
    return t_status();
}
