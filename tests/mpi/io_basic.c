// SPDX-License-Identifier: BSD-3-Clause
// What files are beside reading and writing: modes, sizes, pointers, hints, representations,
// errors.
#include "t.h"

#include <fcntl.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int me, n;
static char path[64];

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

// More than the disk has is not begun: it would be full for a moment.
static void check_too_large(MPI_File f)
{
    struct statvfs fs;
    struct stat s;
    T_EQ(statvfs(path, &fs), 0);
    MPI_Offset twice = 2 * (MPI_Offset)fs.f_bavail * (MPI_Offset)fs.f_frsize;
    MPI_Bcast(&twice, 1, MPI_OFFSET, 0, MPI_COMM_WORLD);
    T_EQ(class_of(MPI_File_preallocate(f, twice)), MPI_ERR_NO_SPACE);
    T_EQ(stat(path, &s), 0);
    T_OK((MPI_Offset)s.st_blocks * 512 < 1 << 20);
}

static void check_open(void)
{
    MPI_File f;
    MPI_Group group, world;
    int amode, same;
    MPI_Offset size;
    T_EQ(class_of(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &f)),
         MPI_ERR_NO_SUCH_FILE);
    T_EQ(class_of(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_RDWR,
                                MPI_INFO_NULL, &f)),
         MPI_ERR_AMODE);
    T_EQ(class_of(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_CREATE,
                                MPI_INFO_NULL, &f)),
         MPI_ERR_AMODE);
    T_EQ(class_of(MPI_File_open(MPI_COMM_WORLD, "/proc/no/such", MPI_MODE_CREATE | MPI_MODE_WRONLY,
                                MPI_INFO_NULL, &f)),
         MPI_ERR_NO_SUCH_FILE);
    if (n > 1) { // members that do not agree
        T_EQ(class_of(MPI_File_open(MPI_COMM_WORLD, path,
                                    MPI_MODE_CREATE | (me == 0 ? MPI_MODE_RDWR : MPI_MODE_WRONLY),
                                    MPI_INFO_NULL, &f)),
             MPI_ERR_NOT_SAME);
    }
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR,
                       MPI_INFO_NULL, &f),
         0);
    T_EQ(MPI_File_get_amode(f, &amode), 0);
    T_EQ(amode, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR);
    T_EQ(MPI_File_get_group(f, &group), 0);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &same);
    T_EQ(same, MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    T_EQ(MPI_File_set_size(f, 1000), 0);
    T_EQ(MPI_File_get_size(f, &size), 0);
    T_EQ(size, 1000);
    T_EQ(MPI_File_preallocate(f, 5000), 0);
    T_EQ(MPI_File_get_size(f, &size), 0);
    T_EQ(size, 5000);
    T_EQ(class_of(MPI_File_set_size(f, -1)), MPI_ERR_ARG);
    check_too_large(f);
    T_EQ(MPI_File_sync(f), 0);
    T_EQ(MPI_File_close(&f), 0);
    T_EQ(
        class_of(MPI_File_open(MPI_COMM_WORLD, path,
                               MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR, MPI_INFO_NULL, &f)),
        MPI_ERR_FILE_EXISTS);
    T_EQ(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &f), 0);
    T_EQ(class_of(MPI_File_write(f, &me, 1, MPI_INT, MPI_STATUS_IGNORE)), MPI_ERR_READ_ONLY);
    T_EQ(class_of(MPI_File_set_size(f, 0)), MPI_ERR_READ_ONLY);
    T_EQ(MPI_File_close(&f), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                       MPI_INFO_NULL, &f),
         0);
    T_EQ(MPI_File_close(&f), 0);
    T_OK(open(path, O_RDONLY) < 0); // unlike access, asks the server of NFS
    T_EQ(class_of(MPI_File_delete(path, MPI_INFO_NULL)), MPI_ERR_NO_SUCH_FILE);
}

