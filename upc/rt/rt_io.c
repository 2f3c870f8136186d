// SPDX-License-Identifier: BSD-3-Clause
// upc_io.h: open, close, file pointers, sizes and properties. [UPC 1.3 optional library]
#include "rt_io.h"
#include "rt_copy.h"
#include "upc_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct word {
    int64_t value, error;
};

enum { BLOCK = 64 }; // bytes of a thread's words

// Two sets of words in turn: a thread that writes the first again has met all since it was read.
int64_t pli_rt_io_agree(struct rt_file *f, int64_t mine, int error, enum rt_what what, int64_t *sum)
{
    unsigned turn = f->turn++ & 1;
    struct word w = { mine, error }, first = w;
    size_t at = pli_upc_addrfield(f->id) + turn * sizeof w;
    memcpy(rt_near(pli_upc_make(rt_me()->me, 0, (int64_t)at)), &w, sizeof w);
    pli_rt_barrier_sync(what);
    int64_t total = 0;
    int bad = 0;
    for (int t = 0; t < pli_rt.n; t++) {
        pli_rt_copy_get(&w, pli_upc_make(t, 0, (int64_t)at), sizeof w);
        first = t == 0 ? w : first;
        bad = bad == 0 ? (int)w.error : bad;
        total += w.value;
    }
    if (sum != NULL) {
        *sum = total;
    }
    if (bad != 0) {
        errno = bad;
        return -1;
    }
    return first.value;
}

struct rt_file *pli_rt_io_find(pli_upc_pts fd, bool may_be_async)
{
    struct rt_file *f = rt_me()->files;
    while (f != NULL && f->id != fd) {
        f = f->next;
    }
    if (f == NULL) {
        errno = EBADF;
    } else if (f->is_async && !may_be_async) {
        errno = EBUSY;
        f = NULL;
    }
    return f;
}

static bool is_one_of(int flags, int some)
{
    int set = flags & some;
    return set != 0 && (set & (set - 1)) == 0;
}

static int check_flags(int flags)
{
    bool good = (flags & ~RT_IO_ALL) == 0 &&
                is_one_of(flags, RT_IO_RDONLY | RT_IO_WRONLY | RT_IO_RDWR) &&
                is_one_of(flags, RT_IO_INDIVIDUAL | RT_IO_COMMON) &&
                ((flags & RT_IO_EXCL) == 0 || (flags & RT_IO_CREATE) != 0);
    return good ? 0 : EINVAL;
}

static int open_file(const char *name, int flags, bool is_first)
{
    int how = (flags & RT_IO_RDWR) != 0     ? O_RDWR
              : (flags & RT_IO_WRONLY) != 0 ? O_WRONLY
                                            : O_RDONLY;
    if (is_first) { // it exists, and is empty, when the others come
        how |= (flags & RT_IO_CREATE) != 0 ? O_CREAT : 0;
        how |= (flags & RT_IO_EXCL) != 0 ? O_EXCL : 0;
        how |= (flags & RT_IO_TRUNC) != 0 ? O_TRUNC : 0;
    }
    return open(name, how | O_CLOEXEC, 0666);
}

static bool set_hint(struct rt_file *f, const struct rt_io_hint *hint)
{
    size_t i = 0;
    while (i < f->n_hint && strcmp(f->hints[i].key, hint->key) != 0) {
        i++;
    }
    char *key = strdup(hint->key), *value = strdup(hint->value);
    struct rt_io_hint *more = f->hints;
    if (i == f->n_hint) {
        more = realloc(f->hints, (i + 1) * sizeof *more);
        f->hints = more != NULL ? more : f->hints;
    }
    if (key == NULL || value == NULL || more == NULL) {
        free(key);
        free(value);
        errno = ENOMEM;
        return false;
    }
    if (i < f->n_hint) {
        free(f->hints[i].key);
        free(f->hints[i].value);
    }
    f->hints[i] = (struct rt_io_hint){ key, value };
    f->n_hint += i == f->n_hint;
    return true;
}

