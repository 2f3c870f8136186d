// SPDX-License-Identifier: BSD-3-Clause
// Opens and closes files: rank 0 makes the file, and all members fail where one does.
#include "io/file_open.h"

#include "coll/coll.h"
#include "comm/comm_make.h"
#include "io/file.h"
#include "io/file_async.h"
#include "io/file_coll.h"
#include "io/file_list.h"
#include "io/file_map.h"
#include "io/file_query.h"
#include "io/file_range.h"
#include "io/file_ring.h"
#include "io/file_shared.h"
#include "io/file_shared_batch.h"
#include "io/file_shared_map.h"
#include "io/file_span.h"
#include "io/file_sys.h"
#include "io/file_uring.h"
#include "msg/process.h"
#include "obj/comm.h"
#include "obj/errhandler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Names of file systems before the name of a file, as ROMIO has them.
static const char *path_of(const char *name)
{
    static const char *const prefixes[] = { "ufs:",    "nfs:",     "lustre:", "gpfs:",
                                            "beegfs:", "pvfs2:",   "panfs:",  "xfs:",
                                            "ime:",    "quobyte:", "daos:",   "testfs:" };
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t n = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], n) == 0) {
            return name + n;
        }
    }
    return name;
}

static enum pli_err check_amode(const struct pli_comm *comm, const char *name, int amode)
{
    int all = MPI_MODE_APPEND | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_EXCL |
              MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL | MPI_MODE_UNIQUE_OPEN |
              MPI_MODE_WRONLY;
    int way = amode & (MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY);
    if (comm->is_inter) {
        return pli_fail(PLI_ERR_COMM, "argument comm is an intercommunicator, but files need an "
                                      "intracommunicator");
    }
    enum pli_err err = pli_file_span_check(comm);
    if (err != PLI_OK) {
        return err;
    }
    if (name == NULL || path_of(name)[0] == '\0') {
        return pli_fail(PLI_ERR_BAD_FILE, "argument filename is %s",
                        name == NULL ? "NULL" : "empty");
    }
    if ((amode & ~all) != 0 || way == 0 || (way & (way - 1)) != 0) {
        return pli_fail(PLI_ERR_AMODE,
                        "argument amode is %d, but must have exactly one of MPI_MODE_RDONLY, "
                        "MPI_MODE_WRONLY and MPI_MODE_RDWR, and other MPI_MODE_ bits of files only",
                        amode);
    }
    if (way == MPI_MODE_RDONLY && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0) {
        return pli_fail(PLI_ERR_AMODE, "argument amode has MPI_MODE_RDONLY together with "
                                       "MPI_MODE_CREATE or MPI_MODE_EXCL");
    }
    return way != MPI_MODE_RDWR || (amode & MPI_MODE_SEQUENTIAL) == 0
               ? PLI_OK
               : pli_fail(PLI_ERR_AMODE,
                          "argument amode has MPI_MODE_RDWR together with MPI_MODE_SEQUENTIAL");
}

