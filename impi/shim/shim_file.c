// SPDX-License-Identifier: BSD-3-Clause
// Opens and closes files that span clients, agrees on outcomes, and does what is collective beside
// reading and writing.
#include "shim/shim_file.h"
#include "io/file_wire.h"
#include "shim/shim_coll.h"
#include "shim/shim_plan.h"
#include "shim/shim_req.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ONE_SYSTEM "all processes that open a file together must see the same file system"

enum { MOST = 4, MANY_SENTENCES = 64 };

static struct shim_file *all;

struct shim_file *pli_shim_file_find(MPI_File file)
{
    struct shim_file *f = all;
    while (f != NULL && f->handle != file) {
        f = f->next;
    }
    return f;
}

// Whether the error handler of the file has anything to do. Some libraries print the class alone
// when they end a program. It is not freed: MPICH 4.0 has not counted that it was given away.
static bool is_called(MPI_File file, int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int len = 0;
    MPI_Errhandler handler;
    if (code == MPI_SUCCESS || PMPI_File_get_errhandler(file, &handler) != MPI_SUCCESS) {
        return false;
    }
    bool is_silent = handler == MPI_ERRORS_RETURN, is_fatal = handler == MPI_ERRORS_ARE_FATAL;
    if (is_fatal && MPI_Error_string(code, text, &len) == MPI_SUCCESS) {
        fprintf(stderr, "libimpi: %s\n", text);
    }
    return !is_silent;
}

int pli_shim_file_end(const struct shim_file *f, int code, bool is_told)
{
    if (!is_told && is_called(f->handle, code)) {
        (void)PMPI_File_call_errhandler(f->handle, code);
    }
    return code;
}

// The error handler of MPI_FILE_NULL, which Open MPI does not call when it is asked to: a new file
// has it too.
static int end_open(int code)
{
    MPI_File file = MPI_FILE_NULL;
    if (!is_called(MPI_FILE_NULL, code)) {
        return code;
    }
#ifdef OPEN_MPI
    (void)PMPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
#endif
    (void)PMPI_File_call_errhandler(file, code);
    if (file != MPI_FILE_NULL) {
        (void)PMPI_File_close(&file);
    }
    return code;
}

// A code whose text is a sentence that is no constant. There are not more of them than a program
// needs to see its mistakes.
static int fail(int class, const char *text)
{
    static char *said[MANY_SENTENCES];
    static int n;
    for (int i = 0; i < n; i++) {
        if (strcmp(said[i], text) == 0) {
            return pli_shim_fail(class, said[i]);
        }
    }
    if (n == MANY_SENTENCES || (said[n] = strdup(text)) == NULL) {
        return class;
    }
    return pli_shim_fail(class, said[n++]);
}

static int fault_of(int code)
{
    int class = MPI_ERR_OTHER;
    (void)PMPI_Error_class(code, &class);
    switch (class) {
#define PLI_FILE_FAULT(name, mpi_class)                                                            \
    case mpi_class:                                                                                \
        return PLI_FILE_WIRE_##name;
#include "io/file_wire.def"
#undef PLI_FILE_FAULT
    default:
        return PLI_FILE_WIRE_OTHER;
    }
}

static int class_of(int64_t number)
{
    switch (number) {
#define PLI_FILE_FAULT(name, mpi_class)                                                            \
    case PLI_FILE_WIRE_##name:                                                                     \
        return mpi_class;
#include "io/file_wire.def"
#undef PLI_FILE_FAULT
    default:
        return MPI_ERR_OTHER;
    }
}

// Where all are well each of n values becomes the largest of all.
static int agree(struct shim_span *s, int rc, int64_t *values, int n)
{
    char text[PLI_FILE_WIRE_SENTENCE] = "", full[PLI_FILE_WIRE_SENTENCE + 32];
    int64_t mine[MOST + 1] = { 0 }, most[MOST + 1] = { 0 };
    if (rc != MPI_SUCCESS) {
        char said[MPI_MAX_ERROR_STRING] = "";
        int len;
        (void)MPI_Error_string(rc, said, &len);
        snprintf(text, sizeof text, "%s", said);
        mine[0] = (int64_t)(s->size - s->rank) << 32 | fault_of(rc);
    }
    for (int i = 0; i < n; i++) {
        mine[i + 1] = values[i];
    }
    int met = pli_shim_coll_allreduce(s, mine, most, n + 1, MPI_INT64_T, MPI_MAX);
    if (met != MPI_SUCCESS) {
        return met;
    }
    if (most[0] == 0) {
        memcpy(values, most + 1, (size_t)n * sizeof *values);
        return MPI_SUCCESS;
    }
    int who = s->size - (int)(most[0] >> 32);
    met = pli_shim_coll_bcast(s, text, sizeof text, MPI_CHAR, who);
    if (met != MPI_SUCCESS || who == s->rank) {
        return met != MPI_SUCCESS ? met : rc;
    }
    text[sizeof text - 1] = '\0';
    snprintf(full, sizeof full, "%s (at rank %d)", text, who);
    return fail(class_of(most[0] & 0xffffffff), full);
}

