// SPDX-License-Identifier: BSD-3-Clause
// Files that are opened and closed many times: what one leaves for the next is as new, and nothing
// is given back to the system that the next one needs. The argument is the folder of the files.
#include "t.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { N_OPEN = 20, LINE = 50, N_LINE = 2000, N_AT_ONCE = 3 };

static int me, n;
static char folder[200];
static _Atomic int n_removed; // how often memory that ranks share was given back

int madvise(void *at, size_t len, int advice)
{
    n_removed += advice == MADV_REMOVE;
    return (int)syscall(SYS_madvise, at, len, advice);
}

static MPI_File open_one(MPI_Comm c, const char *name, int mode, const char *hint)
{
    char path[300];
    MPI_File f = MPI_FILE_NULL;
    MPI_Info info;
    MPI_Info_create(&info);
    if (hint != NULL) {
        MPI_Info_set(info, hint, "enable");
    }
    snprintf(path, sizeof path, "%s.%s", folder, name);
    T_EQ(MPI_File_open(c, path, mode, info, &f), 0);
    MPI_Info_free(&info);
    return f;
}

// Between hosts the pointer is in a window, whose memory is given back.
static bool is_one_host(void)
{
    MPI_Comm host;
    int size;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &size);
    MPI_Comm_free(&host);
    return size == n;
}

static void check_given(void)
{
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    bool is_one = is_one_host();
    MPI_Offset at;
    int before = 0;
    for (int i = 0; i < N_OPEN; i++) {
        MPI_File f = open_one(MPI_COMM_WORLD, "given", mode, NULL);
        T_EQ(MPI_File_get_position_shared(f, &at), 0);
        T_EQ(at, 0);
        MPI_Barrier(MPI_COMM_WORLD);
        T_EQ(MPI_File_seek_shared(f, 1000 + i, MPI_SEEK_SET), 0);
        T_EQ(MPI_File_close(&f), 0);
        before = i == 0 ? n_removed : before;
    }
    T_EQ(is_one ? n_removed : before, before);
}

// "<rank> <number> xxxx\n"
static void make_line(char *line, int rank, int i, int turn)
{
    memset(line, 'a' + turn % 26, LINE);
    int used = snprintf(line, LINE, "%d %d", rank, i);
    line[used] = ' ';
    line[LINE - 1] = '\n';
}

static void write_lines(MPI_File f, MPI_Comm c, int turn)
{
    char line[LINE];
    int rank;
    MPI_Offset at;
    MPI_Comm_rank(c, &rank);
    T_EQ(MPI_File_get_position_shared(f, &at), 0);
    T_EQ(at, 0);
    MPI_Barrier(c);
    for (int i = 0; i < N_LINE; i++) {
        make_line(line, rank, i, turn);
        T_EQ(MPI_File_write_shared(f, line, LINE, MPI_BYTE, MPI_STATUS_IGNORE), 0);
    }
}

// Each line is there once, those of a rank in their order, and nothing else.
static void read_lines(MPI_File f, MPI_Comm c, int turn)
{
    static char got[LINE * N_LINE * 8];
    char want[LINE], line[LINE] = "";
    int size, rank, counts[8] = { 0 };
    MPI_Offset bytes;
    MPI_Comm_size(c, &size);
    MPI_Comm_rank(c, &rank);
    MPI_Barrier(c);
    T_EQ(MPI_File_get_size(f, &bytes), 0);
    T_EQ(bytes, LINE * N_LINE * size);
    T_EQ(MPI_File_read_at(f, 0, got, LINE * N_LINE * size, MPI_BYTE, MPI_STATUS_IGNORE), 0);
    for (int i = 0; i < N_LINE * size && t_failed == 0; i++) {
        int from = -1, number = -1;
        memcpy(line, got + i * LINE, LINE - 1); // sscanf would look for the end of all
        T_EQ(sscanf(line, "%d %d", &from, &number), 2);
        T_MUST(from >= 0 && from < size);
        T_EQ(number, counts[from]++);
        make_line(want, from, number, turn);
        T_EQ(memcmp(got + i * LINE, want, LINE), 0);
    }
}

