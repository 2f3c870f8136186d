// SPDX-License-Identifier: BSD-3-Clause
// Reads from a program's file which shared libraries it asks for.
#ifndef PLI_LAUNCHER_ELF_NEEDED_H
#define PLI_LAUNCHER_ELF_NEEDED_H

#include <stdbool.h>
#include <stddef.h>

// Call fn with the name of each library that the ELF file in these bytes needs (DT_NEEDED), until
// fn returns false. The bytes may be anything: what is not an ELF file of this machine's kind, or
// contradicts itself, names no library. Context: any thread.
void pli_elf_needed_each(const void *bytes, size_t len, bool (*fn)(const char *name, void *arg),
                         void *arg);

// The folders that the loader searches for them, as the file in these bytes has them: before
// LD_LIBRARY_PATH (DT_RPATH), or behind (DT_RUNPATH, which makes the other one void); NULL: there
// are none.
const char *pli_elf_needed_folders(const void *bytes, size_t len, bool *is_first_out);

#endif
