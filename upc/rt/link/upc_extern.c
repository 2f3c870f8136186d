// SPDX-License-Identifier: BSD-3-Clause
// UPC for programs of other languages, whose main is not UPC's: <bupc_extern.h>.
#include "bupc_extern.h"
#include "start.h"
#include "upc_link.h"

#include <stdio.h>
#include <stdlib.h>

pli_upc_pts pli_upc_alloc(size_t n);
pli_upc_pts pli_upc_all_alloc(size_t n_block, size_t n);
void pli_upc_free(pli_upc_pts p);
void pli_upc_all_free(pli_upc_pts p);
pli_upc_pts pli_upc_inverse_cast(void *at);

static int is_begun; // before any thread is
static int (*own_main)(int argc, char **argv);

static void begin(const char *call)
{
    if (is_begun) {
        fprintf(stderr, "%s: UPC is initialised already\n", call);
        exit(1);
    }
    is_begun = 1;
}

static void need(const char *call)
{
    if (pli_upc_threads == 0) {
        fprintf(stderr, "%s: UPC is not initialised: call bupc_init first\n", call);
        exit(1);
    }
}

void bupc_init(int *argc, char ***argv)
{
    begin("bupc_init");
    pli_upc_extern_begin(argc != NULL ? *argc : 0, argv != NULL ? *argv : NULL);
}

static int run_own_main(int argc, char **argv, char **envp)
{
    (void)envp;
    return own_main(argc, argv);
}

void bupc_init_reentrant(int *argc, char ***argv, int (*pmain)(int, char **))
{
    begin("bupc_init_reentrant");
    own_main = pmain;
    exit(pli_upc_run_main(argc != NULL ? *argc : 0, argv != NULL ? *argv : NULL, run_own_main));
}

void bupc_exit(int exitcode)
{
    exit(exitcode); // with OS threads: of this thread
}

int bupc_extern_mythread(void)
{
    need("bupc_extern_mythread");
    return pli_upc_mythread;
}

int bupc_extern_threads(void)
{
    need("bupc_extern_threads");
    return pli_upc_threads;
}

char *bupc_extern_getenv(const char *name)
{
    return getenv(name);
}

void bupc_extern_notify(int barrier_id)
{
    need("bupc_extern_notify");
    pli_upc_notify(1, barrier_id);
}

void bupc_extern_wait(int barrier_id)
{
    need("bupc_extern_wait");
    pli_upc_wait(1, barrier_id);
}

void bupc_extern_barrier(int barrier_id)
{
    need("bupc_extern_barrier");
    pli_upc_barrier(1, barrier_id);
}

// The address that a pointer has at this thread.
static void *own_part(pli_upc_pts p)
{
    return p != 0 ? pli_upc_seg[pli_upc_mythread] + pli_upc_addrfield(p) : NULL;
}

void *bupc_extern_alloc(size_t bytes)
{
    need("bupc_extern_alloc");
    return own_part(pli_upc_alloc(bytes));
}

void *bupc_extern_all_alloc(size_t nblocks, size_t blocksz)
{
    need("bupc_extern_all_alloc");
    return own_part(pli_upc_all_alloc(nblocks, blocksz));
}

static pli_upc_pts pointer_of(const char *call, void *ptr, int thread)
{
    need(call);
    if (ptr == NULL) {
        return 0;
    }
    pli_upc_pts p = pli_upc_inverse_cast(ptr);
    if (p == 0 || thread < -1 || thread >= pli_upc_threads) {
        fprintf(stderr, "%s: %s\n", call,
                p == 0 ? "the address is not in shared memory" : "there is no such thread");
        pli_upc_global_exit(1);
    }
    return thread < 0 ? p : pli_upc_make(thread, 0, (int64_t)pli_upc_addrfield(p));
}

void bupc_extern_free(void *ptr, int thread)
{
    pli_upc_free(pointer_of("bupc_extern_free", ptr, thread));
}

void bupc_extern_all_free(void *ptr, int thread)
{
    pli_upc_all_free(pointer_of("bupc_extern_all_free", ptr, thread));
}
