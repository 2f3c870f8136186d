// SPDX-License-Identifier: BSD-3-Clause
// One rank of a collective call on a file has no memory, or gets no thread: all ranks return from
// it alike, and the next call is as if nothing had been. Allocations of certain sizes fail.
#include "t.h"

#include <mpi.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
int main(void)
{
    fprintf(stderr, "skipped: the sanitizer has its own malloc\n");
    return 77;
}
#else

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);

static size_t least = 1, most; // allocations of so many bytes fail
static int no_thread;          // none begins

static int fails(size_t size)
{
    return size >= least && size <= most;
}

void *malloc(size_t size)
{
    return fails(size) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails(n * size) ? NULL : __libc_calloc(n, size);
}

int pthread_create(pthread_t *out, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (real == NULL) {
        real = dlsym(RTLD_NEXT, "pthread_create");
    }
    return no_thread ? EAGAIN : real(out, a, fn, arg);
}

enum { RECORD = 100, N_RECORD = 1200, LEN = RECORD * N_RECORD, HINT = 333 };

static int me, n, is_one_host; // on several, messages that nobody waits for yet take such memory
static char path[200];
static MPI_File f;

static void lack(int who, size_t from, size_t to)
{
    least = from;
    most = me == who ? to : 0;
}

// All ranks have the same code of class `want`; -1: of any.
static int class_of_all(int code, int want)
{
    int c = 0, lowest, highest;
    most = 0;
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &c);
    }
    MPI_Allreduce(&c, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&c, &highest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    T_EQ(lowest, highest);
    if (want >= 0) {
        T_EQ(c, want);
    }
    return c;
}

// A hint whose value is longer than what else is allocated.
static MPI_Info long_hint(void)
{
    MPI_Info info;
    char value[HINT + 1];
    memset(value, 'x', HINT);
    value[HINT] = '\0';
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "of_nobody", value);
    return info;
}

static int has_hint(const char *key, const char *want)
{
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int has;
    T_EQ(MPI_File_get_info(f, &info), 0);
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &has);
    MPI_Info_free(&info);
    return has && (want == NULL || strcmp(value, want) == 0);
}

// A view that cannot be set is set nowhere, nor are its hints.
static void check_view(int who)
{
    MPI_Info info = long_hint();
    MPI_Offset disp;
    MPI_Datatype etype, filetype;
    char rep[MPI_MAX_DATAREP_STRING];
    lack(who, HINT + 1, HINT + 1);
    class_of_all(MPI_File_set_view(f, 40, MPI_INT, MPI_INT, "native", info), MPI_ERR_NO_MEM);
    MPI_File_get_view(f, &disp, &etype, &filetype, rep);
    T_EQ(disp, 0);
    T_OK(etype == MPI_BYTE);
    T_OK(!has_hint("of_nobody", NULL));
    T_OK(has_hint("romio_cb_write", "automatic"));
    class_of_all(MPI_File_set_view(f, 40, MPI_INT, MPI_INT, "native", info), 0);
    T_OK(has_hint("of_nobody", NULL));
    class_of_all(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), 0);
    MPI_Info_free(&info);
}

// MPI_File_set_info meets nobody; who fails has the hints that it had.
static void check_info(int who)
{
    MPI_Info info = long_hint();
    lack(who, HINT + 1, HINT + 1);
    int code = MPI_File_set_info(f, info);
    most = 0;
    T_EQ(code == MPI_SUCCESS, me != who);
    T_EQ(has_hint("of_nobody", NULL), me != who);
    T_OK(has_hint("romio_cb_write", me != who ? "enable" : "automatic"));
    MPI_Info_free(&info);
}

static char value_at(int rank, int i)
{
    return (char)(rank * 31 + i % 97 + 1);
}

typedef int all_fn(MPI_File, MPI_Offset, char *, MPI_Datatype);

static int write_all(MPI_File file, MPI_Offset at, char *buf, MPI_Datatype t)
{
    return MPI_File_write_at_all(file, at, buf, 1, t, MPI_STATUS_IGNORE);
}

static int read_all(MPI_File file, MPI_Offset at, char *buf, MPI_Datatype t)
{
    return MPI_File_read_at_all(file, at, buf, 1, t, MPI_STATUS_IGNORE);
}

