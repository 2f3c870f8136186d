// SPDX-License-Identifier: BSD-3-Clause
// The contents of MPI_INFO_ENV and MPI_Info_create_env: how this process was started.
#ifndef PLI_OBJ_INFO_ENV_H
#define PLI_OBJ_INFO_ENV_H

#include "obj/info.h"

// Fill MPI_INFO_ENV on its first use. Context: any thread.
void pli_info_env_fill(void);

// MPI_Info_create_env: the same as an object of the caller's own, for the given command line.
enum pli_err pli_info_env_create(int argc, char *argv[], struct pli_info **out);

#endif