int pli_shim_file_agree(const struct shim_file *f, int rc)
{
    int64_t none;
    return agree(f->span, rc, &none, 0);
}

int pli_shim_file_check_split(const struct shim_file *f)
{
    return f->begin == NULL
               ? MPI_SUCCESS
               : pli_shim_fail(MPI_ERR_OTHER, "a split collective waits for its end on this file");
}

// The shared pointer is changed by an access to the window, in which rank 0 answers while it is in
// a call of MPI.
static int change(struct shim_file *f, int64_t n, MPI_Op op, int64_t *before_out)
{
    int rc = MPI_Fetch_and_op(&n, before_out, MPI_INT64_T, 0, 0, op, f->win);
    return rc == MPI_SUCCESS ? MPI_Win_flush(0, f->win) : rc;
}

int pli_shim_file_advance(struct shim_file *f, int64_t n, int64_t *before_out)
{
    return change(f, n, n == 0 ? MPI_NO_OP : MPI_SUM, before_out);
}

// Collective: nobody uses it as it was.
static int put(struct shim_file *f, int64_t to)
{
    int64_t was;
    int rc = pli_shim_plan_barrier(f->span);
    if (rc == MPI_SUCCESS && f->span->rank == 0) {
        rc = change(f, to, MPI_REPLACE, &was);
    }
    int met = pli_shim_plan_barrier(f->span);
    return rc == MPI_SUCCESS ? met : rc;
}

static int check_open(const char *name, int amode)
{
    int way = amode & (MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY);
    if (name == NULL || name[0] == '\0') {
        return pli_shim_fail(MPI_ERR_BAD_FILE, "a file has no name");
    }
    bool is_wrong = way == 0 || (way & (way - 1)) != 0 ||
                    (way == MPI_MODE_RDONLY && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0) ||
                    (way == MPI_MODE_RDWR && (amode & MPI_MODE_SEQUENTIAL) != 0);
    return is_wrong ? pli_shim_fail(MPI_ERR_AMODE, "the access mode of a file contradicts itself")
                    : MPI_SUCCESS;
}

// The name of a file may begin with that of its file system.
static const char *path_of(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
    return n > 1 && name[n] == ':' ? name + n + 1 : name;
}

static int look(const char *name, struct pli_file_wire_seen *out)
{
    struct stat s;
    if (stat(path_of(name), &s) != 0) {
        return pli_shim_fail(MPI_ERR_IO, "a file that was opened cannot be looked at");
    }
    *out =
        (struct pli_file_wire_seen){ 1, (int64_t)s.st_ino, s.st_size,
                                     (int64_t)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec };
    return MPI_SUCCESS;
}

// With the native library, by this process alone. What is common to all members is not its
// business: who makes the file and deletes it, the shared pointer, where to begin. It must not read
// gaps of the view and write them back: others, of whom it knows nothing, write them.
static int open_native(struct shim_file *f, MPI_Info info)
{
    int common =
        MPI_MODE_SEQUENTIAL | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN;
    int made = MPI_MODE_CREATE | MPI_MODE_EXCL;
    MPI_Info own;
    int rc = info == MPI_INFO_NULL ? PMPI_Info_create(&own) : PMPI_Info_dup(info, &own);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    (void)PMPI_Info_set(own, "romio_ds_write", "disable");
    int amode = f->amode & ~(f->span->rank == 0 ? common : common | made);
    rc = PLI_SHIM_OUTSIDE(PMPI_File_open(MPI_COMM_SELF, f->name, amode, own, &f->handle));
    f->is_told = rc != MPI_SUCCESS;
    (void)PMPI_Info_free(&own);
    return rc;
}

