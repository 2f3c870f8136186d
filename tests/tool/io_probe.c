// SPDX-License-Identifier: BSD-3-Clause
// Ranks that write a file in every way, step by step, until a test lets them end:
//
//     io_probe FILE GATE [state | leave | mapped | batch]      ends when GATE is there
//
// state: the number of the step is what a checkpoint holds. It is made while an access is under
// way; the program that starts again opens the files, cuts off what was written later, and goes on.
//
// mapped: lines are stored in a mapping of FILE.log. batch: they are collected.
// leave: all ranks but one end, because the world shrinks, and do not close the file.
//
// Each step appends a block of records interleaved by rank, half of it nonblocking, and one line of
// every rank by the shared pointer of FILE.log. In the end all is read and compared.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RECORD = 64, N_RECORD = 100, BYTES = RECORD * N_RECORD, LINE = 32 };

static int rank, size, with_state, with_batch;
static char out[2][BYTES], in[BYTES];

static void check(int is_good, const char *what, int step)
{
    if (!is_good) {
        fprintf(stderr, "io_probe: rank %d: %s is wrong at step %d\n", rank, what, step);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static void must(int code, const char *what, int step)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;
    if (code != MPI_SUCCESS) {
        MPI_Error_string(code, text, &len);
        fprintf(stderr, "io_probe: %s\n", text);
    }
    check(code == MPI_SUCCESS, what, step);
}

static void fill(char *buf, int step, int half)
{
    for (int i = 0; i < BYTES; i++) {
        buf[i] = (char)(rank * 37 + step * 11 + half * 5 + i);
    }
}

static int state_size(void *arg, MPI_Count *bytes)
{
    *bytes = sizeof(int);
    return arg != NULL ? MPI_SUCCESS : MPI_ERR_ARG;
}

static int state_pack(void *arg, void *buf, MPI_Count bytes)
{
    memcpy(buf, arg, (size_t)bytes);
    return MPI_SUCCESS;
}

static int state_unpack(void *arg, int piece, int n_piece, const void *buf, MPI_Count bytes)
{
    memcpy(arg, buf, sizeof(int));
    return bytes == sizeof(int) && piece < n_piece ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static void take_state(int *step)
{
    int n_piece = 0;
    must(MPIX_Checkpoint_register("step", state_size, state_pack, state_unpack, step),
         "MPIX_Checkpoint_register", 0);
    must(MPIX_Checkpoint_restore(MPI_COMM_WORLD, &n_piece), "MPIX_Checkpoint_restore", 0);
    if (n_piece > 0 && rank == 0) {
        printf("from step %d on\n", *step);
        fflush(stdout);
    }
}

static void give_state(int step)
{
    int is_wanted = 0, must_be = 0, is_restarted;
    must(MPIX_Checkpoint_wanted(&is_wanted), "MPIX_Checkpoint_wanted", step);
    MPI_Allreduce(&is_wanted, &must_be, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (must_be) {
        must(MPIX_Checkpoint(MPI_COMM_WORLD, &is_restarted), "MPIX_Checkpoint", step);
    }
}

static MPI_File open_file(const char *name, int mode, MPI_Offset bytes)
{
    MPI_File f;
    MPI_Info info;
    MPI_Info_create(&info);
    // A mapping is used where the mode allows it.
    MPI_Info_set(info, with_batch ? "pliant_shared_batch" : "pliant_shared_map", "enable");
    must(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | mode, info, &f), "MPI_File_open", 0);
    MPI_Info_free(&info);
    must(MPI_File_set_size(f, bytes), "MPI_File_set_size", 0);
    must(MPI_File_seek_shared(f, bytes, MPI_SEEK_SET), "MPI_File_seek_shared", 0);
    return f;
}

static void write_step(MPI_File f, MPI_File lines, int step)
{
    MPI_Request r;
    char line[LINE];
    MPI_Offset at = (MPI_Offset)step * 2 * BYTES;
    fill(out[0], step, 0);
    fill(out[1], step, 1);
    must(MPI_File_iwrite_at_all(f, at, out[0], BYTES, MPI_BYTE, &r), "MPI_File_iwrite_at_all",
         step);
    must(MPI_File_write_at(f, at + BYTES, out[1], BYTES, MPI_BYTE, MPI_STATUS_IGNORE),
         "MPI_File_write_at", step);
    if (with_state) {
        give_state(step);
    }
    must(MPI_Wait(&r, MPI_STATUS_IGNORE), "MPI_Wait", step);
    memset(line, ' ', LINE);
    snprintf(line, LINE, "%d %d", rank, step);
    line[LINE - 1] = '\n';
    must(MPI_File_write_shared(lines, line, LINE, MPI_BYTE, MPI_STATUS_IGNORE),
         "MPI_File_write_shared", step);
}

static void read_all(MPI_File f, int n_step)
{
    for (int step = 0; step < n_step; step++) {
        for (int half = 0; half < 2; half++) {
            MPI_Offset at = (MPI_Offset)(2 * step + half) * BYTES;
            must(MPI_File_read_at_all(f, at, in, BYTES, MPI_BYTE, MPI_STATUS_IGNORE), "reading",
                 step);
            fill(out[0], step, half);
            check(memcmp(in, out[0], BYTES) == 0, "the data", step);
        }
    }
}

// Every rank has one line of every step there.
static void read_lines(const char *name, int n_step)
{
    MPI_File lines;
    char line[LINE];
    MPI_Offset bytes;
    int *next = calloc((size_t)size, sizeof *next);
    must(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &lines),
         "MPI_File_open", n_step);
    must(MPI_File_get_size(lines, &bytes), "MPI_File_get_size", n_step);
    check(bytes == (MPI_Offset)LINE * size * n_step, "the size of the log", n_step);
    for (int i = 0; i < size * n_step; i++) {
        int who = -1, step = -1;
        must(MPI_File_read_at(lines, (MPI_Offset)i * LINE, line, LINE, MPI_BYTE, MPI_STATUS_IGNORE),
             "reading the log", i);
        line[LINE - 1] = '\0';
        check(sscanf(line, "%d %d", &who, &step) == 2 && who >= 0 && who < size, "a line", i);
        check(step == next[who]++, "the order of lines", i);
    }
    free(next);
    must(MPI_File_close(&lines), "MPI_File_close", n_step);
}

static int leave(MPI_File f)
{
    int version = 0;
    must(MPIX_World_resize(MPI_COMM_WORLD, 1), "MPIX_World_resize", 0);
    while (version == 0) {
        MPIX_World_version(&version);
    }
    if (rank == 0) {
        must(MPI_File_write_at(f, 0, out[0], BYTES, MPI_BYTE, MPI_STATUS_IGNORE),
             "MPI_File_write_at", 0);
        must(MPI_File_write_shared(f, out[0], BYTES, MPI_BYTE, MPI_STATUS_IGNORE),
             "MPI_File_write_shared", 0);
        printf("written alone\n");
        fflush(stdout);
        MPI_File_write_at_all(f, 0, out[0], BYTES, MPI_BYTE, MPI_STATUS_IGNORE); // for ever
    }
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    char name[512];
    int step = 0, is_over = 0, mode = MPI_MODE_RDWR;
    MPI_Datatype record, view;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(argc == 3 || argc == 4, "the number of arguments", 0);
    with_state = argc == 4 && strcmp(argv[3], "state") == 0;
    with_batch = argc == 4 && strcmp(argv[3], "batch") == 0;
    if (with_state) {
        take_state(&step);
    }
    snprintf(name, sizeof name, "%.500s.log", argv[1]);
    if (argc == 4 && strcmp(argv[3], "mapped") == 0) {
        mode = MPI_MODE_WRONLY;
    }
    MPI_File f = open_file(argv[1], MPI_MODE_RDWR, (MPI_Offset)step * 2 * BYTES * size);
    MPI_File lines = open_file(name, mode, (MPI_Offset)step * LINE * size);
    if (argc == 4 && strcmp(argv[3], "leave") == 0) {
        return leave(f);
    }
    MPI_Type_contiguous(RECORD, MPI_BYTE, &record);
    MPI_Type_create_resized(record, 0, (MPI_Aint)RECORD * size, &view);
    MPI_Type_commit(&view);
    must(MPI_File_set_view(f, (MPI_Offset)RECORD * rank, MPI_BYTE, view, "native", MPI_INFO_NULL),
         "MPI_File_set_view", 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (; !is_over; step++) {
        write_step(f, lines, step);
        int is_there = access(argv[2], F_OK) == 0;
        MPI_Allreduce(&is_there, &is_over, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (rank == 0 && step % 5 == 0) {
            printf("step %d \n", step);
            fflush(stdout);
        }
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    must(MPI_File_sync(lines), "MPI_File_sync", step);
    MPI_Barrier(MPI_COMM_WORLD);
    read_all(f, step);
    read_lines(name, step);
    must(MPI_File_close(&lines), "MPI_File_close", step);
    must(MPI_File_close(&f), "MPI_File_close", step);
    if (rank == 0) {
        printf("all is well with %d ranks\n", size);
    }
    MPI_Type_free(&view);
    MPI_Type_free(&record);
    MPI_Finalize();
    return 0;
}
