// SPDX-License-Identifier: BSD-3-Clause
// The hint file of MPI_Comm_spawn: a file with more hints. [MPI-5.0 11.8.4]
#ifndef PLI_DYNAMIC_HINT_FILE_H
#define PLI_DYNAMIC_HINT_FILE_H

#include "base/err.h"

struct pli_info;

// Reads the file that the hint `file` of info names: lines KEY=VALUE, of which those with the key
// env may be several; empty lines and those that begin with # are comments. *out is a new info
// object with the hints of both, where those of info itself count first, or NULL where there is no
// such hint. The root calls it. Fails with PLI_ERR_INFO_VALUE where the file cannot be read or a
// line is none of these.
enum pli_err pli_hint_file_read(struct pli_info *info, struct pli_info **out);

#endif
