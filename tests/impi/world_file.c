// SPDX-License-Identifier: BSD-3-Clause
// Files that all ranks of the world have open: every kind of access, and what goes wrong at one
// rank goes wrong at all.
#include "world.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EACH = 64, RECORDS = 20 };

static int me, n;
// In memory, where there are such files: nothing here is about disks.
static const char *above(void)
{
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static char folder[64], path[96];

static MPI_File open_file(int amode)
{
    MPI_File f;
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &f) == MPI_SUCCESS);
    return f;
}

static void close_file(MPI_File *f)
{
    CHECK(MPI_File_close(f) == MPI_SUCCESS && *f == MPI_FILE_NULL);
}

// What was written is there for all.
static void settle(MPI_File f)
{
    CHECK(MPI_File_sync(f) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_sync(f) == MPI_SUCCESS);
}

static int value(int rank, int i)
{
    return 10000 * rank + i;
}

static void check_count(const MPI_Status *status, int want)
{
    int got;
    MPI_Get_count(status, MPI_INT, &got);
    CHECK(got == want);
}

static void offsets(void)
{
    int out[EACH], in[EACH], amode, result, next = (me + 1) % n;
    MPI_Offset each = sizeof out, size;
    MPI_Group group, world;
    MPI_Status status;
    MPI_File f = open_file(MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR);
    MPI_File_get_amode(f, &amode);
    CHECK(amode == (MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR));
    MPI_File_get_group(f, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    for (int i = 0; i < EACH; i++) {
        out[i] = value(me, i);
    }
    CHECK(MPI_File_write_at_all(f, me * each, out, EACH, MPI_INT, &status) == MPI_SUCCESS);
    check_count(&status, EACH);
    settle(f);
    MPI_File_get_size(f, &size);
    CHECK(size == n * each);
    memset(in, 0, sizeof in);
    CHECK(MPI_File_read_at(f, next * each, in, EACH, MPI_INT, &status) == MPI_SUCCESS);
    check_count(&status, EACH);
    for (int i = 0; i < EACH; i++) {
        CHECK(in[i] == value(next, i));
    }
    CHECK(MPI_File_read_at_all(f, (n - 1) * each, in, 2 * EACH, MPI_INT, &status) == MPI_SUCCESS);
    check_count(&status, EACH); // the end of the file
    close_file(&f);
}

// Blocks of three by turns, written together and alone: the gaps of one are data of the others.
static void views(void)
{
    enum { BLOCK = 3, N_BLOCK = 1000, N = BLOCK * N_BLOCK };
    int out[N], in[N], *all = malloc((size_t)n * N * sizeof *all);
    MPI_Datatype type;
    MPI_Offset disp = (MPI_Offset)(me * BLOCK) * (MPI_Offset)sizeof(int), at;
    MPI_Status status;
    MPI_Type_vector(N_BLOCK, BLOCK, n * BLOCK, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_File f = open_file(MPI_MODE_RDWR);
    for (int round = 0; round < 4; round++) {
        CHECK(MPI_File_set_view(f, disp, MPI_INT, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
        for (int i = 0; i < N; i++) {
            out[i] = value(me, i) + 100000 * round;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (round % 2 == 0) {
            CHECK(MPI_File_write_all(f, out, N, MPI_INT, &status) == MPI_SUCCESS);
        } else {
            CHECK(MPI_File_write(f, out, N, MPI_INT, &status) == MPI_SUCCESS);
        }
        check_count(&status, N);
        MPI_File_get_position(f, &at);
        CHECK(at == N);
        settle(f);
        CHECK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
        CHECK(MPI_File_read_all(f, all, n * N, MPI_INT, &status) == MPI_SUCCESS);
        check_count(&status, n * N);
        for (int i = 0; i < n * N; i++) {
            int rank = i / BLOCK % n, k = i / (n * BLOCK) * BLOCK + i % BLOCK;
            CHECK(all[i] == value(rank, k) + 100000 * round);
        }
        CHECK(MPI_File_set_view(f, disp, MPI_INT, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
        MPI_File_seek(f, BLOCK, MPI_SEEK_SET);
        CHECK(MPI_File_read_all(f, in, N - BLOCK, MPI_INT, &status) == MPI_SUCCESS);
        CHECK(memcmp(in, out + BLOCK, (N - BLOCK) * sizeof *in) == 0);
        settle(f); // nobody writes before all have read
    }
    MPI_Type_free(&type);
    close_file(&f);
    free(all);
}

static void later(void)
{
    int out[4][EACH], in[4][EACH], token = me, got = -1, prev = (me + n - 1) % n;
    MPI_Offset each = sizeof out[0];
    MPI_Request q[4];
    MPI_Status status[4];
    MPI_File f = open_file(MPI_MODE_RDWR);
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < EACH; i++) {
            out[k][i] = value(me, i) + k;
        }
    }
    CHECK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_File_seek(f, (MPI_Offset)(n + me) * EACH, MPI_SEEK_SET);
    MPI_Irecv(&got, 1, MPI_INT, prev, 3, MPI_COMM_WORLD, &q[3]);
    CHECK(MPI_File_iwrite_at(f, (MPI_Offset)me * EACH, out[0], EACH, MPI_INT, &q[0]) == 0);
    CHECK(MPI_File_iwrite_all(f, out[1], EACH, MPI_INT, &q[1]) == 0);
    CHECK(MPI_File_iwrite_at_all(f, (MPI_Offset)(2 * n + me) * EACH, out[2], EACH, MPI_INT,
                                 &q[2]) == 0);
    MPI_Send(&token, 1, MPI_INT, (me + 1) % n, 3, MPI_COMM_WORLD);
    MPI_Waitall(4, q, status);
    CHECK(got == prev);
    for (int k = 0; k < 3; k++) {
        check_count(&status[k], EACH);
    }
    settle(f);
    MPI_Offset size;
    MPI_File_get_size(f, &size);
    CHECK(size >= 3 * n * each);
    MPI_File_seek(f, (MPI_Offset)(n + prev) * EACH, MPI_SEEK_SET);
    CHECK(MPI_File_iread_at_all(f, (MPI_Offset)prev * EACH, in[0], EACH, MPI_INT, &q[0]) == 0);
    CHECK(MPI_File_iread_all(f, in[1], EACH, MPI_INT, &q[1]) == 0);
    CHECK(MPI_File_iread_at(f, (MPI_Offset)(2 * n + prev) * EACH, in[2], EACH, MPI_INT, &q[2]) ==
          0);
    MPI_Waitall(3, q, status);
    for (int k = 0; k < 3; k++) {
        check_count(&status[k], EACH);
        for (int i = 0; i < EACH; i++) {
            CHECK(in[k][i] == value(prev, i) + k);
        }
    }
    close_file(&f);
}

static void splits(void)
{
    int out[EACH], in[EACH];
    MPI_Status status;
    MPI_File f = open_file(MPI_MODE_RDWR);
    for (int i = 0; i < EACH; i++) {
        out[i] = -value(me, i);
    }
    CHECK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all_begin(f, (MPI_Offset)me * EACH, out, EACH, MPI_INT) == 0);
    CHECK(MPI_File_write_at_all_end(f, out, &status) == 0);
    check_count(&status, EACH);
    MPI_File_seek(f, (MPI_Offset)me * EACH, MPI_SEEK_SET);
    CHECK(MPI_File_read_all_begin(f, in, EACH, MPI_INT) == 0);
    CHECK(MPI_File_read_all_end(f, in, &status) == 0);
    CHECK(memcmp(in, out, sizeof in) == 0);
    MPI_File_seek(f, (MPI_Offset)(n + me) * EACH, MPI_SEEK_SET);
    CHECK(MPI_File_write_all_begin(f, out, EACH, MPI_INT) == 0);
    CHECK(MPI_File_write_all_end(f, out, &status) == 0);
    memset(in, 0, sizeof in);
    CHECK(MPI_File_read_at_all_begin(f, (MPI_Offset)(n + me) * EACH, in, EACH, MPI_INT) == 0);
    CHECK(MPI_File_read_at_all_end(f, in, &status) == 0);
    CHECK(memcmp(in, out, sizeof in) == 0);
    CHECK(MPI_File_seek_shared(f, 2 * n * EACH, MPI_SEEK_SET) == 0);
    CHECK(MPI_File_write_ordered_begin(f, out, 1 + me, MPI_INT) == 0);
    CHECK(MPI_File_write_ordered_end(f, out, &status) == 0);
    check_count(&status, 1 + me);
    settle(f);
    CHECK(MPI_File_seek_shared(f, -n * (n + 1) / 2, MPI_SEEK_CUR) == 0);
    memset(in, 0, sizeof in);
    CHECK(MPI_File_read_ordered_begin(f, in, 1 + me, MPI_INT) == 0);
    CHECK(MPI_File_read_ordered_end(f, in, &status) == 0);
    CHECK(memcmp(in, out, (size_t)(1 + me) * sizeof *in) == 0);
    close_file(&f);
}

// Records of all ranks, each as it comes: none is lost, none is torn, those of a rank are in order.
static void shared(void)
{
    int64_t record[2], *all = malloc((size_t)(n * RECORDS) * sizeof record);
    int *next = calloc((size_t)n, sizeof *next), mine = 0, sum = 0;
    MPI_Datatype pair;
    MPI_Offset at;
    MPI_Request q;
    MPI_Status status;
    MPI_Type_contiguous(2, MPI_INT64_T, &pair);
    MPI_Type_commit(&pair);
    MPI_File f = open_file(MPI_MODE_RDWR);
    CHECK(MPI_File_set_size(f, 0) == 0);
    CHECK(MPI_File_set_view(f, 8, pair, pair, "native", MPI_INFO_NULL) == 0);
    for (int i = 0; i < RECORDS; i++) {
        record[0] = me;
        record[1] = i;
        if (i % 2 == 0) {
            CHECK(MPI_File_write_shared(f, record, 1, pair, &status) == 0);
        } else {
            CHECK(MPI_File_iwrite_shared(f, record, 1, pair, &q) == 0);
            MPI_Wait(&q, &status);
        }
    }
    settle(f);
    CHECK(MPI_File_get_position_shared(f, &at) == 0 && at == n * RECORDS);
    CHECK(MPI_File_read_at(f, 0, all, n * RECORDS, pair, &status) == 0);
    for (int i = 0; i < n * RECORDS; i++) {
        int rank = (int)all[2 * i];
        CHECK(rank >= 0 && rank < n && all[2 * i + 1] == next[rank]);
        next[rank]++;
    }
    CHECK(MPI_File_seek_shared(f, -n * RECORDS, MPI_SEEK_END) == 0);
    for (int i = 0; i < RECORDS; i++) {
        if (i % 2 == 0) {
            CHECK(MPI_File_read_shared(f, record, 1, pair, &status) == 0);
        } else {
            CHECK(MPI_File_iread_shared(f, record, 1, pair, &q) == 0);
            MPI_Wait(&q, &status);
        }
        mine += (int)(record[0] * RECORDS + record[1]);
    }
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == n * RECORDS * (n * RECORDS - 1) / 2);
    close_file(&f);
    MPI_Type_free(&pair);
    free(all);
    free(next);
}

static void ordered(void)
{
    int out[EACH], in[EACH], before = me * (me + 1) / 2, *all;
    MPI_Offset at;
    MPI_Status status;
    MPI_File f = open_file(MPI_MODE_RDWR | MPI_MODE_CREATE);
    CHECK(MPI_File_set_size(f, 0) == 0);
    CHECK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == 0);
    for (int i = 0; i < EACH; i++) {
        out[i] = value(me, i);
    }
    for (int round = 0; round < 3; round++) {
        CHECK(MPI_File_write_ordered(f, out, 1 + me, MPI_INT, &status) == 0);
        check_count(&status, 1 + me);
    }
    settle(f);
    int total = n * (n + 1) / 2;
    all = malloc((size_t)(3 * total) * sizeof *all);
    CHECK(MPI_File_get_position_shared(f, &at) == 0 && at == 3 * total);
    CHECK(MPI_File_read_at_all(f, 0, all, 3 * total, MPI_INT, &status) == 0);
    for (int round = 0; round < 3; round++) {
        CHECK(memcmp(all + round * total + before, out, (size_t)(1 + me) * sizeof *out) == 0);
    }
    CHECK(MPI_File_seek_shared(f, total, MPI_SEEK_SET) == 0);
    CHECK(MPI_File_read_ordered(f, in, 1 + me, MPI_INT, &status) == 0);
    CHECK(memcmp(in, out, (size_t)(1 + me) * sizeof *in) == 0);
    close_file(&f);
    free(all);
}

static void sizes(void)
{
    MPI_Offset size, at;
    MPI_File f = open_file(MPI_MODE_RDWR);
    CHECK(MPI_File_set_size(f, 1000) == 0);
    MPI_File_get_size(f, &size);
    CHECK(size == 1000);
    CHECK(MPI_File_preallocate(f, 5000) == 0);
    MPI_File_get_size(f, &size);
    CHECK(size == 5000);
    CHECK(MPI_File_set_size(f, me == n - 1 ? 17 : 18) != 0); // at all
    MPI_File_get_size(f, &size);
    CHECK(size == 5000);
    close_file(&f);
    f = open_file(MPI_MODE_WRONLY | MPI_MODE_APPEND);
    MPI_File_get_position(f, &at);
    CHECK(at == 5000);
    CHECK(MPI_File_get_position_shared(f, &at) == 0 && at == 5000);
    char c = (char)('a' + me % 26);
    CHECK(MPI_File_write_ordered(f, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE) == 0);
    settle(f);
    MPI_File_get_size(f, &size);
    CHECK(size == 5000 + n);
    close_file(&f);
}

// Only with the shared pointer.
static void sequential(void)
{
    char c = (char)('A' + me % 26), *all = malloc((size_t)n + 1);
    MPI_File f = open_file(MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL);
    CHECK(MPI_File_write_ordered(f, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE) == 0);
    CHECK(MPI_File_set_view(f, MPI_DISPLACEMENT_CURRENT, MPI_CHAR, MPI_CHAR, "native",
                            MPI_INFO_NULL) == 0);
    c = (char)('a' + me % 26);
    CHECK(MPI_File_write_ordered(f, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE) == 0);
    CHECK(MPI_File_seek_shared(f, 0, MPI_SEEK_SET) != 0);
    close_file(&f);
    f = open_file(MPI_MODE_RDONLY);
    for (int k = 0; k < 2; k++) {
        CHECK(MPI_File_read_at_all(f, k * n, all, n, MPI_CHAR, MPI_STATUS_IGNORE) == 0);
        for (int i = 0; i < n; i++) {
            CHECK(all[i] == (char)((k == 0 ? 'A' : 'a') + i % 26));
        }
    }
    close_file(&f);
    free(all);
}

static void must_say(int code, int class, const char *words)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len, got = MPI_SUCCESS;
    CHECK(code != MPI_SUCCESS);
    MPI_Error_class(code, &got);
    MPI_Error_string(code, text, &len);
    if (strstr(text, words) == NULL) {
        fprintf(stderr, "\"%s\" lacks \"%s\"\n", text, words);
    }
    CHECK(strstr(text, words) != NULL);
    CHECK(class == MPI_SUCCESS || got == class);
}

// All write the same places with gaps, again and again, in each way there is: what is read is of
// one rank.
static void atomic_mode(void)
{
    enum { LONG = 3000, ROUNDS = 12 };
    static int out[LONG], in[LONG];
    int flag = -1;
    MPI_Datatype gaps;
    MPI_Request q;
    MPI_Status st;
    MPI_Type_vector(LONG, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    MPI_File f = open_file(MPI_MODE_RDWR);
    CHECK(MPI_File_set_atomicity(f, 0) == 0);
    CHECK(MPI_File_set_atomicity(f, me == 0) != 0); // differs
    CHECK(MPI_File_set_view(f, 8, MPI_INT, gaps, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_set_atomicity(f, 1) == MPI_SUCCESS);
    MPI_File_get_atomicity(f, &flag);
    CHECK(flag == 1);
    for (int k = 0; k < ROUNDS; k++) {
        int n_other = 0, count = 0;
        for (int i = 0; i < LONG; i++) {
            out[i] = 1 + me + n * k;
        }
        if (k % 3 == 0) {
            CHECK(MPI_File_write_at(f, 0, out, LONG, MPI_INT, &st) == MPI_SUCCESS);
        } else if (k % 3 == 1) {
            CHECK(MPI_File_iwrite_at(f, 0, out, LONG, MPI_INT, &q) == MPI_SUCCESS);
            CHECK(MPI_Wait(&q, &st) == MPI_SUCCESS);
        } else {
            CHECK(MPI_File_write_at_all(f, 0, out, LONG, MPI_INT, &st) == MPI_SUCCESS);
        }
        MPI_Get_count(&st, MPI_INT, &count);
        CHECK(count == LONG);
        MPI_File_seek(f, 0, MPI_SEEK_SET);
        CHECK(MPI_File_read(f, in, LONG, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (int i = 1; i < LONG; i++) {
            n_other += in[i] != in[0];
        }
        CHECK(n_other == 0);
    }
    CHECK(MPI_File_set_atomicity(f, 0) == MPI_SUCCESS);
    MPI_File_get_atomicity(f, &flag);
    CHECK(flag == 0);
    close_file(&f);
    MPI_Type_free(&gaps);
}

static int n_called;

static void count_call(MPI_File *f, int *code, ...)
{
    (void)f;
    n_called += *code != MPI_SUCCESS;
}

// The handler of files to come, and that of a file, are called once at each rank.
static void handlers(void)
{
    MPI_Errhandler handler;
    MPI_File f;
    int one = 1;
    MPI_File_create_errhandler(count_call, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    CHECK(MPI_File_open(MPI_COMM_WORLD, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &f) !=
          0);
    CHECK(n_called == 1);
    f = open_file(MPI_MODE_RDWR);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    CHECK(MPI_File_write_at_all(f, me == 0 ? -8 : 0, &one, 1, MPI_INT, MPI_STATUS_IGNORE) != 0);
    CHECK(n_called == 2);
    close_file(&f);
    MPI_Errhandler_free(&handler);
}

static void faults(void)
{
    int one = 1, in = 0, last = n - 1;
    MPI_Offset disp;
    MPI_Datatype etype, filetype;
    char rep[MPI_MAX_DATAREP_STRING + 1];
    MPI_File f = MPI_FILE_NULL;
    MPI_Status status;
    must_say(MPI_File_open(MPI_COMM_WORLD, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &f),
             MPI_ERR_NO_SUCH_FILE, "");
    must_say(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL,
                           MPI_INFO_NULL, &f),
             MPI_ERR_FILE_EXISTS, "");
    must_say(MPI_File_open(MPI_COMM_WORLD, path, me == last ? MPI_MODE_RDWR : MPI_MODE_RDONLY,
                           MPI_INFO_NULL, &f),
             MPI_ERR_NOT_SAME, "differs between ranks");
    must_say(MPI_File_open(MPI_COMM_WORLD, path,
                           me == last ? MPI_MODE_RDWR | MPI_MODE_RDONLY : MPI_MODE_RDONLY,
                           MPI_INFO_NULL, &f),
             MPI_ERR_AMODE, me == last ? "" : "at rank");
    f = open_file(MPI_MODE_RDWR);
    // Of one rank's mistake all hear, and nothing has changed for the others.
    must_say(MPI_File_set_view(f, me == last ? -3 : 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL),
             MPI_SUCCESS, me == last ? "" : "at rank");
    MPI_File_get_view(f, &disp, &etype, &filetype, rep);
    CHECK(disp == 0 && etype == MPI_BYTE);
    must_say(MPI_File_write_at_all(f, me == last ? -8 : 8 * me, &one, 1, MPI_INT, &status),
             MPI_SUCCESS, me == last ? "" : "at rank");
    CHECK(MPI_File_read_at_all_begin(f, me == 0 ? -8 : 0, &in, 1, MPI_INT) == 0);
    must_say(MPI_File_read_at_all_end(f, &in, &status), MPI_SUCCESS, me == 0 ? "" : "at rank 0");
    close_file(&f);
    f = open_file(MPI_MODE_RDONLY);
    CHECK(MPI_File_write_at_all(f, 0, &one, 1, MPI_INT, &status) != 0);
    CHECK(MPI_File_set_size(f, 5) != 0);
    close_file(&f);
}

// One rank is elsewhere, where the file is not, or is another one.
static void elsewhere(void)
{
    char here[256], name[64];
    MPI_File f;
    CHECK(getcwd(here, sizeof here) != NULL);
    CHECK(chdir(me == n - 1 ? folder : above()) == 0);
    snprintf(name, sizeof name, "%s.file", strrchr(folder, '/') + 1);
    must_say(
        MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
        MPI_ERR_NO_SUCH_FILE, "must see the same file system");
    if (me == n - 1) {
        FILE *other = fopen(name, "w");
        CHECK(other != NULL && fputs("other", other) >= 0 && fclose(other) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    must_say(
        MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
        MPI_ERR_BAD_FILE, "must see the same file system");
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == n - 1 || me == 0) {
        CHECK(unlink(name) == 0);
    }
    CHECK(chdir(here) == 0);
}

#if MPI_VERSION >= 4
// Functions for large counts, at the ranks whose MPI has them.
#define COUNT MPI_Count
#define LARGE(call) call##_c
#else
#define COUNT int
#define LARGE(call) call
#endif
static void counts(void)
{
    int out = 5 + me, in = -1, prev = (me + n - 1) % n;
    COUNT one = 1;
    MPI_File f = open_file(MPI_MODE_RDWR);
    CHECK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == 0);
    CHECK(LARGE(MPI_File_write_ordered)(f, &out, one, MPI_INT, MPI_STATUS_IGNORE) == 0);
    settle(f);
    CHECK(LARGE(MPI_File_read_at_all)(f, prev, &in, one, MPI_INT, MPI_STATUS_IGNORE) == 0);
    CHECK(in == 5 + prev);
    CHECK(LARGE(MPI_File_write_shared)(f, &out, one, MPI_INT, MPI_STATUS_IGNORE) == 0);
    close_file(&f);
}

void world_files(int me_, int n_)
{
    me = me_;
    n = n_;
    if (!world_is_joined()) {
        return;
    }
    if (me == 0) {
        snprintf(folder, sizeof folder, "%s/impi_file.XXXXXX", above());
        CHECK(mkdtemp(folder) != NULL);
    }
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/data", folder);
    offsets();
    views();
    later();
    splits();
    shared();
    ordered();
    sizes();
    faults();
    handlers();
    atomic_mode();
    elsewhere();
    counts();
    MPI_File f = open_file(MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE);
    close_file(&f);
    CHECK(access(path, F_OK) != 0);
    sequential();
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        CHECK(unlink(path) == 0 && rmdir(folder) == 0);
    }
}
