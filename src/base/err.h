// SPDX-License-Identifier: BSD-3-Clause
// The errors of functions inside the library, and the reason of the last one of each thread. [style
// rule 7]
#ifndef PLI_BASE_ERR_H
#define PLI_BASE_ERR_H

#include <stdbool.h>

enum pli_err_index {
    PLI_ERR_INDEX_NONE,
#define PLI_ERR(name, mpi_class, text) PLI_ERR_INDEX_##name,
#include "base/err.def"
#undef PLI_ERR
    PLI_ERR_INDEX_USER,
    PLI_N_ERR
};

// 0 done, positive not yet, negative failed.
enum pli_err {
    PLI_OK = 0,
    PLI_AGAIN = 1,
#define PLI_ERR(name, mpi_class, text) PLI_ERR_##name = -PLI_ERR_INDEX_##name,
#include "base/err.def"
#undef PLI_ERR
    PLI_ERR_USER = -PLI_ERR_INDEX_USER, // the number a user callback returned travels beside it
};

// Note why the call fails and return err, so that `return pli_fail(PLI_ERR_RANK, ...)` reads well.
// The text is kept per thread until the next failure; glue puts it into the message the user
// sees. Cold path only. Context: any thread.
enum pli_err pli_fail(enum pli_err err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), cold));

// Same, for a code that a user's callback returned.
enum pli_err pli_fail_user(int code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), cold));

// The last reason noted by this thread, "" when none; taking it clears it.
const char *pli_fail_take(int *user_code_out);

// The reason of an error, kept while other calls may note theirs: a collective agreement, or
// cleaning up. Context: any thread.
struct pli_fail_saved {
    enum pli_err err;
    int user_code;
    char text[512];
};
// Save err and take the reason noted for it; PLI_OK has none.
void pli_fail_save(struct pli_fail_saved *s, enum pli_err err);
// Note the reason again and return the error; PLI_OK when none was saved.
enum pli_err pli_fail_repeat(const struct pli_fail_saved *s);

// The sentence for an error, from err.def.
const char *pli_err_text(enum pli_err err);

// Errors that come with bad news, which all members of a communicator hear: ft/failure.h.
static inline bool pli_err_is_news(enum pli_err err)
{
    return err == PLI_ERR_PROC_FAILED || err == PLI_ERR_PROC_FAILED_PENDING ||
           err == PLI_ERR_REVOKED || err == PLI_ERR_WORLD_RESIZED;
}

#endif