static int compare(const struct shim_file *f, int rc, const struct pli_file_wire_seen *first)
{
    struct pli_file_wire_seen mine = { 0 };
    char text[PLI_FILE_WIRE_SENTENCE];
    int class = MPI_SUCCESS;
    if (rc != MPI_SUCCESS) {
        (void)PMPI_Error_class(rc, &class);
        if (class != MPI_ERR_NO_SUCH_FILE) {
            return rc;
        }
        snprintf(text, sizeof text,
                 "file %s, which rank 0 has opened, is not there at another rank: " ONE_SYSTEM,
                 f->name);
        return fail(class, text);
    }
    rc = look(f->name, &mine);
    if (rc != MPI_SUCCESS || pli_file_wire_is_same(first, &mine)) {
        return rc;
    }
    snprintf(text, sizeof text,
             "file %s is another one than that which rank 0 has opened: " ONE_SYSTEM, f->name);
    return fail(MPI_ERR_BAD_FILE, text);
}

// Rank 0 opens it first, so that one of all makes it.
static int open_all(struct shim_file *f, struct shim_span *s, MPI_Info info)
{
    struct pli_file_wire_seen seen = { 0 };
    int64_t none;
    int rc = MPI_SUCCESS;
    if (s->rank == 0) {
        rc = open_native(f, info);
        rc = rc == MPI_SUCCESS ? look(f->name, &seen) : rc;
    }
    int64_t told[PLI_FILE_WIRE_N_SEEN] = { seen.is_open, seen.number, seen.size, seen.changed };
    int met = pli_shim_coll_bcast(s, told, PLI_FILE_WIRE_N_SEEN, MPI_INT64_T, 0);
    if (met != MPI_SUCCESS) {
        return met;
    }
    seen = (struct pli_file_wire_seen){ told[0], told[1], told[2], told[3] };
    if (s->rank != 0 && seen.is_open != 0) {
        rc = compare(f, open_native(f, info), &seen);
    }
    return agree(s, rc, &none, 0);
}

static int make_pointer(struct shim_file *f, struct shim_span *s)
{
    int64_t *word = NULL;
    MPI_Aint size = s->rank == 0 ? (MPI_Aint)sizeof *word : 0;
    int rc = MPI_Win_allocate(size, 1, MPI_INFO_NULL, s->handle, &word, &f->win);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (s->rank == 0) {
        *word = 0;
    }
    rc = MPI_Win_lock_all(MPI_MODE_NOCHECK, f->win);
    return rc == MPI_SUCCESS ? pli_shim_plan_barrier(s) : rc;
}

// Both pointers of a file that is appended to begin at its end.
static int seek_end(struct shim_file *f)
{
    MPI_Offset size = 0;
    int64_t was;
    int rc = PMPI_File_get_size(f->handle, &size);
    rc = rc == MPI_SUCCESS ? PMPI_File_seek(f->handle, size, MPI_SEEK_SET) : rc;
    if (rc == MPI_SUCCESS && f->span->rank == 0) {
        rc = pli_shim_file_advance(f, size, &was);
    }
    return pli_shim_file_agree(f, rc);
}

// As far as it was made. The window's end is collective.
static void destroy(struct shim_file *f)
{
    if (f->win != MPI_WIN_NULL) {
        (void)MPI_Win_unlock_all(f->win);
        (void)MPI_Win_free(&f->win);
    }
    if (f->span != NULL) {
        MPI_Comm comm = f->span->handle;
        pli_shim_span_forget(f->span);
        (void)PMPI_Comm_free(&comm);
    }
    if (f->handle != MPI_FILE_NULL) {
        (void)PLI_SHIM_OUTSIDE(PMPI_File_close(&f->handle));
    }
    pli_shim_file_lock_close(f);
    (void)pthread_mutex_destroy(&f->range);
    free(f->name);
    free(f);
}

// A communicator for the file alone, with the number that rank 0 made.
static int make_comm(struct shim_file *f, struct shim_span *s, uint64_t number)
{
    MPI_Comm handle, local;
    int rc = PLI_SHIM_OUTSIDE(PMPI_Comm_dup(s->local, &handle));
    rc = rc == MPI_SUCCESS ? PLI_SHIM_OUTSIDE(PMPI_Comm_dup(s->local, &local)) : rc;
    return rc == MPI_SUCCESS
               ? pli_shim_span_create(handle, local, s->world, s->size, number, &f->span)
               : rc;
}