static int later(int code, MPI_Request *r)
{
    if (code != MPI_SUCCESS) {
        return code;
    }
    return MPI_Wait(r, MPI_STATUS_IGNORE);
}

static int write_later(MPI_File file, MPI_Offset at, char *buf, MPI_Datatype t)
{
    MPI_Request r;
    return later(MPI_File_iwrite_at_all(file, at, buf, 1, t, &r), &r);
}

static int read_later(MPI_File file, MPI_Offset at, char *buf, MPI_Datatype t)
{
    MPI_Request r;
    return later(MPI_File_iread_at_all(file, at, buf, 1, t, &r), &r);
}

// Records of all ranks by turns, from every second byte of memory.
static void check_once(all_fn *write, all_fn *read, MPI_Datatype pieces)
{
    static char data[2 * LEN], back[2 * LEN];
    for (int i = 0; i < 2 * LEN; i++) {
        data[i] = value_at(me, i / 2);
        back[i] = 0;
    }
    class_of_all(write(f, 0, data, pieces), 0);
    class_of_all(read(f, 0, back, pieces), 0);
    int n_wrong = 0;
    for (int i = 0; i < LEN; i++) {
        n_wrong += back[2 * i] != data[2 * i] || back[2 * i + 1] != 0;
    }
    T_EQ(n_wrong, 0);
}

static void check_access(int who, all_fn *write, all_fn *read, MPI_Datatype pieces)
{
    static char data[2 * LEN];
    const struct {
        size_t from, to;
    } sizes[] = {
        { (size_t)n * 48, (size_t)n * 48 }, // what members want
        { 10 * 1000, 60 * 1000 },           // what is packed for another rank
    };
    for (size_t i = 0; i < (is_one_host ? 2 : 1); i++) {
        lack(who, sizes[i].from, sizes[i].to);
        class_of_all(write(f, 0, data, pieces), -1);
        check_once(write, read, pieces);
        lack(who, sizes[i].from, sizes[i].to);
        class_of_all(read(f, 0, data, pieces), -1);
        check_once(write, read, pieces);
    }
}

static void check_thread(int who, MPI_Datatype pieces)
{
    static char data[2 * LEN];
    no_thread = me == who;
    class_of_all(write_later(f, 0, data, pieces), MPI_ERR_OTHER);
    no_thread = 0;
    check_once(write_later, read_later, pieces);
}

static void open_one(MPI_Info info)
{
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    class_of_all(MPI_File_open(MPI_COMM_WORLD, path, mode, info, &f), 0);
}

static void check_all(int who)
{
    MPI_Datatype record, view, pieces;
    MPI_Info info;
    open_one(MPI_INFO_NULL);
    check_view(who);
    T_EQ(MPI_File_close(&f), 0);
    open_one(MPI_INFO_NULL);
    check_info(who);
    T_EQ(MPI_File_close(&f), 0);
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    MPI_Info_set(info, "cb_buffer_size", "150000");
    MPI_Info_set(info, "cb_nodes", "2");
    open_one(info);
    MPI_Info_free(&info);
    MPI_Type_contiguous(RECORD, MPI_BYTE, &record);
    MPI_Type_create_resized(record, 0, (MPI_Aint)n * RECORD, &view);
    MPI_Type_vector(LEN, 1, 2, MPI_BYTE, &pieces);
    MPI_Type_commit(&view);
    MPI_Type_commit(&pieces);
    class_of_all(MPI_File_set_view(f, me * RECORD, MPI_BYTE, view, "native", MPI_INFO_NULL), 0);
    check_thread(who, pieces); // before the file has a thread
    check_access(who, write_all, read_all, pieces);
    check_access(who, write_later, read_later, pieces);
    T_EQ(MPI_File_close(&f), 0);
    MPI_Type_free(&record);
    MPI_Type_free(&view);
    MPI_Type_free(&pieces);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm host;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &is_one_host);
    is_one_host = is_one_host == n;
    MPI_Comm_free(&host);
    snprintf(path, sizeof path, "/tmp/io_nomem.%d", (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    check_all(0);
    check_all(n - 1);
    MPI_Finalize();
    return t_status();
}
#endif