// Files of all, of half of the ranks and of one, plain, with lines collected, and only read, one
// after the other and several at a time.
static void check_turns(void)
{
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    MPI_Comm half, comms[3] = { MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_SELF };
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &half);
    comms[1] = half;
    for (int turn = 0; turn < N_OPEN; turn++) {
        MPI_Comm c = comms[turn % 3];
        MPI_File files[N_AT_ONCE];
        int n_file = turn % 5 == 0 ? N_AT_ONCE : 1;
        for (int i = 0; i < n_file; i++) {
            char name[40];
            int first = me;
            MPI_Bcast(&first, 1, MPI_INT, 0, c);
            snprintf(name, sizeof name, "%d.%d.%d", first, turn, i);
            files[i] = open_one(c, name, mode, turn % 4 == 3 ? NULL : "pliant_shared_batch");
        }
        for (int i = 0; i < n_file; i++) {
            write_lines(files[i], c, turn + i);
        }
        for (int i = 0; i < n_file; i++) {
            read_lines(files[i], c, turn + i);
            T_EQ(MPI_File_close(&files[i]), 0);
        }
        MPI_File only = open_one(MPI_COMM_WORLD, "only", MPI_MODE_RDONLY, NULL);
        T_EQ(MPI_File_close(&only), 0);
        MPI_File map = open_one(MPI_COMM_WORLD, "only", MPI_MODE_WRONLY, "pliant_shared_map");
        write_lines(map, MPI_COMM_WORLD, turn);
        T_EQ(MPI_File_close(&map), 0);
    }
    MPI_Comm_free(&half);
}

static void expect_hint(MPI_File f, const char *key, const char *want)
{
    MPI_Info info;
    char value[64] = "";
    int has = 0;
    T_EQ(MPI_File_get_info(f, &info), 0);
    MPI_Info_get(info, key, 63, value, &has);
    T_EQ(has, want != NULL);
    T_STR(value, want != NULL ? want : "");
    MPI_Info_free(&info);
}

// A file that was given no hints tells those that it has, and takes others later.
static void check_hints(void)
{
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    MPI_File f = open_one(MPI_COMM_WORLD, "hints", mode, NULL);
    MPI_Info info, empty;
    char nodes[16] = "";
    int has, n_key;
    T_EQ(MPI_File_get_info(f, &info), 0);
    MPI_Info_get_nkeys(info, &n_key);
    T_EQ(n_key, 12);
    MPI_Info_get(info, "cb_nodes", 15, nodes, &has);
    T_OK(has && atoi(nodes) >= 1);
    MPI_Info_free(&info);
    expect_hint(f, "cb_buffer_size", "16777216");
    expect_hint(f, "romio_ds_write", "automatic");
    expect_hint(f, "striping_unit", NULL);
    MPI_Info_create(&empty);
    T_EQ(MPI_File_set_info(f, empty), 0);
    expect_hint(f, "cb_nodes", nodes);
    MPI_Info_set(empty, "romio_ds_write", "disable");
    MPI_Info_set(empty, "cb_nodes", "77"); // others know the members that aggregate
    MPI_Info_set(empty, "of_nobody", "kept");
    T_EQ(MPI_File_set_info(f, empty), 0);
    MPI_Info_free(&empty);
    expect_hint(f, "romio_ds_write", "disable");
    expect_hint(f, "of_nobody", "kept");
    expect_hint(f, "cb_nodes", nodes);
    expect_hint(f, "cb_buffer_size", "16777216");
    T_EQ(MPI_File_close(&f), 0);
    f = open_one(MPI_COMM_WORLD, "hints", mode, NULL);
    expect_hint(f, "romio_ds_write", "automatic");
    expect_hint(f, "of_nobody", NULL);
    T_EQ(MPI_File_close(&f), 0);
}