// What is no plain file: a folder and a pipe are refused, and nobody waits for the other end of the
// pipe; a device takes what is written, together and alone.
static void check_kinds(void)
{
    enum { RECORD = 512, N_RECORD = 512 };
    static char data[RECORD * N_RECORD];
    char pipe[sizeof path + 16], sentence[MPI_MAX_ERROR_STRING];
    MPI_File f;
    MPI_Status s;
    int len, count;
    snprintf(pipe, sizeof pipe, "%s.pipe", path);
    if (me == 0) {
        T_EQ(mkfifo(pipe, 0600), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int way = 0; way < 2; way++) {
        int amode = way == 0 ? MPI_MODE_RDONLY : MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL;
        int code = MPI_File_open(MPI_COMM_WORLD, pipe, amode, MPI_INFO_NULL, &f);
        T_EQ(class_of(code), MPI_ERR_UNSUPPORTED_OPERATION);
        MPI_Error_string(code, sentence, &len);
        T_OK(strstr(sentence, "which has no offsets") != NULL);
        T_EQ(class_of(MPI_File_open(MPI_COMM_WORLD, "/", amode, MPI_INFO_NULL, &f)),
             MPI_ERR_BAD_FILE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        unlink(pipe);
    }
    MPI_Datatype t;
    MPI_Type_vector(N_RECORD, RECORD, RECORD * n, MPI_BYTE, &t);
    MPI_Type_commit(&t);
    T_EQ(MPI_File_open(MPI_COMM_WORLD, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &f), 0);
    T_EQ(MPI_File_set_view(f, me * RECORD, MPI_BYTE, t, "native", MPI_INFO_NULL), 0);
    T_EQ(MPI_File_write_all(f, data, sizeof data, MPI_BYTE, &s), 0);
    T_EQ(MPI_File_write(f, data, sizeof data, MPI_BYTE, &s), 0);
    MPI_Get_count(&s, MPI_BYTE, &count);
    T_EQ(count, (int)sizeof data);
    T_EQ(MPI_File_read_all(f, data, sizeof data, MPI_BYTE, &s), 0);
    MPI_Get_count(&s, MPI_BYTE, &count);
    T_EQ(count, 0);
    T_EQ(MPI_File_close(&f), 0);
    MPI_Type_free(&t);
}

// Prefixes that ROMIO knows are no part of the name.
static void check_prefixes(void)
{
    static const char *const prefixes[] = { "ufs:", "nfs:", "panfs:", "lustre:", "daos:" };
    char name[sizeof path + 16];
    MPI_File f;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        snprintf(name, sizeof name, "%s%s", prefixes[i], path);
        T_EQ(
            MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
            0);
        T_EQ(access(path, F_OK), 0);
        T_EQ(MPI_File_close(&f), 0);
        MPI_Barrier(MPI_COMM_WORLD);
        if (me == 0) {
            T_EQ(MPI_File_delete(name, MPI_INFO_NULL), 0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void check_pointers(void)
{
    MPI_File f;
    MPI_Offset at;
    MPI_Status s;
    int x[4] = { 10 * me, 10 * me + 1, 10 * me + 2, 10 * me + 3 }, y[4] = { 0 }, count;
    MPI_Datatype every;
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
         0);
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)sizeof(int) * n, &every);
    MPI_Type_commit(&every);
    T_EQ(
        MPI_File_set_view(f, me * (MPI_Offset)sizeof(int), MPI_INT, every, "native", MPI_INFO_NULL),
        0);
    T_EQ(MPI_File_write_all(f, x, 4, MPI_INT, &s), 0);
    MPI_Get_count(&s, MPI_INT, &count);
    T_EQ(count, 4);
    T_EQ(MPI_File_get_position(f, &at), 0);
    T_EQ(at, 4);
    T_EQ(MPI_File_get_byte_offset(f, 3, &at), 0);
    T_EQ(at, (MPI_Offset)sizeof(int) * (3 * n + me));
    T_EQ(MPI_File_seek(f, -1, MPI_SEEK_END), 0);
    T_EQ(MPI_File_get_position(f, &at), 0);
    T_EQ(at, 3);
    T_EQ(MPI_File_read(f, y, 4, MPI_INT, &s), 0); // one is left
    MPI_Get_count(&s, MPI_INT, &count);
    T_EQ(count, 1);
    T_EQ(y[0], 10 * me + 3);
    T_EQ(class_of(MPI_File_seek(f, -100, MPI_SEEK_SET)), MPI_ERR_ARG);
    T_EQ(MPI_File_seek(f, 1, MPI_SEEK_SET), 0);
    T_EQ(MPI_File_seek(f, 1, MPI_SEEK_CUR), 0);
    T_EQ(MPI_File_read(f, y, 1, MPI_INT, MPI_STATUS_IGNORE), 0);
    T_EQ(y[0], 10 * me + 2);
    MPI_Offset disp;
    MPI_Datatype etype, filetype;
    char rep[MPI_MAX_DATAREP_STRING];
    T_EQ(MPI_File_get_view(f, &disp, &etype, &filetype, rep), 0);
    T_EQ(disp, me * (MPI_Offset)sizeof(int));
    T_OK(etype == MPI_INT && filetype != MPI_INT);
    T_STR(rep, "native");
    MPI_Type_free(&filetype);
    MPI_Type_free(&every);
    T_EQ(class_of(MPI_File_set_view(f, 0, MPI_INT, MPI_CHAR, "native", MPI_INFO_NULL)),
         MPI_ERR_TYPE);
    T_EQ(class_of(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "romulan", MPI_INFO_NULL)),
         MPI_ERR_UNSUPPORTED_DATAREP);
    T_EQ(MPI_File_close(&f), 0);
}

static void check_shared(void)
{
    MPI_File f;
    MPI_Offset at;
    int sum = 0, x[3], seen[64] = { 0 };
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
         0);
    T_EQ(MPI_File_set_size(f, 0), 0);
    T_EQ(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), 0);
    for (int i = 0; i < 4; i++) { // records of three words, in any order, none lost
        x[0] = x[1] = x[2] = 4 * me + i + 1;
        T_EQ(MPI_File_write_shared(f, x, 3, MPI_INT, MPI_STATUS_IGNORE), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_File_get_position_shared(f, &at), 0);
    T_EQ(at, 12 * n);
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_File_seek_shared(f, 0, MPI_SEEK_SET), 0);
    for (int i = 0; i < 4; i++) {
        MPI_Request r;
        T_EQ(MPI_File_iread_shared(f, x, 3, MPI_INT, &r), 0);
        T_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), 0);
        T_OK(x[0] == x[1] && x[1] == x[2] && x[0] >= 1 && x[0] <= 4 * n);
        seen[x[0] % 64]++;
        sum += x[0];
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    T_EQ(sum, 4 * n * (4 * n + 1) / 2);
    T_EQ(MPI_File_seek_shared(f, 0, MPI_SEEK_SET), 0);
    x[0] = x[1] = me;
    T_EQ(MPI_File_write_ordered(f, x, me % 2 + 1, MPI_INT, MPI_STATUS_IGNORE), 0);
    T_EQ(MPI_File_seek_shared(f, 0, MPI_SEEK_SET), 0);
    T_EQ(MPI_File_read_ordered_begin(f, x, me % 2 + 1, MPI_INT), 0);
    int y = 0;
    T_EQ(class_of(MPI_File_read_all(f, &y, 1, MPI_INT, MPI_STATUS_IGNORE)), MPI_ERR_OTHER);
    T_EQ(MPI_File_read_ordered_end(f, x, MPI_STATUS_IGNORE), 0);
    T_EQ(x[0], me);
    T_EQ(x[me % 2], me);
    T_EQ(MPI_File_close(&f), 0);
    (void)seen;
}