static void forget(struct rt_file *f)
{
    for (size_t i = 0; i < f->n_hint; i++) {
        free(f->hints[i].key);
        free(f->hints[i].value);
    }
    free(f->hints);
    free(f->name);
    free(f);
}

// A file of this thread with all but its descriptor; NULL: no memory.
static struct rt_file *new_file(const struct rt_file *like, const char *name, size_t n_hint,
                                const struct rt_io_hint *hints)
{
    struct rt_file *f = malloc(sizeof *f);
    if (f == NULL) {
        return NULL;
    }
    *f = *like;
    f->name = strdup(name);
    bool good = f->name != NULL;
    for (size_t i = 0; good && i < n_hint; i++) {
        good = set_hint(f, &hints[i]);
    }
    if (!good) {
        forget(f);
        return NULL;
    }
    return f;
}

static int64_t size_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? st.st_size : -1;
}

pli_upc_pts pli_upc_all_fopen(const char *name, int flags, size_t n_hint,
                              const struct rt_io_hint *hints)
{
    struct rt_thread *me = rt_me();
    bool is_first = me->me == 0;
    struct rt_file plan = { .fd = -1, .flags = flags }, *f = NULL;
    plan.id = pli_upc_all_alloc((size_t)pli_rt.n, BLOCK);
    if (plan.id == 0) {
        errno = ENOMEM;
        return 0;
    }
    int error = name == NULL ? EFAULT : check_flags(flags);
    if (error == 0 && is_first) {
        plan.fd = open_file(name, flags, true);
        error = plan.fd < 0 ? errno : 0;
    }
    bool good = pli_rt_io_agree(&plan, 0, error, RT_FOPEN, NULL) >= 0;
    if (good) {
        plan.fd = is_first ? plan.fd : open_file(name, flags, false);
        error = plan.fd < 0 ? errno : 0;
        plan.at = (flags & RT_IO_APPEND) != 0 ? size_of(plan.fd) : 0;
        f = new_file(&plan, name, n_hint, hints);
        error = error == 0 && f == NULL ? ENOMEM : error;
        plan.at = pli_rt_io_agree(&plan, plan.at, error, RT_FOPEN, NULL);
        good = plan.at >= 0;
    }
    if (!good) {
        error = errno;
        if (plan.fd >= 0) {
            close(plan.fd);
        }
        if (f != NULL) {
            forget(f);
        }
        pli_upc_all_free(plan.id);
        errno = error;
        return 0;
    }
    f->at = plan.at;
    f->turn = plan.turn;
    f->next = me->files;
    me->files = f;
    return f->id;
}

int pli_upc_all_fclose(pli_upc_pts fd)
{
    struct rt_thread *me = rt_me();
    struct rt_file *f = pli_rt_io_find(fd, false), **link = &me->files;
    if (f == NULL) {
        return -1;
    }
    int error = close(f->fd) != 0 ? errno : 0;
    if (me->me == 0 && (f->flags & RT_IO_DELETE) != 0 && unlink(f->name) != 0) {
        error = errno;
    }
    int rc = (int)pli_rt_io_agree(f, 0, error, RT_FCLOSE, NULL);
    error = errno;
    while (*link != f) {
        link = &(*link)->next;
    }
    *link = f->next;
    forget(f);
    pli_upc_all_free(fd);
    errno = error;
    return rc;
}

int pli_upc_all_fsync(pli_upc_pts fd)
{
    struct rt_file *f = pli_rt_io_find(fd, false);
    if (f == NULL) {
        return -1;
    }
    int error = (f->flags & RT_IO_RDONLY) == 0 && fsync(f->fd) != 0 ? errno : 0;
    return (int)pli_rt_io_agree(f, 0, error, RT_FSYNC, NULL);
}

