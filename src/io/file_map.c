// SPDX-License-Identifier: BSD-3-Clause
// Maps files of local file systems. Space is reserved first, because a store to a page that has
// none would end the process.
#include "io/file_map.h"

#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

bool pli_file_map_is_local(int fd)
{
    struct statfs s;
    if (fstatfs(fd, &s) != 0) {
        return false;
    }
    switch ((uint32_t)s.f_type) {
    case EXT4_SUPER_MAGIC: // ext2 and ext3 too
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
        return true;
    default:
        return false;
    }
}

bool pli_file_map_is_nfs(int fd)
{
    struct statfs s;
    return fstatfs(fd, &s) == 0 && (uint32_t)s.f_type == NFS_SUPER_MAGIC;
}

bool pli_file_map_is_nfs_folder(const char *name)
{
    struct statfs s;
    const char *slash = strrchr(name, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(name, (size_t)(slash - name) + 1);
    bool is = folder != NULL && statfs(folder, &s) == 0 && (uint32_t)s.f_type == NFS_SUPER_MAGIC;
    free(folder);
    return is;
}

// madvise tells of an error of the disk where a load or store would end the process. Kernels before
// 5.14 do not know it: then pages come with the first access.
static bool populate(const struct pli_file_map *m, int advice)
{
    return madvise(m->start, m->len, advice) == 0 || errno == EINVAL;
}

static bool map(const struct pli_file *f, MPI_Offset lo, MPI_Offset hi, int prot, int advice,
                struct pli_file_map *out)
{
    MPI_Offset page = sysconf(_SC_PAGESIZE), start = lo / page * page;
    out->len = (size_t)(hi - start);
    out->start = mmap(NULL, out->len, prot, MAP_SHARED, f->fd, start);
    if (out->start == MAP_FAILED) {
        return false;
    }
    out->base = (char *)((uintptr_t)out->start - (uintptr_t)start);
    if (!populate(out, advice)) {
        pli_file_map_close(out);
        return false;
    }
    return true;
}

static bool may_map(const struct pli_file *f)
{
    return f->is_local && f->can_read && f->hints.map != PLI_FILE_DISABLE;
}

bool pli_file_map_open_made(const struct pli_file *f, MPI_Offset lo, MPI_Offset hi,
                            struct pli_file_map *out)
{
    return may_map(f) && map(f, lo, hi, PROT_READ | PROT_WRITE, MADV_POPULATE_WRITE, out);
}

bool pli_file_map_open(const struct pli_file *f, MPI_Offset lo, MPI_Offset hi,
                       struct pli_file_map *out)
{
    return may_map(f) && fallocate(f->fd, 0, lo, hi - lo) == 0 &&
           pli_file_map_open_made(f, lo, hi, out);
}

bool pli_file_map_open_read(const struct pli_file *f, MPI_Offset lo, MPI_Offset hi,
                            struct pli_file_map *out)
{
    struct stat s;
    return may_map(f) && fstat(f->fd, &s) == 0 && s.st_size >= hi &&
           map(f, lo, hi, PROT_READ, MADV_POPULATE_READ, out);
}

void pli_file_map_close(struct pli_file_map *m)
{
    munmap(m->start, m->len);
}
