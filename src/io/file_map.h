// SPDX-License-Identifier: BSD-3-Clause
// A part of a file as memory: data with gaps is stored without touching what lies in the gaps,
// which others may write at the same time.
#ifndef PLI_IO_FILE_MAP_H
#define PLI_IO_FILE_MAP_H

#include "io/file_fault.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_file;

struct pli_file_map {
    void *start;
    size_t len;
    char *base;     // where offset 0 of the file would be
    bool has_large; // large pages were asked for
    bool is_write;
    bool is_kept;      // the file keeps it for the next access, which finds its page tables filled
    MPI_Offset lo, hi; // where they are, for reading
    struct pli_file_fault fault; // while it is open
};

// What pli_file_sys_type tells of a file system.
// Whether its mappings and writes agree, as those of one host do.
bool pli_file_map_is_local(uint32_t system);
// Whether it keeps a file in large pages where the user of a mapping asks for that.
bool pli_file_map_has_large_pages(uint32_t system);
// Whether it is NFS; the same of the folder of a file that is not there.
bool pli_file_map_is_nfs(uint32_t system);
bool pli_file_map_is_nfs_folder(const char *name);
// Whether its pages are the file: to read a page costs the system as much as to find it.
bool pli_file_map_is_memory(uint32_t system);
// Whether what is written over takes no more space, and a write within one page of the file is done
// as a whole or not at all.
bool pli_file_map_is_in_place(uint32_t system);

// Whether data may be moved through a mapping of the file.
bool pli_file_map_is_allowed(const struct pli_file *f);

// Whether a mapping of the range would have large pages, unless the system has it in small ones.
bool pli_file_map_is_large(const struct pli_file *f, MPI_Offset lo, MPI_Offset hi);
// Give the file a byte before hi, if it ends there: pages behind its end cannot be mapped.
bool pli_file_map_reach(const struct pli_file *f, MPI_Offset hi);
// Map a range of the file for writing; the file has space there afterwards, and its pages are in
// memory, so that an error of the disk is known now, mostly. False: it cannot be
// had, and the caller writes in another way, which tells why. Context: any thread.
bool pli_file_map_open(struct pli_file *f, MPI_Offset lo, MPI_Offset hi, struct pli_file_map *out);
// The same where the file has space.
bool pli_file_map_open_made(struct pli_file *f, MPI_Offset lo, MPI_Offset hi,
                            struct pli_file_map *out);
// Another range of a mapping that is open, where memory is the file and space is there. False: the
// mapping has it not, or pages cannot be had.
bool pli_file_map_move(const struct pli_file *f, MPI_Offset lo, MPI_Offset hi,
                       const struct pli_file_map *m);
// The same where memory is the file, and the range before its end: space is made page by page, and
// others may make some elsewhere in the file at the same time.
bool pli_file_map_open_memory(struct pli_file *f, MPI_Offset lo, MPI_Offset hi,
                              struct pli_file_map *out);
// The same where pieces of the range have pages of their own: only pages that are stored to are
// made, by the store, and nothing is known of errors before the mapping is closed.
bool pli_file_map_open_sparse(struct pli_file *f, MPI_Offset lo, MPI_Offset hi,
                              struct pli_file_map *out);
// The same for reading, of a range that the file has as a whole.
bool pli_file_map_open_read(struct pli_file *f, MPI_Offset lo, MPI_Offset hi,
                            struct pli_file_map *out);
// False: pages were lost meanwhile (file_fault.h), and the caller does the access in another way.
bool pli_file_map_close(struct pli_file *f, struct pli_file_map *m);
// Forget what was kept.
void pli_file_map_end(struct pli_file *f);
// Unmap what is kept for writing. Async-signal-safe. Context: all other threads are stopped.
void pli_file_map_drop(struct pli_file *f);

#endif
