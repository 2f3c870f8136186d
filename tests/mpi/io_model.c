// SPDX-License-Identifier: BSD-3-Clause
// Random views and accesses beside a model of the file that is an array of bytes: every way to
// write leaves the bytes that the model has, and every way to read finds them.
#include "io_t.h"
#include "t.h"

#include <mpi.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_CELL = 600, MOST = 1 << 16 };

static int me, n;
static char path[64];
static uint64_t common, own; // states of the random numbers that all ranks have, and of this one

static uint32_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static uint32_t below(uint32_t most)
{
    return draw(&common) % most;
}

// A pattern of cells: cell i belongs to rank owner[i], or to nobody.
struct pattern {
    int n_cell, unit; // bytes of a cell
    int owner[N_CELL];
    int disp, n_turn; // the view begins there and repeats so often
};

static void draw_pattern(struct pattern *p)
{
    static const int units[] = { 1, 4, 8, 64, 100 };
    p->unit = units[below(5)];
    p->n_cell = 1 + (int)below(p->unit >= 64 ? 60 : N_CELL);
    p->disp = (int)below(3) * 17;
    p->n_turn = 1 + (int)below(4);
    int gaps = (int)below(3), run = 1 + (int)below(5);
    for (int i = 0; i < p->n_cell; i += run) {
        int who = gaps == 0 ? i / run % n : (int)below((uint32_t)(n + gaps)) - gaps + 1;
        for (int j = i; j < i + run && j < p->n_cell; j++) {
            p->owner[j] = who < n ? who : -1;
        }
    }
}

static int cells_of(const struct pattern *p, int rank)
{
    int sum = 0;
    for (int i = 0; i < p->n_cell; i++) {
        sum += p->owner[i] == rank;
    }
    return sum;
}

// The filetype of this rank, from one of several constructors.
static MPI_Datatype filetype(const struct pattern *p, MPI_Datatype etype)
{
    int lens[N_CELL], at[N_CELL], k = 0;
    for (int i = 0; i < p->n_cell; i++) {
        if (p->owner[i] == me) {
            lens[k] = 1;
            at[k++] = i;
        }
    }
    MPI_Datatype list, whole;
    if (draw(&own) % 2 == 0) {
        MPI_Type_indexed(k, lens, at, etype, &list);
    } else {
        MPI_Type_create_indexed_block(k, 1, at, etype, &list);
    }
    MPI_Type_create_resized(list, 0, (MPI_Aint)p->n_cell * p->unit, &whole);
    MPI_Type_commit(&whole);
    MPI_Type_free(&list);
    return whole;
}

// Byte j of the stream of a rank's view is at this place of the file.
static long place(const struct pattern *p, int rank, long j)
{
    int mine = cells_of(p, rank);
    long cell = j / p->unit, turn = cell / mine, k = cell % mine;
    for (int i = 0; i < p->n_cell; i++) {
        if (p->owner[i] == rank && k-- == 0) {
            return p->disp + (turn * p->n_cell + i) * (long)p->unit + j % p->unit;
        }
    }
    return -1;
}

static unsigned char value(int rank, long j, int round)
{
    return (unsigned char)(rank * 37 + j * 7 + round * 11 + 1);
}

// A memory layout of len bytes: one run, or pieces with gaps.
struct memory {
    char *buf;
    MPI_Datatype type;
    int count;
    int piece, step;
};

static void layout(struct memory *m, int len, int unit)
{
    int is_run = draw(&own) % 2 == 0 || len == 0;
    m->piece = unit;
    m->step = is_run ? unit : unit + 3 + (int)(draw(&own) % 20);
    m->count = len / unit;
    m->buf = malloc((size_t)m->count * (size_t)m->step + 1);
    memset(m->buf, 0xee, (size_t)m->count * (size_t)m->step + 1);
    MPI_Datatype one;
    MPI_Type_contiguous(unit, MPI_BYTE, &one);
    MPI_Type_create_resized(one, 0, m->step, &m->type);
    MPI_Type_commit(&m->type);
    MPI_Type_free(&one);
}

