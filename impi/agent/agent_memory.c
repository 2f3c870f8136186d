// SPDX-License-Identifier: BSD-3-Clause
// A memory file that both map: the process's half first, then the agent's.
#include "agent/agent_memory.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 }; // the first one of each half is left out, so that no place is at 0

static bool map(struct pli_agent_memory *m, int fd, uint64_t size, bool is_agent)
{
    uint64_t half = size / 2;
    void *p =
        size < 4 * (uint64_t)PAGE || size > SIZE_MAX
            ? MAP_FAILED
            : mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    *m = (struct pli_agent_memory){ .fd = -1 };
    if (p == MAP_FAILED) {
        return false;
    }
    // neither a child of the program nor a core file needs it
    (void)madvise(p, (size_t)size, MADV_DONTFORK);
    (void)madvise(p, (size_t)size, MADV_DONTDUMP);
    *m = (struct pli_agent_memory){ .fd = fd, .base = p, .size = size, .is_agent = is_agent };
    if (!pli_impi_heap_init(&m->heap, fd, (is_agent ? half : 0) + PAGE, half - PAGE)) {
        munmap(p, (size_t)size);
        m->fd = -1;
    }
    return m->fd >= 0;
}

void pli_agent_memory_create(struct pli_agent_memory *m)
{
    enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };
    long n_page = sysconf(_SC_PHYS_PAGES);
    uint64_t size = 2 * (uint64_t)sysconf(_SC_PAGESIZE) * (uint64_t)(n_page > 1024 ? n_page : 1024);
    int fd = memfd_create("libimpi", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0 || fcntl(fd, F_ADD_SEALS, SEALS) != 0 ||
        !map(m, fd, size, false)) {
        if (fd >= 0) {
            close(fd);
        }
        *m = (struct pli_agent_memory){ .fd = -1 };
    }
}

enum pli_impi_err pli_agent_memory_attach(struct pli_agent_memory *m, int fd)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    bool is_good = seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &st) == 0;
    if (!is_good || !map(m, fd, (uint64_t)st.st_size, true)) {
        close(fd);
        *m = (struct pli_agent_memory){ .fd = -1 };
        return is_good ? PLI_IMPI_ERR_NOMEM : PLI_IMPI_ERR_PROTO;
    }
    return PLI_IMPI_OK;
}

void pli_agent_memory_close(struct pli_agent_memory *m)
{
    if (m->fd >= 0) {
        pli_impi_heap_fini(&m->heap);
        munmap(m->base, (size_t)m->size);
        close(m->fd);
        m->fd = -1;
    }
}

void *pli_agent_memory_take(struct pli_agent_memory *m, uint64_t len)
{
    uint64_t at = m->fd >= 0 && len >= PLI_AGENT_MEMORY_MIN ? pli_impi_heap_take(&m->heap, len) : 0;
    return at != 0 ? m->base + at : NULL;
}

bool pli_agent_memory_has(const struct pli_agent_memory *m, const void *p)
{
    const unsigned char *at = p;
    return m->fd >= 0 && at >= m->base && at < m->base + m->size;
}

uint64_t pli_agent_memory_offset(const struct pli_agent_memory *m, const void *p)
{
    return (uint64_t)((const unsigned char *)p - m->base);
}

void *pli_agent_memory_at(const struct pli_agent_memory *m, uint64_t offset, uint64_t len)
{
    uint64_t begin = m->is_agent ? 0 : m->size / 2, end = begin + m->size / 2;
    bool is_inside = m->fd >= 0 && offset >= begin && offset <= end && len <= end - offset;
    return is_inside ? m->base + offset : NULL;
}

void pli_agent_memory_give(struct pli_agent_memory *m, uint64_t offset)
{
    if (m->fd >= 0) {
        pli_impi_heap_give(&m->heap, offset);
    }
}

int pli_agent_memory_trim(struct pli_agent_memory *m)
{
    struct timespec t;
    if (m->fd < 0) {
        return -1;
    }
    clock_gettime(CLOCK_MONOTONIC, &t);
    return pli_impi_heap_trim(&m->heap, (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000);
}