static int n_converted, n_strange; // the latter in threads that are no ranks
static _Thread_local int is_rank;

static int extent(MPI_Datatype t, MPI_Aint *out, void *extra)
{
    int size;
    MPI_Type_size(t, &size);
    *out = 2 * size;
    (void)extra;
    return MPI_SUCCESS;
}

// Every int twice.
static int put(void *user, MPI_Datatype t, int count, void *file, MPI_Offset at, void *extra)
{
    (void)t, (void)at, (void)extra;
    for (int i = 0; i < count; i++) {
        ((int *)file)[2 * i] = ((int *)file)[2 * i + 1] = ((int *)user)[i];
    }
    n_converted++;
    return MPI_SUCCESS;
}

static int get(void *user, MPI_Datatype t, int count, void *file, MPI_Offset at, void *extra)
{
    (void)t, (void)at, (void)extra;
    for (int i = 0; i < count; i++) {
        ((int *)user)[i] = ((int *)file)[2 * i];
    }
    n_converted++;
    n_strange += !is_rank;
    return MPI_SUCCESS;
}

enum { MANY = 20000 };

// A function of the program is called by the program's own thread, also where it does not wait.
static void check_later(const char *rep)
{
    char name[128];
    MPI_File f;
    static _Thread_local int x[MANY], y[MANY];
    MPI_Request r;
    MPI_Status s;
    int count, flag = 0;
    snprintf(name, sizeof name, "%s.%d", path, me);
    T_EQ(MPI_File_open(MPI_COMM_SELF, name,
                       MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                       &f),
         0);
    T_EQ(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, rep, MPI_INFO_NULL), 0);
    for (int way = 0; way < 3; way++) {
        for (int i = 0; i < MANY; i++) {
            x[i] = me + i + way;
        }
        n_converted = 0;
        T_EQ(MPI_File_iwrite_at_all(f, way, x, MANY, MPI_INT, &r), 0);
        T_EQ(MPI_Wait(&r, &s), 0);
        T_EQ(way < 2 ? MPI_File_iread_at(f, way, y, MANY, MPI_INT, &r)
                     : MPI_File_iread_at_all(f, way, y, MANY, MPI_INT, &r),
             0);
        while (way == 1 && !flag) {
            T_EQ(MPI_Request_get_status(r, &flag, &s), 0);
        }
        T_EQ(MPI_Wait(&r, &s), 0);
        MPI_Get_count(&s, MPI_INT, &count);
        T_EQ(count, MANY);
        T_EQ(memcmp(x, y, sizeof x), 0);
        T_EQ(n_converted, 2);
    }
    T_EQ(MPI_File_read_at_all_begin(f, 0, y, 5, MPI_INT), 0);
    T_EQ(MPI_File_read_at_all_end(f, y, &s), 0);
    T_EQ(MPI_File_close(&f), 0);
    T_EQ(n_strange, 0);
}