static char *byte_at(const struct memory *m, long j)
{
    return m->buf + j / m->piece * m->step + j % m->piece;
}

static void drop(struct memory *m)
{
    MPI_Type_free(&m->type);
    free(m->buf);
}

// One of the ways to move data; returns the bytes that the status tells.
static int move(MPI_File f, int is_write, int way, MPI_Offset at, struct memory *m)
{
    MPI_Status s;
    MPI_Request r = MPI_REQUEST_NULL;
    int err = 0, bytes = -1;
    switch (way) {
    case 0:
        err = is_write ? MPI_File_write_at(f, at, m->buf, m->count, m->type, &s)
                       : MPI_File_read_at(f, at, m->buf, m->count, m->type, &s);
        break;
    case 1:
        err = is_write ? MPI_File_write_at_all(f, at, m->buf, m->count, m->type, &s)
                       : MPI_File_read_at_all(f, at, m->buf, m->count, m->type, &s);
        break;
    case 2:
        T_EQ(MPI_File_seek(f, at, MPI_SEEK_SET), 0);
        err = is_write ? MPI_File_write_all(f, m->buf, m->count, m->type, &s)
                       : MPI_File_read_all(f, m->buf, m->count, m->type, &s);
        break;
    case 3:
        err = is_write ? MPI_File_iwrite_at(f, at, m->buf, m->count, m->type, &r)
                       : MPI_File_iread_at(f, at, m->buf, m->count, m->type, &r);
        T_EQ(MPI_Wait(&r, &s), 0);
        break;
    case 4:
        err = is_write ? MPI_File_iwrite_at_all(f, at, m->buf, m->count, m->type, &r)
                       : MPI_File_iread_at_all(f, at, m->buf, m->count, m->type, &r);
        T_EQ(MPI_Wait(&r, &s), 0);
        break;
    case 5:
        err = is_write ? MPI_File_write_at_all_begin(f, at, m->buf, m->count, m->type)
                       : MPI_File_read_at_all_begin(f, at, m->buf, m->count, m->type);
        T_EQ(is_write ? MPI_File_write_at_all_end(f, m->buf, &s)
                      : MPI_File_read_at_all_end(f, m->buf, &s),
             0);
        break;
    default:
        T_EQ(MPI_File_seek(f, at, MPI_SEEK_SET), 0);
        err = is_write ? MPI_File_write(f, m->buf, m->count, m->type, &s)
                       : MPI_File_read(f, m->buf, m->count, m->type, &s);
        break;
    }
    T_EQ(err, 0);
    T_EQ(MPI_Get_count(&s, MPI_BYTE, &bytes), 0);
    return bytes;
}

static unsigned char model[1 << 20];
static long model_size;