static int open_file(struct shim_span *s, const char *name, int amode, MPI_Info info, MPI_File *out,
                     bool *is_told)
{
    int64_t mode = pli_file_wire_mode_of(amode);
    int64_t most[MOST] = { mode, -mode, INT64_MIN, 1 }; // the last: a member is of another MPI
    if (s->rank == 0) {
        most[2] = (int64_t)pli_shim_setup_number();
    }
    int rc = agree(s, check_open(name, amode), most, MOST);
    if (rc == MPI_SUCCESS && most[0] != -most[1]) {
        rc = pli_shim_fail(MPI_ERR_NOT_SAME, "the access mode differs between ranks");
    }
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    struct shim_file *f = calloc(1, sizeof *f);
    if (f == NULL || (f->name = strdup(name)) == NULL) {
        pli_shim_die("out of memory for a file"); // the others wait
    }
    f->handle = MPI_FILE_NULL;
    f->win = MPI_WIN_NULL;
    f->amode = amode;
    f->unit = f->reach = 1;
    f->lock_fd = -1;
    (void)pthread_mutex_init(&f->range, NULL);
    if (make_comm(f, s, (uint64_t)most[2]) != MPI_SUCCESS) {
        pli_shim_die("no communicator can be made for a file");
    }
    rc = open_all(f, s, info);
    rc = rc == MPI_SUCCESS ? make_pointer(f, s) : rc;
    rc = rc == MPI_SUCCESS && (amode & MPI_MODE_APPEND) != 0 ? seek_end(f) : rc;
    *is_told = f->is_told;
    if (rc != MPI_SUCCESS) {
        destroy(f);
        return rc;
    }
    f->next = all;
    all = f;
    *out = f->handle;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info,
                               MPI_File *fh)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_File_open(comm, filename, amode, info, fh));
    }
    enum { NEEDS = PLI_IMPI_HAS_FILES };
    int rc = pli_shim_inter_refuse(s);
    if (rc == MPI_SUCCESS && ((pli_shim.job->features & NEEDS) == 0 ||
                              (pli_shim.job->features & PLI_IMPI_HAS_WINDOWS) == 0)) {
        rc = pli_shim_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                           "a client of this job has no files between clients, or another form of "
                           "data; split off a communicator of one client (IMPI_CLIENT_COLOR)");
    }
    bool is_told = false; // the error handler, by the native library
    rc = rc == MPI_SUCCESS ? open_file(s, filename, amode, info, fh, &is_told) : rc;
    return is_told ? rc : end_open(rc);
}

static int close_file(struct shim_file *f)
{
    int rc = pli_shim_file_agree(f, pli_shim_file_check_split(f));
    if (rc != MPI_SUCCESS || f->is_closed) {
        return rc;
    }
    rc = pli_shim_file_agree(f, MPI_SUCCESS); // others have closed it now
    if ((f->amode & MPI_MODE_DELETE_ON_CLOSE) != 0) {
        int gone = f->span->rank == 0 ? PMPI_File_delete(f->name, MPI_INFO_NULL) : MPI_SUCCESS;
        gone = pli_shim_file_agree(f, gone);
        rc = rc == MPI_SUCCESS ? gone : rc;
    }
    f->is_closed = true;
    return rc;
}

// After an error the handle stays until it is closed once more.
PLI_SHIM_API int MPI_File_close(MPI_File *fh)
{
    PLI_SHIM_ENTER;
    struct shim_file *f = pli_shim_file_find(*fh);
    if (f == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_File_close(fh));
    }
    int rc = close_file(f);
    if (rc != MPI_SUCCESS) {
        return pli_shim_file_end(f, rc, false);
    }
    struct shim_file **at = &all;
    while (*at != f) {
        at = &(*at)->next;
    }
    *at = f->next;
    destroy(f);
    *fh = MPI_FILE_NULL;
    return MPI_SUCCESS;
}