struct three {
    int i;
    long l;
    double d;
};

// Data items, not elements of the datatype: each of them twice.
static int move_items(int is_put, struct three *user, MPI_Count count, char *file)
{
    const size_t sizes[] = { sizeof(int), sizeof(long), sizeof(double) };
    for (MPI_Count i = 0; i < count; i++) {
        struct three *x = &user[i / 3];
        void *item = i % 3 == 0 ? (void *)&x->i : i % 3 == 1 ? (void *)&x->l : (void *)&x->d;
        memcpy(is_put ? file : item, is_put ? item : file, sizes[i % 3]);
        if (is_put) {
            memcpy(file + sizes[i % 3], item, sizes[i % 3]);
        }
        file += 2 * sizes[i % 3];
    }
    return MPI_SUCCESS;
}

static int put_items(void *user, MPI_Datatype t, int count, void *file, MPI_Offset at, void *extra)
{
    T_EQ(at, 0);
    (void)t, (void)extra;
    return move_items(1, user, count, file);
}

static int get_items(void *user, MPI_Datatype t, MPI_Count count, void *file, MPI_Offset at,
                     void *extra)
{
    T_EQ(at, 0);
    (void)t, (void)extra;
    return move_items(0, user, count, file);
}

static int put_items_large(void *user, MPI_Datatype t, MPI_Count count, void *file, MPI_Offset at,
                           void *extra)
{
    return put_items(user, t, (int)count, file, at, extra);
}

static int get_items_small(void *user, MPI_Datatype t, int count, void *file, MPI_Offset at,
                           void *extra)
{
    return get_items(user, t, count, file, at, extra);
}