// The file as the system has it.
static void check_file(int round)
{
    static unsigned char real[1 << 20];
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        int fd = io_t_open(path);
        struct stat st;
        T_MUST(fd >= 0 && fstat(fd, &st) == 0);
        T_EQ(st.st_size, model_size);
        T_EQ(read(fd, real, sizeof real), model_size);
        close(fd);
        for (long i = 0; i < model_size; i++) {
            if (real[i] != model[i]) {
                fprintf(stderr, "round %d: byte %ld is %d, expected %d\n", round, i, real[i],
                        model[i]);
                t_failed++;
                break;
            }
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void write_round(MPI_File f, const struct pattern *p, int round)
{
    int way = (int)below(7), from[16], len[16];
    // Every rank writes a part of its stream.
    for (int r = 0; r < n; r++) {
        int all = cells_of(p, r) * p->n_turn;
        from[r] = all > 0 ? (int)below((uint32_t)all) : 0;
        len[r] = all > 0 ? (int)below((uint32_t)(all - from[r]) + 1) * p->unit : 0;
    }
    struct memory m;
    layout(&m, len[me], p->unit);
    for (long j = 0; j < len[me]; j++) {
        *byte_at(&m, j) = (char)value(me, from[me] * (long)p->unit + j, round);
    }
    T_EQ(move(f, 1, way, from[me], &m), len[me]);
    drop(&m);
    for (int r = 0; r < n; r++) {
        for (long j = 0; j < len[r]; j++) {
            long at = place(p, r, from[r] * (long)p->unit + j);
            model[at] = value(r, from[r] * (long)p->unit + j, round);
            model_size = at >= model_size ? at + 1 : model_size;
        }
    }
    check_file(round);
}

static void read_round(MPI_File f, const struct pattern *p, int round)
{
    int way = (int)below(7), all = cells_of(p, me) * p->n_turn;
    int from = all > 0 ? (int)(draw(&own) % (uint32_t)all) : 0;
    int len = all > 0 ? (int)(draw(&own) % ((uint32_t)(all - from) + 1)) * p->unit : 0;
    struct memory m;
    layout(&m, len, p->unit);
    int got = move(f, 0, way, from, &m), have = 0;
    for (long j = 0; j < len; j++) {
        long at = place(p, me, from * (long)p->unit + j);
        if (at >= model_size) {
            break;
        }
        have++;
        if ((unsigned char)*byte_at(&m, j) != model[at]) {
            fprintf(stderr,
                    "round %d, rank %d: byte %ld at %ld of the file is %d, expected %d (way %d)\n",
                    round, me, j, at, (unsigned char)*byte_at(&m, j), model[at], way);
            t_failed++;
            break;
        }
    }
    T_EQ(got, have);
    drop(&m);
    MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_Info hints(int round)
{
    MPI_Info info;
    MPI_Info_create(&info);
    if (round % 3 == 1) {
        MPI_Info_set(info, "cb_buffer_size", "4096");
        MPI_Info_set(info, "ind_wr_buffer_size", "4096");
        MPI_Info_set(info, "ind_rd_buffer_size", "4096");
    }
    if (round % 4 == 2) {
        MPI_Info_set(info, "romio_cb_write", "enable");
        MPI_Info_set(info, "romio_cb_read", "enable");
        MPI_Info_set(info, "romio_ds_write", "enable");
        MPI_Info_set(info, "cb_nodes", round % 8 == 2 ? "1" : "3");
    }
    if (round % 7 >= 5) {
        MPI_Info_set(info, "pliant_map", "disable");
    }
    if (round % 9 >= 6) { // as on NFS
        MPI_Info_set(info, "pliant_lock", "enable");
    }
    if (round % 5 == 3) {
        MPI_Info_set(info, "romio_ds_write", "disable");
        MPI_Info_set(info, "romio_ds_read", "disable");
    }
    return info;
}

static void round_of(int round)
{
    static struct pattern p;
    MPI_File f;
    MPI_Info info = hints(round);
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f), 0);
    T_EQ(MPI_File_set_size(f, 0), 0);
    memset(model, 0, sizeof model);
    model_size = 0;
    for (int i = 0; i < 4; i++) {
        draw_pattern(&p);
        MPI_Datatype etype;
        MPI_Type_contiguous(p.unit, MPI_BYTE, &etype);
        MPI_Type_commit(&etype);
        MPI_Datatype type = filetype(&p, etype);
        T_EQ(MPI_File_set_view(f, p.disp, etype, type, "native", MPI_INFO_NULL), 0);
        if (i == 2) {
            T_EQ(MPI_File_set_atomicity(f, 1), 0);
        }
        write_round(f, &p, round * 4 + i);
        read_round(f, &p, round * 4 + i);
        MPI_Type_free(&type);
        MPI_Type_free(&etype);
    }
    T_EQ(MPI_File_close(&f), 0);
    T_OK(f == MPI_FILE_NULL);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    T_MUST(n <= 16);
    int rounds = argc > 1 ? atoi(argv[1]) : 40, seed = argc > 2 ? atoi(argv[2]) : 1;
    io_t_path(path, sizeof path, "/tmp", "io_model");
    common = (uint64_t)seed;
    own = (uint64_t)(seed * 100 + me);
    for (int i = 0; i < rounds && t_failed == 0; i++) {
        round_of(i);
        MPI_Allreduce(MPI_IN_PLACE, &t_failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        unlink(path);
    }
    MPI_Finalize();
    return t_status();
}
