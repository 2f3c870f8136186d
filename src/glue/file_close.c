// SPDX-License-Identifier: BSD-3-Clause
// MPI_File_close. The file of a rank that this one was forked from has no other members here.
#include "glue/file_close.h"

#include "glue/check.h"
#include "glue/raise.h"
#include "io/file.h"
#include "io/file_open.h"

int pli_file_close(MPI_File *file)
{
    static const char fn[] = "MPI_File_close";
    if (file == NULL) {
        return pli_bad_pointer(NULL, fn, "fh");
    }
    struct pli_file *f = pli_arg_file(*file);
    if (f == NULL && pli_handle_get(*file, PLI_KIND_LOST) != NULL) {
        *file = MPI_FILE_NULL;
        return MPI_SUCCESS;
    }
    if (f == NULL) {
        return pli_bad_handle(NULL, fn, "fh", PLI_KIND_FILE, *file);
    }
    enum pli_err err = pli_file_open_close(f);
    if (err == PLI_OK) {
        *file = MPI_FILE_NULL;
    }
    return pli_glue_return(err == PLI_OK ? NULL : &f->obj, fn, err);
}