// All have the same two numbers, of which the second is the first turned around.
static int check_same(const struct shim_file *f, MPI_Offset size)
{
    int64_t pair[2] = { size, -size }, most[2] = { 0 };
    int rc = pli_shim_file_check_split(f);
    if (rc == MPI_SUCCESS && size < 0) {
        rc = pli_shim_fail(MPI_ERR_ARG, "the size of a file must not be negative");
    }
    if (rc == MPI_SUCCESS && (f->amode & MPI_MODE_RDONLY) != 0) {
        rc = pli_shim_fail(MPI_ERR_READ_ONLY, "the file was opened with MPI_MODE_RDONLY");
    }
    if (rc == MPI_SUCCESS && (f->amode & MPI_MODE_SEQUENTIAL) != 0) {
        rc = pli_shim_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                           "the file was opened with MPI_MODE_SEQUENTIAL");
    }
    rc = pli_shim_file_agree(f, rc);
    rc = rc == MPI_SUCCESS ? pli_shim_coll_allreduce(f->span, pair, most, 2, MPI_INT64_T, MPI_MAX)
                           : rc;
    return rc != MPI_SUCCESS || most[0] == -most[1]
               ? rc
               : pli_shim_fail(MPI_ERR_NOT_SAME, "the size of a file differs between ranks");
}

// Rank 0 does it.
#define RESIZE(name)                                                                               \
    PLI_SHIM_API int MPI_File_##name(MPI_File fh, MPI_Offset size)                                 \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        struct shim_file *f = pli_shim_file_find(fh);                                              \
        if (f == NULL) {                                                                           \
            return PLI_SHIM_OUTSIDE(PMPI_File_##name(fh, size));                                   \
        }                                                                                          \
        int rc = check_same(f, size), own = MPI_SUCCESS;                                           \
        if (rc == MPI_SUCCESS) {                                                                   \
            own = f->span->rank == 0 ? PLI_SHIM_OUTSIDE(PMPI_File_##name(fh, size)) : MPI_SUCCESS; \
            rc = pli_shim_file_agree(f, own);                                                      \
        }                                                                                          \
        return pli_shim_file_end(f, rc, own != MPI_SUCCESS);                                       \
    }
RESIZE(set_size)
RESIZE(preallocate)

PLI_SHIM_API int MPI_File_sync(MPI_File fh)
{
    PLI_SHIM_ENTER;
    struct shim_file *f = pli_shim_file_find(fh);
    int rc = f != NULL ? pli_shim_file_check_split(f) : MPI_SUCCESS;
    int own = rc == MPI_SUCCESS ? PLI_SHIM_OUTSIDE(PMPI_File_sync(fh)) : MPI_SUCCESS;
    rc = rc == MPI_SUCCESS ? own : rc;
    return f == NULL ? rc : pli_shim_file_end(f, pli_shim_file_agree(f, rc), own != MPI_SUCCESS);
}

PLI_SHIM_API int MPI_File_set_atomicity(MPI_File fh, int flag)
{
    PLI_SHIM_ENTER;
    struct shim_file *f = pli_shim_file_find(fh);
    int pair[2] = { flag != 0, flag == 0 }, most[2] = { 0 };
    if (f == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_File_set_atomicity(fh, flag));
    }
    int rc = pli_shim_file_agree(f, pli_shim_file_check_split(f));
    rc = rc == MPI_SUCCESS ? pli_shim_coll_allreduce(f->span, pair, most, 2, MPI_INT, MPI_MAX) : rc;
    if (rc == MPI_SUCCESS && most[0] == most[1]) {
        rc = pli_shim_fail(MPI_ERR_NOT_SAME, "the flag of MPI_File_set_atomicity differs between "
                                             "ranks");
    }
    if (rc == MPI_SUCCESS && flag != 0 && (pli_shim.job->features & PLI_IMPI_HAS_ATOMIC) == 0) {
        rc = pli_shim_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                           "a file that is open in clients of several MPIs cannot be in atomic "
                           "mode: an older one of them does not lock what it accesses");
    } else if (rc == MPI_SUCCESS && flag != 0) {
        rc = pli_shim_file_agree(f, pli_shim_file_lock_open(f, path_of(f->name)));
    }
    f->is_atomic = rc == MPI_SUCCESS ? flag != 0 : f->is_atomic;
    return pli_shim_file_end(f, rc, false);
}