// What the file has of an element that it ends within is read, with a representation as without:
// whole numbers of it. The numbers have sizes[] there.
static void check_part(const char *rep, const int *sizes)
{
    MPI_File f;
    char name[80];
    struct three x[2] = { { 1, 2, 3.5 }, { 4, 5, 6.5 } }, y[2];
    MPI_Datatype parts[3] = { MPI_INT, MPI_LONG, MPI_DOUBLE }, one, two;
    MPI_Aint at[3] = { offsetof(struct three, i), offsetof(struct three, l),
                       offsetof(struct three, d) };
    int ones[3] = { 1, 1, 1 }, count;
    MPI_Type_create_struct(3, ones, at, parts, &one);
    MPI_Type_contiguous(2, one, &two);
    MPI_Type_commit(&two);
    snprintf(name, sizeof name, "%s.part.%d", path, me);
    T_EQ(MPI_File_open(MPI_COMM_SELF, name,
                       MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                       &f),
         0);
    T_EQ(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, rep, MPI_INFO_NULL), 0);
    for (int want = 0, len = 0; want <= 6; len += sizes[want % 3], want++) {
        for (int more = 0; more < (want == 6 ? 1 : sizes[want % 3]); more += 3) {
            MPI_Count elements;
            MPI_Status s;
            T_EQ(MPI_File_write_at(f, 0, x, 1, two, MPI_STATUS_IGNORE), 0);
            T_EQ(MPI_File_set_size(f, len + more), 0);
            memset(y, 0, sizeof y);
            T_EQ(MPI_File_read_at(f, 0, y, 1, two, &s), 0);
            MPI_Get_elements_x(&s, two, &elements);
            T_EQ(elements, want);
            MPI_Get_count(&s, two, &count);
            T_EQ(count, want == 6 ? 1 : want == 0 ? 0 : MPI_UNDEFINED);
            for (int i = 0; i < 2; i++) {
                T_EQ(y[i].i, want > 3 * i ? x[i].i : 0);
                T_EQ(y[i].l, want > 3 * i + 1 ? x[i].l : 0);
                T_OK(y[i].d == (want > 3 * i + 2 ? x[i].d : 0));
            }
        }
    }
    MPI_Type_free(&one);
    MPI_Type_free(&two);
    T_EQ(MPI_File_close(&f), 0);
}

static void check_parts(void)
{
    static const int external[] = { 4, 4, 8 }, twice[] = { 8, 16, 16 };
    char rep[32];
    check_part("external32", external);
    snprintf(rep, sizeof rep, "items%d", me);
    T_EQ(MPI_Register_datarep(rep, get_items_small, put_items, extent, NULL), 0);
    check_part(rep, twice);
    snprintf(rep, sizeof rep, "items large%d", me);
    T_EQ(MPI_Register_datarep_c(rep, get_items, put_items_large, extent, NULL), 0);
    check_part(rep, twice);
}

// Where a representation has no functions data is as in memory. One that has a function for one
// direction only must have the sizes of memory.
static void check_no_functions(void)
{
    MPI_File f;
    MPI_Aint size;
    MPI_Offset disp;
    MPI_Datatype etype, filetype;
    char rep[32], name[80], told[MPI_MAX_DATAREP_STRING];
    int x[2] = { 1, 2 }, y[4] = { 0 };
    snprintf(name, sizeof name, "%s.none.%d", path, me);
    T_EQ(MPI_File_open(MPI_COMM_SELF, name,
                       MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                       &f),
         0);
    snprintf(rep, sizeof rep, "none%d", me);
    T_EQ(MPI_Register_datarep(rep, MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent, NULL),
         0);
    T_EQ(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, rep, MPI_INFO_NULL), 0);
    T_EQ(MPI_File_get_type_extent(f, MPI_INT, &size), 0);
    T_EQ(size, sizeof(int));
    T_EQ(MPI_File_write_at(f, 1, x, 2, MPI_INT, MPI_STATUS_IGNORE), 0);
    T_EQ(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), 0);
    T_EQ(MPI_File_read_at(f, 0, y, 4, MPI_INT, MPI_STATUS_IGNORE), 0);
    T_OK(y[0] == 0 && y[1] == 1 && y[2] == 2 && y[3] == 0);
    for (int i = 0; i < 3; i++) { // a view is told as it was set, whatever it is the same as
        const char *const set[] = { rep, "internal", "native" };
        T_EQ(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, set[i], MPI_INFO_NULL), 0);
        T_EQ(MPI_File_get_view(f, &disp, &etype, &filetype, told), 0);
        T_STR(told, set[i]);
    }
    snprintf(rep, sizeof rep, "half%d", me);
    T_EQ(MPI_Register_datarep(rep, get_items_small, MPI_CONVERSION_FN_NULL, extent, NULL), 0);
    T_EQ(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, rep, MPI_INFO_NULL), 0);
    int code = MPI_File_write_at(f, 0, x, 2, MPI_INT, MPI_STATUS_IGNORE), class = 0;
    MPI_Error_class(code, &class);
    T_EQ(class, MPI_ERR_CONVERSION);
    T_EQ(MPI_File_close(&f), 0);
}

