// SPDX-License-Identifier: BSD-3-Clause
// Maps files of local file systems. Space is reserved first, because a store to a page that has
// none would end the process.
#include "io/file_map.h"

#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

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

bool pli_file_map_open(const struct pli_file *f, MPI_Offset lo, MPI_Offset hi,
                       struct pli_file_map *out)
{
    if (!f->is_local || !f->can_read || f->hints.map == PLI_FILE_DISABLE ||
        fallocate(f->fd, 0, lo, hi - lo) != 0) {
        return false;
    }
    MPI_Offset page = sysconf(_SC_PAGESIZE), start = lo / page * page;
    out->len = (size_t)(hi - start);
    out->start = mmap(NULL, out->len, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, start);
    if (out->start == MAP_FAILED) {
        return false;
    }
    out->base = (char *)((uintptr_t)out->start - (uintptr_t)start);
    return true;
}

void pli_file_map_close(struct pli_file_map *m)
{
    munmap(m->start, m->len);
}
