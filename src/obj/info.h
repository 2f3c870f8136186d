// SPDX-License-Identifier: BSD-3-Clause
// Info objects: keys and values, in the order they were first set. [MPI-5.0 10]
#ifndef PLI_OBJ_INFO_H
#define PLI_OBJ_INFO_H

#include "base/err.h"
#include "obj/handle.h"

#include <mpi.h>

struct pli_info_pair;

struct pli_info {
    struct pli_obj obj;
    int n, cap;
    struct pli_info_pair *pairs;
};

extern struct pli_info pli_info_env; // MPI_INFO_ENV: how this process was started

// All may be called by any thread at any time, before initialisation too.
enum pli_err pli_info_create(struct pli_info **out);
enum pli_err pli_info_dup(struct pli_info *i, struct pli_info **out);
enum pli_err pli_info_set(struct pli_info *i, const char *key, const char *value);
enum pli_err pli_info_delete(struct pli_info *i, const char *key);
enum pli_err pli_info_get(struct pli_info *i, const char *key, int valuelen, char *value_out,
                          int *flag_out);
enum pli_err pli_info_get_string(struct pli_info *i, const char *key, int *buflen, char *value_out,
                                 int *flag_out);
enum pli_err pli_info_get_valuelen(struct pli_info *i, const char *key, int *len_out,
                                   int *flag_out);
enum pli_err pli_info_get_nkeys(struct pli_info *i, int *n_out);
enum pli_err pli_info_get_nthkey(struct pli_info *i, int n, char *key_out);
enum pli_err pli_info_free(struct pli_info *i);
void pli_info_release(struct pli_info *i); // NULL is fine

// Inside the library: the value of a key or NULL; the info may be NULL. Valid until the info is
// changed or freed.
const char *pli_info_find(struct pli_info *i, const char *key);

#endif