static void check_datareps(void)
{
    char rep[16];
    snprintf(rep, sizeof rep, "twice%d", me);
    MPI_File f;
    MPI_Status s;
    MPI_Aint size;
    int x[2] = { 0x01020304, me }, y[2] = { 0 }, count;
    long big[2] = { me + 1, 7 }, back[2] = { 0 };
    unsigned char raw[8] = { 0 };
    T_EQ(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &f), 0);
    T_EQ(MPI_File_set_view(f, 100 * me, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL), 0);
    T_EQ(MPI_File_write_at(f, 0, x, 2, MPI_INT, &s), 0);
    MPI_Get_count(&s, MPI_INT, &count);
    T_EQ(count, 2);
    T_EQ(MPI_File_read_at(f, 0, y, 2, MPI_INT, MPI_STATUS_IGNORE), 0);
    T_OK(y[0] == x[0] && y[1] == me);
    T_EQ(MPI_File_get_type_extent(f, MPI_LONG, &size), 0);
    T_EQ(size, 4);
    T_EQ(MPI_File_set_view(f, 100 * me, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), 0);
    T_EQ(MPI_File_read_at(f, 0, raw, 4, MPI_BYTE, MPI_STATUS_IGNORE), 0);
    T_OK(raw[0] == 1 && raw[3] == 4);
    T_EQ(MPI_File_set_view(f, 100 * me, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL), 0);
    T_EQ(MPI_File_write_at_all(f, 1, big, 2, MPI_LONG, MPI_STATUS_IGNORE), 0);
    T_EQ(MPI_File_read_at_all(f, 1, back, 2, MPI_LONG, MPI_STATUS_IGNORE), 0);
    T_OK(back[0] == me + 1 && back[1] == 7);
    T_EQ(MPI_File_set_view(f, 1000 + 100 * me, MPI_INT, MPI_INT, rep, MPI_INFO_NULL), 0);
    T_EQ(MPI_File_write(f, x, 2, MPI_INT, &s), 0);
    MPI_Get_count(&s, MPI_INT, &count);
    T_EQ(count, 2);
    T_EQ(MPI_File_read_at(f, 1, y, 1, MPI_INT, &s), 0);
    T_EQ(y[0], me);
    T_OK(n_converted > 0);
    T_EQ(MPI_File_close(&f), 0);
    check_later(rep);
}

static int n_error;

static void note(MPI_File *f, int *code, ...)
{
    (void)f, (void)code;
    n_error++;
}

static void check_errors(void)
{
    MPI_File f;
    MPI_Errhandler e;
    MPI_Request r;
    char text[MPI_MAX_ERROR_STRING];
    int len, x = 0;
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY, MPI_INFO_NULL, &f), 0);
    MPI_File_create_errhandler(note, &e);
    T_EQ(MPI_File_set_errhandler(f, e), 0);
    int code = MPI_File_read(f, &x, 1, MPI_INT, MPI_STATUS_IGNORE);
    T_EQ(class_of(code), MPI_ERR_ACCESS);
    MPI_Error_string(code, text, &len);
    T_HAS(text, "MPI_MODE_WRONLY");
    T_EQ(n_error, 1);
    // One member's mistake is an error of all, and nothing is written.
    code = MPI_File_write_at_all(f, me == n - 1 ? -1 : 100000, &x, 1, MPI_INT, MPI_STATUS_IGNORE);
    T_EQ(class_of(code), MPI_ERR_ARG);
    MPI_Offset size;
    T_EQ(MPI_File_get_size(f, &size), 0);
    T_OK(size < 100000);
    T_EQ(n_error, 2);
    T_EQ(MPI_File_iwrite_at_all(f, me == 0 ? -1 : 0, &x, 1, MPI_INT, &r), 0);
    T_EQ(class_of(MPI_Wait(&r, MPI_STATUS_IGNORE)), MPI_ERR_ARG);
    T_EQ(n_error, 3);
    MPI_Errhandler_free(&e);
    T_EQ(MPI_File_close(&f), 0);
}