PLI_SHIM_API int MPI_File_get_atomicity(MPI_File fh, int *flag)
{
    PLI_SHIM_ENTER;
    struct shim_file *f = pli_shim_file_find(fh);
    if (f == NULL) {
        return PMPI_File_get_atomicity(fh, flag);
    }
    *flag = f->is_atomic;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_File_get_amode(MPI_File fh, int *amode)
{
    PLI_SHIM_ENTER;
    struct shim_file *f = pli_shim_file_find(fh);
    if (f == NULL) {
        return PMPI_File_get_amode(fh, amode);
    }
    *amode = f->amode;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_File_get_group(MPI_File fh, MPI_Group *group)
{
    PLI_SHIM_ENTER;
    struct shim_file *f = pli_shim_file_find(fh);
    return f == NULL ? PMPI_File_get_group(fh, group) : MPI_Comm_group(f->span->handle, group);
}

struct view {
    MPI_Offset disp, pos;
    MPI_Datatype etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING + 1];
};

static int save_view(const struct shim_file *f, struct view *v)
{
    int rc = PMPI_File_get_view(f->handle, &v->disp, &v->etype, &v->filetype, v->datarep);
    return rc == MPI_SUCCESS ? PMPI_File_get_position(f->handle, &v->pos) : rc;
}

// Another member has failed: it stays as it was.
static void restore_view(const struct shim_file *f, const struct view *v)
{
    int rc = PLI_SHIM_OUTSIDE(
        PMPI_File_set_view(f->handle, v->disp, v->etype, v->filetype, v->datarep, MPI_INFO_NULL));
    rc = rc == MPI_SUCCESS ? PMPI_File_seek(f->handle, v->pos, MPI_SEEK_SET) : rc;
    if (rc != MPI_SUCCESS) {
        pli_shim_die("the view of a file cannot be set back");
    }
}

// Where the shared pointer is, in bytes of the file. Collective.
static int current(struct shim_file *f, MPI_Offset *out)
{
    int64_t at = 0;
    int rc = f->span->rank == 0 ? pli_shim_file_advance(f, 0, &at) : MPI_SUCCESS;
    int met = pli_shim_coll_bcast(f->span, &at, 1, MPI_INT64_T, 0);
    rc = rc == MPI_SUCCESS ? met : rc;
    return rc == MPI_SUCCESS ? PMPI_File_get_byte_offset(f->handle, at, out) : rc;
}

static int find_disp(struct shim_file *f, MPI_Offset *disp)
{
    bool is_current = *disp == MPI_DISPLACEMENT_CURRENT;
    int rc = pli_shim_file_check_split(f);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (is_current != ((f->amode & MPI_MODE_SEQUENTIAL) != 0)) {
        return is_current ? pli_shim_fail(MPI_ERR_ARG,
                                          "MPI_DISPLACEMENT_CURRENT is for files that were opened "
                                          "with MPI_MODE_SEQUENTIAL")
                          : pli_shim_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                                          "the view of a file that was opened with "
                                          "MPI_MODE_SEQUENTIAL begins at "
                                          "MPI_DISPLACEMENT_CURRENT");
    }
    return is_current  ? current(f, disp)
           : *disp < 0 ? pli_shim_fail(MPI_ERR_ARG, "the displacement of a view is negative")
                       : MPI_SUCCESS;
}

PLI_SHIM_API int MPI_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype,
                                   MPI_Datatype filetype, const char *datarep, MPI_Info info)
{
    PLI_SHIM_ENTER;
    struct shim_file *f = pli_shim_file_find(fh);
    struct view old;
    MPI_Count unit = 0;
    MPI_Aint begin = 0, extent = 0;
    if (f == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_File_set_view(fh, disp, etype, filetype, datarep, info));
    }
    int rc = find_disp(f, &disp);
    rc = rc == MPI_SUCCESS ? save_view(f, &old) : rc;
    bool is_saved = rc == MPI_SUCCESS, is_told = false;
    rc = rc == MPI_SUCCESS ? PMPI_Type_size_x(etype, &unit) : rc;
    rc = rc == MPI_SUCCESS ? PMPI_Type_get_true_extent(etype, &begin, &extent) : rc;
    rc = rc == MPI_SUCCESS && unit <= 0 ? MPI_ERR_TYPE : rc;
    if (rc == MPI_SUCCESS) {
        rc = PLI_SHIM_OUTSIDE(PMPI_File_set_view(fh, disp, etype, filetype, datarep, info));
        is_told = rc != MPI_SUCCESS;
    }
    int agreed = pli_shim_file_agree(f, rc);
    if (agreed != MPI_SUCCESS && rc == MPI_SUCCESS) {
        restore_view(f, &old);
    }
    if (is_saved) {
        pli_shim_type_free_derived(&old.etype);
        pli_shim_type_free_derived(&old.filetype);
    }
    if (agreed == MPI_SUCCESS) {
        f->unit = unit;
        f->reach = begin + extent;
        agreed = put(f, 0);
    }
    return pli_shim_file_end(f, agreed, is_told);
}

