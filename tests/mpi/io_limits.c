// SPDX-License-Identifier: BSD-3-Clause
// What files cost: the memory of a collective access, which has a limit whatever the number of
// ranks and aggregators, and threads, which none has that does not need it. And hints, which change
// that.
#include "io_t.h"
#include "t.h"

#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

enum { BUFFER = 2 << 20, PIECE = 512 };

static int me, n;

static long peak_kb(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kb = 0;
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, "VmHWM: %ld", &kb) == 1) {
            break;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return kb;
}

// The peak is from now on.
static int forget_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY);
    int is = fd >= 0 && write(fd, "5", 1) == 1;
    if (fd >= 0) {
        close(fd);
    }
    return is;
}

static void interleave(MPI_File f, int count)
{
    MPI_Datatype t;
    MPI_Type_vector(count, PIECE, PIECE * n, MPI_BYTE, &t);
    MPI_Type_commit(&t);
    T_EQ(MPI_File_set_view(f, (MPI_Offset)me * PIECE, MPI_BYTE, t, "native", MPI_INFO_NULL),
         MPI_SUCCESS);
    MPI_Type_free(&t);
}

// How data is moved.
struct way {
    int buffer, n_aggregator;
    int step;     // 2: every second piece of memory
    int n_later;  // so many parts by nonblocking calls, all at once; 0: by a blocking one
    int slack_kb; // of queues between processes, which count as memory of those that touch them
};

// Before: the memory of queues between processes, which stays.
static void fill_queues(char *buf, int len)
{
    for (int to = 0; to < n; to++) {
        for (int from = 0; from < n; from++) {
            if (from != to && me == from) {
                MPI_Send(buf, len, MPI_BYTE, to, 0, MPI_COMM_WORLD);
            } else if (from != to && me == to) {
                MPI_Recv(buf, len, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        }
    }
}

static void move(MPI_File f, bool is_read, const struct way *w, char *buf, int len)
{
    MPI_Datatype t;
    MPI_Request all[4];
    int n_part = w->n_later > 0 ? w->n_later : 1, part = len / n_part;
    MPI_Type_vector(part / PIECE, PIECE, PIECE * w->step, MPI_BYTE, &t);
    MPI_Type_commit(&t);
    for (int i = 0; i < w->n_later; i++) {
        char *at = buf + (size_t)i * (size_t)part * (size_t)w->step;
        MPI_Offset pos = (MPI_Offset)part * i;
        T_EQ(is_read ? MPI_File_iread_at_all(f, pos, at, 1, t, &all[i])
                     : MPI_File_iwrite_at_all(f, pos, at, 1, t, &all[i]),
             MPI_SUCCESS);
    }
    T_EQ(w->n_later > 0 ? MPI_Waitall(w->n_later, all, MPI_STATUSES_IGNORE)
         : is_read      ? MPI_File_read_at_all(f, 0, buf, 1, t, MPI_STATUS_IGNORE)
                        : MPI_File_write_at_all(f, 0, buf, 1, t, MPI_STATUS_IGNORE),
         MPI_SUCCESS);
    MPI_Type_free(&t);
}

static MPI_File open_with(const char *path, const struct way *w)
{
    char buffer[16], aggregators[16];
    MPI_Info info;
    MPI_File f;
    snprintf(buffer, sizeof buffer, "%d", w->buffer);
    snprintf(aggregators, sizeof aggregators, "%d", w->n_aggregator);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", buffer);
    MPI_Info_set(info, "cb_nodes", aggregators);
    MPI_Info_set(info, "pliant_map", "disable");
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f),
         MPI_SUCCESS);
    MPI_Info_free(&info);
    return f;
}