static void check_hints(void)
{
    MPI_File f;
    MPI_Info info, used;
    char value[64];
    int flag;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "1048576");
    MPI_Info_set(info, "striping_factor", "4");
    MPI_Info_set(info, "some_hint_of_others", "x");
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, info, &f), 0);
    T_EQ(MPI_File_get_info(f, &used), 0);
    MPI_Info_get(used, "cb_buffer_size", 63, value, &flag);
    T_OK(flag);
    T_STR(value, "1048576");
    MPI_Info_get(used, "some_hint_of_others", 63, value, &flag);
    T_OK(flag);
    MPI_Info_get(used, "cb_nodes", 63, value, &flag);
    T_OK(flag && atoi(value) >= 1);
    MPI_Info_free(&used);
    MPI_Info_free(&info);
    T_EQ(MPI_File_close(&f), 0);
}

// A filetype that is longer than its extent, as HDF5 makes them of chunks: its repetitions would
// interleave, but one of them is a view like any other.
static void check_long(void)
{
    MPI_File f;
    MPI_Datatype list, type;
    int at[] = { 0, 10, 20 }, x[24], y[24], count;
    MPI_Status s;
    MPI_Aint width = (MPI_Aint)sizeof(int);
    MPI_Type_create_indexed_block(3, 4, at, MPI_INT, &list);
    MPI_Type_create_resized(list, 10 * width, 12 * width, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 24; i++) {
        x[i] = 100 * me + i;
    }
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
         0);
    T_EQ(MPI_File_set_size(f, 0), 0);
    // Four integers of every rank, in three places that lie ten integers of each rank apart.
    MPI_Offset disp = (MPI_Offset)width * (me % 2 * 4 + me / 2 * 40);
    T_EQ(MPI_File_set_view(f, disp, MPI_INT, type, "native", MPI_INFO_NULL), 0);
    T_EQ(MPI_File_write_all(f, x, 12, MPI_INT, MPI_STATUS_IGNORE), 0);
    T_EQ(MPI_File_read_at_all(f, 0, y, 12, MPI_INT, &s), 0);
    MPI_Get_count(&s, MPI_INT, &count);
    T_EQ(count, 12);
    T_EQ(memcmp(x, y, 12 * sizeof(int)), 0);
    T_EQ(MPI_File_read_at(f, 5, y, 3, MPI_INT, MPI_STATUS_IGNORE), 0);
    T_EQ(memcmp(x + 5, y, 3 * sizeof(int)), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) { // two repetitions: the second begins at integer 12, within the first
        T_EQ(MPI_File_write_at(f, 0, x, 24, MPI_INT, MPI_STATUS_IGNORE), 0);
        T_EQ(MPI_File_read_at(f, 0, y, 24, MPI_INT, MPI_STATUS_IGNORE), 0);
        T_EQ(y[0], x[0]);
        T_EQ(y[12], x[12]);
        T_EQ(y[23], x[23]);
        T_EQ(y[6], x[12]); // the same place of the file
    }
    MPI_Type_free(&type);
    MPI_Type_free(&list);
    T_EQ(MPI_File_close(&f), 0);
}

int main(int argc, char **argv)
{
    is_rank = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    snprintf(path, sizeof path, "/tmp/io_basic.%d", (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    char rep[16]; // ranks may share a process
    snprintf(rep, sizeof rep, "twice%d", me);
    T_EQ(MPI_Register_datarep(rep, get, put, extent, NULL), 0);
    T_EQ(class_of(MPI_Register_datarep(rep, get, put, extent, NULL)), MPI_ERR_DUP_DATAREP);
    MPI_Barrier(MPI_COMM_WORLD);
    check_open();
    check_kinds();
    check_prefixes();
    check_pointers();
    check_shared();
    check_datareps();
    check_parts();
    check_no_functions();
    check_errors();
    check_hints();
    check_long();
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        unlink(path);
    }
    MPI_Finalize();
    return t_status();
}