PLI_SHIM_API int MPI_File_get_position_shared(MPI_File fh, MPI_Offset *offset)
{
    PLI_SHIM_ENTER;
    struct shim_file *f = pli_shim_file_find(fh);
    int64_t at = 0;
    if (f == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_File_get_position_shared(fh, offset));
    }
    int rc = pli_shim_file_advance(f, 0, &at);
    *offset = at;
    return pli_shim_file_end(f, rc, false);
}

// The end of the file in etypes of the view: the first one that begins at the end or behind it.
// Offsets of etypes rise, so it is looked for by halving. (MPI_SEEK_END of Open MPI forgets views.)
static int end_of(const struct shim_file *f, int64_t *out)
{
    MPI_Offset size = 0, at = 0;
    int64_t low = 0, high = 1;
    int rc = PMPI_File_get_size(f->handle, &size);
    rc = rc == MPI_SUCCESS ? PMPI_File_get_byte_offset(f->handle, 0, &at) : rc;
    if (rc != MPI_SUCCESS || at >= size) {
        *out = 0;
        return rc;
    }
    while (rc == MPI_SUCCESS && at < size) { // low begins before the end
        rc = PMPI_File_get_byte_offset(f->handle, high, &at);
        low = at < size ? high : low;
        high = at < size ? 2 * high : high;
    }
    while (rc == MPI_SUCCESS && high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        rc = PMPI_File_get_byte_offset(f->handle, middle, &at);
        low = at < size ? middle : low;
        high = at < size ? high : middle;
    }
    *out = high;
    return rc;
}

static int lead(const struct shim_file *f, MPI_Offset offset, int whence, int64_t now, int64_t *out)
{
    int64_t from = whence == MPI_SEEK_CUR ? now : 0;
    if (whence == MPI_SEEK_END) {
        int rc = end_of(f, &from);
        if (rc != MPI_SUCCESS) {
            return rc;
        }
    } else if (whence != MPI_SEEK_SET && whence != MPI_SEEK_CUR) {
        return pli_shim_fail(MPI_ERR_ARG, "whence is none of MPI_SEEK_SET, _CUR and _END");
    }
    *out = from + offset;
    return *out >= 0
               ? MPI_SUCCESS
               : pli_shim_fail(MPI_ERR_ARG,
                               "the shared pointer would be before the beginning of the view");
}

static int seek_shared(struct shim_file *f, MPI_Offset offset, int whence)
{
    int64_t mine[2] = { offset, whence == MPI_SEEK_SET   ? PLI_FILE_WIRE_SET
                                : whence == MPI_SEEK_CUR ? PLI_FILE_WIRE_CUR
                                : whence == MPI_SEEK_END ? PLI_FILE_WIRE_END
                                                         : -1 };
    int64_t first[2] = { mine[0], mine[1] }, now = 0, to = 0;
    int rc = pli_shim_file_check_split(f);
    if (rc == MPI_SUCCESS && (f->amode & MPI_MODE_SEQUENTIAL) != 0) {
        rc = pli_shim_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                           "the pointer of a file that was opened with MPI_MODE_SEQUENTIAL cannot "
                           "be moved");
    }
    int met = pli_shim_coll_bcast(f->span, first, 2, MPI_INT64_T, 0);
    rc = rc == MPI_SUCCESS ? met : rc;
    if (rc == MPI_SUCCESS && memcmp(mine, first, sizeof mine) != 0) {
        rc = pli_shim_fail(MPI_ERR_NOT_SAME, "offset or whence differ from those of rank 0");
    }
    rc = rc == MPI_SUCCESS ? pli_shim_file_advance(f, 0, &now) : rc;
    rc = rc == MPI_SUCCESS ? lead(f, offset, whence, now, &to) : rc;
    rc = pli_shim_file_agree(f, rc);
    return rc == MPI_SUCCESS ? put(f, to) : rc;
}

PLI_SHIM_API int MPI_File_seek_shared(MPI_File fh, MPI_Offset offset, int whence)
{
    PLI_SHIM_ENTER;
    struct shim_file *f = pli_shim_file_find(fh);
    return f == NULL ? PLI_SHIM_OUTSIDE(PMPI_File_seek_shared(fh, offset, whence))
                     : pli_shim_file_end(f, seek_shared(f, offset, whence), false);
}