// An aggregator may have two buffers and no more, and so may a rank that packs for others.
static void memory(const char *path, const struct way *w)
{
    int len = w->buffer, same = 0;
    char *buf = malloc((size_t)len * (size_t)w->step);
    T_MUST(buf != NULL);
    memset(buf, me, (size_t)len * (size_t)w->step);
    MPI_File f = open_with(path, w);
    interleave(f, len / PIECE);
    T_EQ(MPI_File_write_at_all(f, 0, buf, PIECE, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    for (int is_read = 0; is_read < 2; is_read++) {
        bool is_told = forget_peak();
        long before = peak_kb();
        move(f, is_read, w, buf, len);
        // Endpoints have a process in common, and a sanitizer has memory of its own.
        long used = T_IS_ENDPOINT || IS_SANITIZED ? 0 : peak_kb() - before;
        if (is_told && used > 2 * w->buffer / 1024 + w->slack_kb) {
            fprintf(stderr, "rank %d of %d needed %ld KiB to %s, with %d buffers of %d KiB\n", me,
                    n, used, is_read ? "read" : "write", w->n_aggregator, w->buffer / 1024);
            t_failed++;
        }
    }
    while (same < len * w->step && buf[same] == (char)me) {
        same++;
    }
    T_EQ(same, len * w->step);
    T_EQ(MPI_File_close(&f), MPI_SUCCESS);
    free(buf);
}

static void check_memory(const char *path)
{
    const struct way ways[] = {
        // By windows in shared memory; by messages; and by messages of several calls, of which more
        // are in the queues: each with memory of its own would have 8 MiB.
        { .buffer = 2 * BUFFER, .n_aggregator = 1, .step = 1, .slack_kb = 1024 },
        { .buffer = BUFFER, .n_aggregator = n, .step = 2, .slack_kb = 1024 },
        { .buffer = BUFFER / 2, .n_aggregator = 2, .step = 1, .n_later = 4, .slack_kb = 3072 },
    };
    char *buf = calloc(BUFFER, 1);
    T_MUST(buf != NULL);
    fill_queues(buf, BUFFER / 4);
    free(buf);
    for (int i = 0; i < (int)(sizeof ways / sizeof ways[0]); i++) {
        memory(path, &ways[i]);
    }
}

static int count_threads(void)
{
    DIR *d = opendir("/proc/self/task");
    int found = 0;
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        found += e->d_name[0] != '.';
    }
    if (d != NULL) {
        closedir(d);
    }
    return found;
}

// The shared pointer is served by rank 0, and by none where all are on one host.
static void threads(const char *path)
{
    MPI_File f;
    int before = count_threads();
    int n_here;
    MPI_Comm here;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &n_here);
    MPI_Comm_free(&here);
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
         MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if ((me != 0 || n_here == n) && !T_IS_ENDPOINT) {
        T_EQ(count_threads(), before);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_File_write_shared(f, &me, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Offset at = 0;
    T_EQ(MPI_File_get_position_shared(f, &at), MPI_SUCCESS);
    T_EQ(at, (MPI_Offset)n * (MPI_Offset)sizeof me);
    T_EQ(MPI_File_close(&f), MPI_SUCCESS);
}

// Every hint of docs/io.md can be read back; a value that cannot be is left out.
static void hints(const char *path)
{
    static const char *const rows[][3] = {
        // what is passed, and what is read back
        { "cb_buffer_size", "1048576", "1048576" },     { "cb_nodes", "1", "1" },
        { "romio_cb_write", "ENABLE", "ENABLE" },       { "romio_cb_read", "disable", "disable" },
        { "collective_buffering", "true", "true" },     { "ind_rd_buffer_size", "65536", "65536" },
        { "ind_wr_buffer_size", "many", "524288" },     { "romio_ds_read", "enable", "enable" },
        { "romio_ds_write", "sometimes", "automatic" }, { "pliant_map", "disable", "disable" },
        { "striping_unit", "65536", "65536" },          { "striping_factor", "7", "7" },
        { "romio_lustre_co_ratio", "2", "2" }, // not known: kept
    };
    enum { N_ROW = sizeof rows / sizeof rows[0] };
    MPI_Info info, used;
    MPI_File f;
    MPI_Info_create(&info);
    for (int i = 0; i < N_ROW; i++) {
        MPI_Info_set(info, rows[i][0], rows[i][1]);
    }
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f),
         MPI_SUCCESS);
    T_EQ(MPI_File_get_info(f, &used), MPI_SUCCESS);
    for (int i = 0; i < N_ROW; i++) {
        char value[64] = "";
        int len = sizeof value, flag = 0;
        MPI_Info_get_string(used, rows[i][0], &len, value, &flag);
        T_EQ(flag, 1);
        T_STR(value, rows[i][2]);
    }
    MPI_Info_free(&used);
    // A buffer that is too small is as large as the smallest.
    char least[64] = "";
    int room = sizeof least, is_there = 0;
    MPI_Info_set(info, "ind_rd_buffer_size", "1107");
    T_EQ(MPI_File_set_info(f, info), MPI_SUCCESS);
    T_EQ(MPI_File_get_info(f, &used), MPI_SUCCESS);
    MPI_Info_get_string(used, "ind_rd_buffer_size", &room, least, &is_there);
    T_STR(least, "4096");
    MPI_Info_free(&used);
    MPI_Info_free(&info);
    T_EQ(MPI_File_close(&f), MPI_SUCCESS);
}

// A view comes with hints too. Those that all members had to know when the file was opened stay:
// a longer buffer would be written beyond the end of the one that is there.
static void hints_of_view(const char *path)
{
    enum { N_PIECE = 2048, BYTES = N_PIECE * PIECE };
    const struct way small = { .buffer = 4096, .n_aggregator = 1 };
    char *out = malloc(BYTES), *in = calloc(BYTES, 1), value[64] = "";
    int room = sizeof value, is_there = 0;
    MPI_Info info;
    MPI_Datatype t, view;
    T_MUST(out != NULL && in != NULL);
    memset(out, 'a' + me, BYTES);
    MPI_File f = open_with(path, &small);
    MPI_Type_contiguous(PIECE, MPI_BYTE, &t);
    MPI_Type_create_resized(t, 0, (MPI_Aint)PIECE * n + 1, &view); // with gaps
    MPI_Type_commit(&view);
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", "enable");
    for (int i = 0; i < 2; i++) {
        T_EQ(MPI_File_set_view(f, (MPI_Offset)me * PIECE, MPI_BYTE, view, "native", info),
             MPI_SUCCESS);
        T_EQ(MPI_File_write_at_all(f, 0, out, i == 0 ? PIECE : BYTES, MPI_BYTE, MPI_STATUS_IGNORE),
             MPI_SUCCESS);
        if (me == 0) {
            MPI_Info_set(info, "cb_buffer_size", "1048576");
            MPI_Info_set(info, "cb_nodes", "2");
        }
    }
    T_EQ(MPI_File_read_at(f, 0, in, BYTES, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    T_EQ(memcmp(in, out, BYTES), 0);
    MPI_Info_free(&info);
    T_EQ(MPI_File_get_info(f, &info), MPI_SUCCESS);
    MPI_Info_get_string(info, "cb_buffer_size", &room, value, &is_there);
    T_STR(value, "4096");
    room = sizeof value;
    MPI_Info_get_string(info, "cb_nodes", &room, value, &is_there);
    T_STR(value, "1");
    MPI_Info_free(&info);
    MPI_Type_free(&view);
    MPI_Type_free(&t);
    T_EQ(MPI_File_close(&f), MPI_SUCCESS);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    char path[128];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    io_t_path(path, sizeof path, "/tmp", "io_limits");
    threads(path);
    check_memory(path);
    hints(path);
    hints_of_view(path);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        unlink(path);
    }
    MPI_Finalize();
    return t_status();
}
