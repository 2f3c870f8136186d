// SPDX-License-Identifier: BSD-3-Clause
// Reads the names of needed libraries from an ELF file: from the file header to the program
// headers, to the dynamic section, to its string table, whose address is looked up in the program
// headers again. Offsets in the file are not trusted: each is checked against its length before it
// is followed.
#include "launcher/base/elf_needed.h"

#include <elf.h>
#include <endian.h>
#include <stdint.h>
#include <string.h>

struct file {
    const unsigned char *bytes;
    size_t len;
    Elf64_Ehdr head;
};

// Copy a part of the file; false: it has no such part.
static bool read_at(const struct file *f, uint64_t at, void *to, size_t len)
{
    if (at > f->len || len > f->len - at) {
        return false;
    }
    memcpy(to, f->bytes + at, len);
    return true;
}

static bool read_head(struct file *f)
{
    static const unsigned char order = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
    return read_at(f, 0, &f->head, sizeof f->head) &&
           memcmp(f->head.e_ident, ELFMAG, SELFMAG) == 0 &&
           f->head.e_ident[EI_CLASS] == ELFCLASS64 && f->head.e_ident[EI_DATA] == order &&
           f->head.e_phentsize == sizeof(Elf64_Phdr);
}

static bool read_segment(const struct file *f, uint32_t i, Elf64_Phdr *out)
{
    uint64_t at = f->head.e_phoff + (uint64_t)i * sizeof *out;
    return i < f->head.e_phnum && at >= f->head.e_phoff && read_at(f, at, out, sizeof *out);
}

static bool find_dynamic(const struct file *f, Elf64_Phdr *out)
{
    for (uint32_t i = 0; read_segment(f, i, out); i++) {
        if (out->p_type == PT_DYNAMIC) {
            return true;
        }
    }
    return false;
}

// Where in the file the byte with this address is, UINT64_MAX: nowhere.
static uint64_t offset_of(const struct file *f, uint64_t address)
{
    Elf64_Phdr p;
    for (uint32_t i = 0; read_segment(f, i, &p); i++) {
        if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz) {
            uint64_t at = p.p_offset + (address - p.p_vaddr);
            return at >= p.p_offset ? at : UINT64_MAX;
        }
    }
    return UINT64_MAX;
}

// The entry of the dynamic section with this number; false: it has ended.
static bool read_entry(const struct file *f, const Elf64_Phdr *dynamic, uint64_t i, Elf64_Dyn *out)
{
    uint64_t at = dynamic->p_offset + i * sizeof *out;
    return i < dynamic->p_filesz / sizeof *out && at >= dynamic->p_offset &&
           read_at(f, at, out, sizeof *out) && out->d_tag != DT_NULL;
}

// The file's dynamic section and the strings that its entries name by their offset.
struct dynamic {
    struct file file;
    Elf64_Phdr entries;
    const char *text;
    uint64_t size;
};

static bool open_dynamic(struct dynamic *y, const void *bytes, size_t len)
{
    Elf64_Dyn d;
    *y = (struct dynamic){ .file = { .bytes = bytes, .len = len } };
    if (!read_head(&y->file) || !find_dynamic(&y->file, &y->entries)) {
        return false;
    }
    uint64_t strings = UINT64_MAX;
    for (uint64_t i = 0; read_entry(&y->file, &y->entries, i, &d); i++) {
        strings = d.d_tag == DT_STRTAB ? offset_of(&y->file, d.d_un.d_ptr) : strings;
        y->size = d.d_tag == DT_STRSZ ? d.d_un.d_val : y->size;
    }
    if (strings > len) {
        return false;
    }
    y->size = y->size < len - strings ? y->size : len - strings;
    y->text = (const char *)y->file.bytes + strings;
    return true;
}

// The string of an entry; NULL: it is not in the file.
static const char *text_of(const struct dynamic *y, const Elf64_Dyn *d)
{
    uint64_t at = d->d_un.d_val;
    return at < y->size && memchr(y->text + at, '\0', y->size - at) != NULL ? y->text + at : NULL;
}

void pli_elf_needed_each(const void *bytes, size_t len, bool (*fn)(const char *name, void *arg),
                         void *arg)
{
    struct dynamic y;
    Elf64_Dyn d;
    if (!open_dynamic(&y, bytes, len)) {
        return;
    }
    for (uint64_t i = 0; read_entry(&y.file, &y.entries, i, &d); i++) {
        const char *name = d.d_tag == DT_NEEDED ? text_of(&y, &d) : NULL;
        if (name != NULL && !fn(name, arg)) {
            return;
        }
    }
}

const char *pli_elf_needed_folders(const void *bytes, size_t len, bool *is_first_out)
{
    struct dynamic y;
    Elf64_Dyn d;
    const char *found = NULL;
    *is_first_out = true;
    if (!open_dynamic(&y, bytes, len)) {
        return NULL;
    }
    for (uint64_t i = 0; read_entry(&y.file, &y.entries, i, &d); i++) {
        if (d.d_tag == DT_RUNPATH) {
            *is_first_out = false;
            return text_of(&y, &d);
        }
        found = d.d_tag == DT_RPATH ? text_of(&y, &d) : found;
    }
    return found;
}