int64_t pli_upc_all_fseek(pli_upc_pts fd, int64_t offset, int origin)
{
    struct rt_file *f = pli_rt_io_find(fd, false);
    if (f == NULL) {
        return -1;
    }
    int64_t base = origin == 0 ? 0 : origin == 1 ? f->at : origin == 2 ? size_of(f->fd) : -1, to;
    int error = base < 0 || __builtin_add_overflow(base, offset, &to) || to < 0 ? EINVAL : 0;
    if ((f->flags & RT_IO_COMMON) != 0) {
        to = pli_rt_io_agree(f, error == 0 ? to : 0, error, RT_FSEEK, NULL);
    } else if (error != 0) {
        errno = error;
        to = -1;
    }
    f->at = to >= 0 ? to : f->at;
    return to;
}

// Thread 0 does it, after all have come: what they wrote before counts.
static int by_first(struct rt_file *f, int (*act)(int fd, int64_t size), int64_t size)
{
    pli_rt_barrier_sync(RT_FSIZE);
    int error = rt_me()->me == 0 ? act(f->fd, size) : 0;
    return (int)pli_rt_io_agree(f, 0, error, RT_FSIZE, NULL);
}

static int cut(int fd, int64_t size)
{
    return size < 0 ? EINVAL : ftruncate(fd, size) != 0 ? errno : 0;
}

static int reserve(int fd, int64_t size)
{
    return size < 0 ? EINVAL : size == 0 ? 0 : posix_fallocate(fd, 0, size);
}

int pli_upc_all_fset_size(pli_upc_pts fd, int64_t size)
{
    struct rt_file *f = pli_rt_io_find(fd, false);
    return f == NULL ? -1 : by_first(f, cut, size);
}

int pli_upc_all_fpreallocate(pli_upc_pts fd, int64_t size)
{
    struct rt_file *f = pli_rt_io_find(fd, false);
    return f == NULL ? -1 : by_first(f, reserve, size);
}

int64_t pli_upc_all_fget_size(pli_upc_pts fd)
{
    struct rt_file *f = pli_rt_io_find(fd, false);
    if (f == NULL) {
        return -1;
    }
    int64_t size = size_of(f->fd);
    return pli_rt_io_agree(f, size, size < 0 ? errno : 0, RT_FSIZE, NULL);
}

static int set_pointer(struct rt_file *f, int kind)
{
    int rc = pli_upc_all_fsync(f->id);
    if (rc == 0) {
        f->flags = (f->flags & ~(RT_IO_INDIVIDUAL | RT_IO_COMMON)) | kind;
        f->at = 0;
    }
    return rc;
}

static int set_strong(struct rt_file *f, int strong)
{
    int rc = pli_upc_all_fsync(f->id);
    f->flags = rc == 0 ? (f->flags & ~RT_IO_STRONG) | strong : f->flags;
    return rc;
}

int pli_upc_all_fcntl(pli_upc_pts fd, int cmd, void *arg)
{
    enum { GET_CA = 1, WEAK, STRONG, GET_FP, COMMON, INDIVIDUAL, GET_FL, GET_FN, GET_HINTS };
    enum { SET_HINT = 10, OUTSTANDING };
    struct rt_file *f = pli_rt_io_find(fd, cmd == OUTSTANDING);
    if (f == NULL) {
        return -1;
    }
    switch (cmd) {
    case GET_CA:
        return f->flags & RT_IO_STRONG;
    case WEAK:
        return set_strong(f, 0);
    case STRONG:
        return set_strong(f, RT_IO_STRONG);
    case GET_FP:
        return f->flags & (RT_IO_INDIVIDUAL | RT_IO_COMMON);
    case COMMON:
        return set_pointer(f, RT_IO_COMMON);
    case INDIVIDUAL:
        return set_pointer(f, RT_IO_INDIVIDUAL);
    case GET_FL:
        return f->flags;
    case GET_FN:
        *(const char **)arg = f->name;
        return 0;
    case GET_HINTS:
        *(const struct rt_io_hint **)arg = f->hints;
        return (int)f->n_hint;
    case SET_HINT:
        return set_hint(f, arg) ? 0 : -1;
    case OUTSTANDING:
        return f->is_async;
    default:
        errno = EINVAL;
        return -1;
    }
}