static int open_path(const char *name, int flags)
{
    int fd;
    do {
        fd = open(name, flags | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

// Pipes have no offsets, and opening one waits for its other end.
static enum pli_err check_kind(const char *name)
{
    struct stat s;
    return stat(name, &s) == 0 && (S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode))
               ? pli_fail(PLI_ERR_UNSUPPORTED,
                          "cannot open file %s: it is a pipe or socket, which has no offsets", name)
               : PLI_OK;
}

// The system that has the file. None has what is no plain file, as a device, though its name may be
// in memory.
static enum pli_err find_system(struct pli_file *f)
{
    struct stat s;
    int error = fstat(f->fd, &s) != 0 ? errno : S_ISDIR(s.st_mode) ? EISDIR : 0;
    if (error != 0) {
        close(f->fd);
        f->fd = -1;
        return pli_file_sys_fail(error, "open", f->name, 0, -1);
    }
    uint32_t system = S_ISREG(s.st_mode) ? pli_file_sys_type(f->fd) : 0;
    f->needs_lock = f->hints.lock == PLI_FILE_ENABLE ||
                    (f->hints.lock == PLI_FILE_AUTOMATIC && pli_file_map_is_nfs(system));
    f->is_local = pli_file_map_is_local(system);
    f->has_large_pages = f->is_local && pli_file_map_has_large_pages(system);
    f->is_memory = pli_file_map_is_memory(system);
    f->is_in_place = pli_file_map_is_in_place(system);
    f->has_uring = pli_file_uring_is_wanted(system);
    return PLI_OK;
}

// A file that is only written is opened for reading too, where that is allowed: accesses with gaps
// are faster then.
static enum pli_err open_one(struct pli_file *f, int flags)
{
    int way = (f->amode & MPI_MODE_RDONLY) != 0 ? O_RDONLY : O_RDWR;
    f->can_read = true;
    f->fd = open_path(f->name, way | flags);
    if (f->fd < 0 && errno == EACCES && (f->amode & MPI_MODE_WRONLY) != 0) {
        f->can_read = false;
        f->fd = open_path(f->name, O_WRONLY | flags);
    }
    // A host may remember that the file was not there before rank 0 made it.
    if (f->fd < 0 && errno == ENOENT && (f->amode & MPI_MODE_CREATE) != 0 && flags == 0 &&
        pli_file_map_is_nfs_folder(f->name)) {
        f->fd = open_path(f->name, way | O_CREAT);
    }
    return f->fd < 0 ? pli_file_sys_fail(errno, "open", f->name, 0, -1) : find_system(f);
}

// What rank 0 tells when it has made and opened the file.
struct opened {
    struct pli_file_word word;
    int64_t err, n_core, rounds, has_shared_map, has_batch;
    int64_t buffer, nodes, stripe, shared_map; // its hints count, so that all choose alike
};

// Memory for the shared pointer, with that of lines that are collected, if there is so much.
static void offer_words(struct pli_file *f, const struct pli_comm *comm, struct opened *out)
{
    size_t batch = pli_file_shared_batch_len(f);
    if (batch > 0) {
        out->word = pli_file_shared_offer(f, comm, batch);
        out->has_batch = f->pointer.word != NULL;
    }
    if (out->has_batch) {
        pli_file_shared_batch_offer(f);
        return;
    }
    out->word = pli_file_shared_offer(f, comm, pli_file_shared_map_len(f));
    out->has_shared_map = pli_file_shared_map_offer(f);
}

// Asking the system takes as long as making a file; the number hardly changes.
static long n_core(void)
{
    static _Atomic long known;
    long n = atomic_load_explicit(&known, memory_order_relaxed);
    if (n == 0) {
        n = sysconf(_SC_NPROCESSORS_ONLN);
        atomic_store_explicit(&known, n, memory_order_relaxed);
    }
    return n;
}

// Rank 0 makes the file, so that one of all does.
static enum pli_err open_made(struct pli_file *f)
{
    int flags = ((f->amode & MPI_MODE_CREATE) != 0 ? O_CREAT : 0) |
                ((f->amode & MPI_MODE_EXCL) != 0 ? O_EXCL : 0);
    enum pli_err err = check_kind(f->name);
    return err == PLI_OK ? open_one(f, flags) : err;
}

static enum pli_err open_first(struct pli_file *f, struct pli_comm *comm, struct opened *out)
{
    enum pli_err err = f->comm != NULL ? open_made(f) : PLI_ERR_NOMEM;
    *out = (struct opened){ .err = err,
                            .buffer = f->hints.buffer,
                            .nodes = f->hints.nodes > 0 ? f->hints.nodes : f->hints.stripes,
                            .stripe = f->hints.stripe,
                            .shared_map = (int64_t)f->hints.shared_map,
                            .rounds = (int64_t)pli_file_coll_rounds(f),
                            .n_core = n_core() };
    if (err == PLI_OK) {
        offer_words(f, comm, out);
    }
    return err;
}

// Reports of ranks that wait, and of mistakes, tell by it which file a call was for.
static void name_comm(const struct pli_file *f)
{
    const char *slash = strrchr(f->name, '/');
    snprintf(f->comm->name, sizeof f->comm->name, "MPI_File %.*s", MPI_MAX_OBJECT_NAME - 16,
             slash != NULL ? slash + 1 : f->name);
}

// With the communicator of the program: on the file's own nothing has been sent yet.
static enum pli_err open_all(struct pli_file *f, struct pli_comm *comm, uint64_t context)
{
    struct opened first = { .err = PLI_OK };
    enum pli_err err = pli_comm_make_child(comm, comm->group, NULL, context, &f->comm);
    if (err == PLI_OK) {
        name_comm(f);
    }
    if (comm->rank == 0) {
        err = open_first(f, comm, &first);
    }
    enum pli_err bcast =
        pli_coll_bcast(&first, sizeof first, pli_handle_get(MPI_BYTE, PLI_KIND_DATATYPE), 0, comm);
    if (bcast != PLI_OK) {
        return bcast;
    }
    if (first.err != PLI_OK) {
        return pli_file_agree_on(comm, err);
    }
    f->hints.buffer = first.buffer;
    f->hints.nodes = (int)first.nodes;
    f->hints.stripe = first.stripe;
    f->hints.shared_map = (enum pli_file_choice)first.shared_map;
    f->rounds = (enum pli_file_rounds)first.rounds;
    if (err == PLI_OK && comm->rank != 0) {
        err = open_one(f, 0);
    }
    enum pli_err pointer = pli_file_shared_create(f, comm, first.word);
    err = err == PLI_OK ? pointer : err;
    if (err == PLI_OK && first.has_shared_map != 0) {
        err = pli_file_shared_map_open(f);
    }
    if (err == PLI_OK && first.has_batch != 0) {
        err = pli_file_shared_batch_open(f);
    }
    err = err == PLI_OK ? pli_file_coll_begin(f, (int)first.n_core) : err;
    return pli_file_agree_on(comm, err);
}

// In other clients of an IMPI job members have nothing in common but messages.
static enum pli_err open_span(struct pli_file *f, struct pli_comm *comm, uint64_t context)
{
    int64_t seen[PLI_FILE_N_SEEN] = { 0 };
    enum pli_err err = pli_comm_make_child(comm, comm->group, NULL, context, &f->comm);
    if (err == PLI_OK) {
        name_comm(f);
    }
    if (err == PLI_OK && comm->rank == 0) {
        err = open_made(f);
        err = err == PLI_OK ? pli_file_span_look(f, seen) : err;
    }
    enum pli_err told = pli_file_span_tell(comm, seen);
    if (told != PLI_OK) {
        return told;
    }
    if (err == PLI_OK && comm->rank != 0 && seen[0] != 0) {
        err = pli_file_span_compare(f, open_one(f, 0), seen);
    }
    err = pli_file_agree_on(comm, err);
    return err == PLI_OK ? pli_file_shared_create_far(f, comm) : err;
}

static void destroy(struct pli_file *f)
{
    pli_file_list_remove(f);
    pli_file_async_end(f);
    pli_file_coll_end(f);
    pli_file_shared_map_close(f);
    pli_file_shared_batch_close(f);
    pli_file_ring_close(f);
    pli_file_range_close(f);
    pli_file_shared_destroy(f);
    pli_comm_release(f->comm);
    pli_file_view_release(&f->view);
    pli_errhandler_release(f->errhandler);
    pli_file_hints_release(f);
    if (f->fd >= 0) {
        close(f->fd);
    }
    pli_file_map_end(f);
    free(atomic_load(&f->spare));
    free(f->name);
    pthread_mutex_destroy(&f->range);
    pthread_mutex_destroy(&f->lock);
    pli_handle_destroy(f, sizeof *f);
}

static void enter_kind(void)
{
    pli_errhandler_keep(PLI_KIND_FILE, offsetof(struct pli_file, errhandler));
}

static enum pli_err create(const char *name, int amode, struct pli_info *info,
                           struct pli_file **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, enter_kind);
    struct pli_file *f = pli_handle_create(PLI_KIND_FILE, sizeof *f);
    if (f == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a file");
    }
    pli_list_init(&f->all); // until it is open
    f->fd = -1;
    f->my_aggregator = -1;
    f->amode = amode;
    f->name = strdup(path_of(name));
    f->errhandler = pli_errhandler_of(pli_errhandler_no_file);
    pthread_mutex_init(&f->range, NULL);
    pthread_mutex_init(&f->lock, NULL);
    pli_file_view_init(&f->view);
    pli_file_hints_init(f);
    *out = f;
    return f->name != NULL ? pli_file_hints_take(f, info)
                           : pli_fail(PLI_ERR_NOMEM, "no memory for the name of a file");
}

// Members are well and have said the same; they get the number of the file's communicator.
static enum pli_err meet(struct pli_comm *comm, enum pli_err err, int amode, uint64_t *context_out,
                         bool *is_mixed_out)
{
    MPI_Offset mode = comm->is_span ? pli_file_span_mode(amode) : amode;
    MPI_Offset most[PLI_FILE_MOST] = { mode, -mode, INT64_MIN, 0 };
    if (comm->rank == 0) {
        most[2] = (MPI_Offset)pli_process_context();
    }
    err = pli_file_agree_most(comm, err, most, PLI_FILE_MOST);
    *context_out = (uint64_t)most[2];
    *is_mixed_out = most[3] != 0;
    return err != PLI_OK || most[0] == -most[1]
               ? err
               : pli_fail(PLI_ERR_NOT_SAME, "argument amode is %d here, but differs between ranks",
                          amode);
}

// Both pointers of a file that is appended to begin at its end.
static enum pli_err seek_end(struct pli_file *f)
{
    MPI_Offset size = 0, was;
    enum pli_err err = pli_file_get_size(f, &size);
    f->pos = size;
    if (err == PLI_OK && f->comm->rank == 0) {
        err = pli_file_shared_advance(f, size, &was);
    }
    return pli_file_agree(f, err);
}

static enum pli_err refuse(struct pli_file *f, enum pli_err err)
{
    struct pli_fail_saved why;
    pli_fail_save(&why, err);
    if (f != NULL) {
        destroy(f);
    }
    return pli_fail_repeat(&why);
}

enum pli_err pli_file_open(struct pli_comm *comm, const char *name, int amode,
                           struct pli_info *info, struct pli_file **out)
{
    struct pli_file *f = NULL;
    enum pli_err err = check_amode(comm, name, amode);
    if (comm->is_inter || pli_file_span_is_refused(comm)) {
        return err;
    }
    uint64_t context;
    bool is_mixed;
    err = err == PLI_OK ? create(name, amode, info, &f) : err;
    err = meet(comm, err, amode, &context, &is_mixed);
    if (err == PLI_OK) {
        f->is_mixed = is_mixed;
        err = comm->is_span ? open_span(f, comm, context) : open_all(f, comm, context);
    }
    err = pli_file_settle_on(comm, name != NULL ? name : "", err);
    if (err != PLI_OK) {
        if (f != NULL) {
            pli_file_shared_drop(f); // some may have none
        }
        return refuse(f, err);
    }
    if ((amode & MPI_MODE_APPEND) != 0) {
        err = pli_file_settle(f, seek_end(f));
    }
    if (err != PLI_OK) {
        return refuse(f, err);
    }
    pli_file_list_add(f);
    *out = f;
    return PLI_OK;
}

static enum pli_err close_all(struct pli_file *f)
{
    enum pli_err err = PLI_OK;
    bool is_clean = f->window == NULL && !pli_file_shared_batch_is_used(f);
    pli_file_map_end(f);
    pli_file_shared_batch_close(f); // its memory may be used again once all have met
    // What another host wrote last may be refused only now.
    if (close(f->fd) != 0 && errno != EINTR) {
        err = pli_file_sys_fail(errno, "close", f->name, 0, -1);
    }
    f->fd = -1;
    err = pli_file_agree(f, err);
    f->pointer.is_clean = is_clean && err == PLI_OK;
    if ((f->amode & MPI_MODE_DELETE_ON_CLOSE) == 0 || f->is_clone) {
        return err;
    }
    // After all have closed it: NFS would keep it under another name.
    enum pli_err gone = PLI_OK;
    if (f->comm->rank == 0 && unlink(f->name) != 0) {
        gone = pli_file_sys_fail(errno, "delete", f->name, 0, -1);
    }
    gone = pli_file_agree(f, gone);
    return err == PLI_OK ? gone : err;
}

// A file whose members died is closed by those who live.
static enum pli_err forgive_deaths(enum pli_err err)
{
    if (err != PLI_ERR_PROC_FAILED) {
        return err;
    }
    pli_fail_take(NULL);
    return PLI_OK;
}

enum pli_err pli_file_open_close(struct pli_file *f)
{
    enum pli_err err = pli_file_check_idle(f, "MPI_File_close");
    err = pli_file_agree(f, err == PLI_OK ? pli_file_shared_batch_settle(f) : err);
    err = forgive_deaths(pli_file_settle(f, err));
    if (err != PLI_OK) {
        return err;
    }
    if (f->window != NULL) {
        err = forgive_deaths(pli_file_agree(f, pli_file_shared_map_trim(f, true)));
        err = forgive_deaths(pli_file_settle(f, err));
        if (err != PLI_OK) {
            return err;
        }
    }
    // After an error the handle stays, with its error handler, until it is closed once more.
    err = f->fd >= 0 ? forgive_deaths(close_all(f)) : PLI_OK;
    if (err == PLI_OK) {
        destroy(f);
    }
    return err;
}

enum pli_err pli_file_open_delete(const char *name, struct pli_info *info)
{
    (void)info;
    if (name == NULL || path_of(name)[0] == '\0') {
        return pli_fail(PLI_ERR_BAD_FILE, "argument filename is %s",
                        name == NULL ? "NULL" : "empty");
    }
    return unlink(path_of(name)) == 0 ? PLI_OK
                                      : pli_file_sys_fail(errno, "delete", path_of(name), 0, -1);
}
