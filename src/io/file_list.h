// SPDX-License-Identifier: BSD-3-Clause
// The open files of this process.
#ifndef PLI_IO_FILE_LIST_H
#define PLI_IO_FILE_LIST_H

struct pli_file;

// Context of both: any thread.
void pli_file_list_add(struct pli_file *f);
void pli_file_list_remove(struct pli_file *f);

// All of them, the oldest first; fn may remove its own. Context: no other thread opens or closes
// one.
void pli_file_list_each(void (*fn)(struct pli_file *f, void *arg), void *arg);

#endif
