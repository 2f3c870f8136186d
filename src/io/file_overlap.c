// SPDX-License-Identifier: BSD-3-Clause
// A thread does the window with its lock, so that nobody holds that while it waits for other ranks.
// Starting one takes less than a hundredth of the time that a window needs on the file systems
// where this is done.
#include "io/file_overlap.h"

#include "io/file.h"
#include "io/file_async.h"
#include "io/file_block.h"
#include "io/file_lock.h"

#include <sys/prctl.h>

static void *body(void *arg)
{
    struct pli_file_overlap *v = arg;
    enum pli_err err = pli_file_lock_begin(v->f, v->is_write, v->lo, v->hi);
    if (err == PLI_OK) {
        size_t len = (size_t)(v->hi - v->lo);
        err = pli_file_block_move(v->f, v->is_write, v->buf, len, v->lo, &v->done);
        pli_file_lock_end(v->f, v->lo, v->hi);
    }
    pli_fail_save(&v->why, err);
    return NULL;
}

static void *thread_body(void *arg)
{
    prctl(PR_SET_NAME, "mpi-file-window");
    return body(arg);
}

void pli_file_overlap_begin(struct pli_file_overlap *v, struct pli_file *f, bool is_write,
                            char *buf, MPI_Offset lo, MPI_Offset hi)
{
    *v = (struct pli_file_overlap){
        .f = f, .is_write = is_write, .is_begun = true, .buf = buf, .lo = lo, .hi = hi
    };
    v->has_thread = pli_file_async_begin_thread(&v->thread, thread_body, v) == 0;
    if (!v->has_thread) {
        body(v); // without one it is done now
    }
}

enum pli_err pli_file_overlap_end(struct pli_file_overlap *v, size_t *done_out)
{
    if (v->has_thread) {
        pthread_join(v->thread, NULL);
    }
    *done_out = v->done;
    enum pli_err err = v->is_begun ? pli_fail_repeat(&v->why) : PLI_OK;
    *v = (struct pli_file_overlap){ .f = NULL };
    return err;
}
