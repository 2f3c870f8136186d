// SPDX-License-Identifier: BSD-3-Clause
// <bupc_extern.h>, plain C: what a program of another language calls to use UPC code. Its main is
// linked by upcc -extern-main. Names and meaning are those of Berkeley UPC.
#ifndef PLI_UPC_BUPC_EXTERN_H
#define PLI_UPC_BUPC_EXTERN_H
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// The calling process becomes a UPC thread. All processes of the job call it before any UPC code,
// before or after MPI_Init. Null is fine for both. With upcc -pthreads only where each process has
// one thread.
void bupc_init(int *argc, char ***argv);
// The same where a process may have several UPC threads: each runs pmain, whose result is that of
// the thread. It does not return.
void bupc_init_reentrant(int *argc, char ***argv, int (*pmain)(int argc, char **argv));
// The thread ends: all threads meet, as at the end of main. It does not return.
void bupc_exit(int exitcode);

int bupc_extern_mythread(void);
int bupc_extern_threads(void);
char *bupc_extern_getenv(const char *name);
void bupc_extern_notify(int barrier_id);
void bupc_extern_wait(int barrier_id);
void bupc_extern_barrier(int barrier_id);

// upc_alloc, and upc_all_alloc: the address of the thread's own part, the same offset at all.
void *bupc_extern_alloc(size_t bytes);
void *bupc_extern_all_alloc(size_t nblocks, size_t blocksz);
// thread: that of bupc_extern_alloc, 0 for bupc_extern_all_alloc; -1: whichever ptr belongs to.
void bupc_extern_free(void *ptr, int thread);
void bupc_extern_all_free(void *ptr, int thread);

#ifdef __cplusplus
}
#endif
#endif