// All ranks tell what is in use: what rank 0 passed.
static void check_first_hints(void)
{
    const int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE;
    const char *const keys[] = { "cb_buffer_size", "striping_unit", "cb_nodes" };
    char path[300], value[16];
    for (int who = 0; who < 3; who++) { // all pass hints, the first rank, the others
        MPI_File f;
        MPI_Info info;
        bool has = who == 0 || (who == 1) == (me == 0);
        MPI_Info_create(&info);
        for (int i = 0; i < 3; i++) {
            snprintf(value, sizeof value, "%d", i == 2 ? 1 : (me + 2) * 65536);
            MPI_Info_set(info, keys[i], value);
        }
        MPI_Info_set(info, "pliant_shared_map", me == 0 ? "enable" : "disable");
        snprintf(path, sizeof path, "%s.first", folder);
        T_EQ(MPI_File_open(MPI_COMM_WORLD, path, mode, has ? info : MPI_INFO_NULL, &f), 0);
        bool is_passed = who < 2;
        expect_hint(f, "cb_buffer_size", is_passed ? "131072" : "16777216");
        expect_hint(f, "striping_unit", is_passed ? "131072" : NULL);
        expect_hint(f, "pliant_shared_map", is_passed ? "enable" : "automatic");
        MPI_Info_set(info, "cb_buffer_size", "5000000");
        MPI_Info_set(info, "striping_unit", "5000");
        T_EQ(MPI_File_set_info(f, info), 0);
        expect_hint(f, "cb_buffer_size", is_passed ? "131072" : "16777216");
        expect_hint(f, "striping_unit", is_passed ? "131072" : NULL);
        MPI_Info_free(&info);
        T_EQ(MPI_File_close(&f), 0);
    }
}

// Whoever passes hints that decide how ranks work together, all choose alike.
static void check_own_hints(void)
{
    enum { ROW = 100, N_ROW = 400 };
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    const char *const hints[][2] = { { "striping_unit", "70000" },
                                     { "romio_cb_write", "enable" },
                                     { "romio_cb_write", "disable" } };
    static char x[ROW * N_ROW], y[ROW * N_ROW];
    MPI_Datatype rows;
    MPI_Type_vector(N_ROW, ROW, ROW * n, MPI_BYTE, &rows);
    MPI_Type_commit(&rows);
    for (int i = 0; i < 3 * 2 * 2; i++) {
        char path[300];
        MPI_File f;
        MPI_Info info;
        MPI_Info_create(&info);
        if (me == (i % 2 == 0 ? 0 : n - 1)) {
            MPI_Info_set(info, hints[i / 4][0], hints[i / 4][1]);
        }
        if (i / 4 == 0) {
            MPI_Info_set(info, "romio_cb_write", "enable");
        }
        snprintf(path, sizeof path, "%s.own", folder);
        T_EQ(MPI_File_open(MPI_COMM_WORLD, path, mode, info, &f), 0);
        if (i / 2 % 2 == 0) {
            T_EQ(MPI_File_set_view(f, me * ROW, MPI_BYTE, rows, "native", MPI_INFO_NULL), 0);
        } else {
            T_EQ(MPI_File_set_view(f, me * (int)sizeof x, MPI_BYTE, MPI_BYTE, "native",
                                   MPI_INFO_NULL),
                 0);
        }
        memset(x, 'a' + me, sizeof x);
        memset(y, 0, sizeof y);
        T_EQ(MPI_File_write_all(f, x, sizeof x, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        T_EQ(MPI_File_read_at(f, 0, y, sizeof y, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        T_EQ(memcmp(x, y, sizeof x), 0);
        MPI_Info_free(&info);
        T_EQ(MPI_File_close(&f), 0);
    }
    MPI_Type_free(&rows);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    T_MUST(argc == 2 && n <= 8);
    snprintf(folder, sizeof folder, "%s/io_open.%d", argv[1], (int)getpid());
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    check_given();
    MPI_File f = open_one(MPI_COMM_WORLD, "only", MPI_MODE_CREATE | MPI_MODE_RDWR, NULL);
    check_turns();
    check_hints();
    check_first_hints();
    check_own_hints();
    T_EQ(MPI_File_close(&f), 0);
    if (me == 0) {
        char path[300];
        snprintf(path, sizeof path, "%s.only", folder);
        T_EQ(unlink(path), 0);
    }
    MPI_Finalize();
    return t_status();
}
