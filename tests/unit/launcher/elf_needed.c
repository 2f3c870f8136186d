// SPDX-License-Identifier: BSD-3-Clause
// The libraries this very program needs are found in its file; the same file cut short at every
// length, and with every byte of its headers spoilt, names what it names and harms nothing. The
// bytes lie before a page that nobody may read.
#include "launcher/base/elf_needed.h"
#include "t.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int n_name, n_libc;
static const char *low, *high;

static bool count(const char *name, void *arg)
{
    n_name++;
    n_libc += strcmp(name, "libc.so.6") == 0;
    T_OK(name >= low && name + strlen(name) < high);
    return arg == NULL;
}

static void read_it(const unsigned char *bytes, size_t len)
{
    n_name = n_libc = 0;
    low = (const char *)bytes;
    high = low + len;
    pli_elf_needed_each(bytes, len, count, NULL);
    bool is_first;
    const char *folders = pli_elf_needed_folders(bytes, len, &is_first);
    T_OK(folders == NULL || (folders >= low && folders + strlen(folders) < high));
}

// len bytes whose end is the end of what can be read.
static unsigned char *before_wall(size_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (len + page - 1) / page * page;
    unsigned char *p =
        mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    T_MUST(p != MAP_FAILED && mprotect(p + whole, page, PROT_NONE) == 0);
    return p + whole - len;
}

static unsigned char *load(size_t *len_out)
{
    struct stat st;
    int fd = open("/proc/self/exe", O_RDONLY);
    T_MUST(fd >= 0 && fstat(fd, &st) == 0);
    unsigned char *p = before_wall((size_t)st.st_size);
    size_t at = 0;
    for (ssize_t n = 1; n > 0; at += (size_t)n) {
        n = read(fd, p + at, (size_t)st.st_size - at);
    }
    close(fd);
    T_EQ(at, st.st_size);
    *len_out = at;
    return p;
}

static void spoil(unsigned char *p, size_t len, size_t from, size_t n)
{
    static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
    for (size_t i = from; i < from + n && i < len; i++) {
        unsigned char was = p[i];
        for (size_t k = 0; k < sizeof values; k++) {
            p[i] = values[k];
            read_it(p, len);
        }
        for (int bit = 0; bit < 8; bit++) {
            p[i] = (unsigned char)(was ^ 1 << bit);
            read_it(p, len);
        }
        p[i] = was;
    }
}

// Two of the 64-bit words of a table at once, for sums that run over.
static void spoil_words(unsigned char *p, size_t len, size_t from, size_t n)
{
    const uint64_t values[] = { UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 63, len, len - 1 };
    for (size_t i = from; i + 16 <= from + n && i + 16 <= len; i += 8) {
        unsigned char was[16];
        memcpy(was, p + i, sizeof was);
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
            memcpy(p + i, &values[k], 8);
            read_it(p, len);
            memcpy(p + i + 8, &values[(k + 1) % 5], 8);
            read_it(p, len);
            memcpy(p + i, was, sizeof was);
        }
    }
}

int main(void)
{
    size_t len;
    unsigned char *p = load(&len);
    read_it(p, len);
    T_OK(n_name >= 1);
    T_EQ(n_libc, 1);
    n_name = 0;
    pli_elf_needed_each(p, len, count, p);
    T_EQ(n_name, 1); // and no further when told to stop

    Elf64_Ehdr head;
    memcpy(&head, p, sizeof head);
    T_MUST(head.e_phoff + (size_t)head.e_phnum * sizeof(Elf64_Phdr) <= len);
    size_t table = (size_t)head.e_phnum * sizeof(Elf64_Phdr), dynamic = 0, n_dynamic = 0;
    for (int i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr h;
        memcpy(&h, p + head.e_phoff + (size_t)i * sizeof h, sizeof h);
        dynamic = h.p_type == PT_DYNAMIC ? (size_t)h.p_offset : dynamic;
        n_dynamic = h.p_type == PT_DYNAMIC ? (size_t)h.p_filesz : n_dynamic;
    }
    T_MUST(n_dynamic > 0 && dynamic + n_dynamic <= len);
    spoil(p, len, 0, sizeof head);
    spoil(p, len, head.e_phoff, table);
    spoil(p, len, dynamic, n_dynamic);
    spoil_words(p, len, head.e_phoff, table);
    spoil_words(p, len, dynamic, n_dynamic);
    read_it(p, len);
    T_EQ(n_libc, 1); // as it was

    // Cut short: the first bytes of the file, up to the wall.
    for (size_t n = 0; n < len; n += n < 4096 ? 1 : 1021) {
        unsigned char *part = before_wall(n > 0 ? n : 1);
        memcpy(part, p, n);
        read_it(part, n);
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        unsigned char *begin = (unsigned char *)((uintptr_t)part / page * page);
        munmap(begin, (n > 0 ? (n + page - 1) / page : 1) * page + page);
    }
    read_it((const unsigned char *)"#!/bin/sh\n", 10);
    T_EQ(n_name, 0);
    return t_failed != 0;
}
