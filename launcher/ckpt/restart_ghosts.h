// SPDX-License-Identifier: BSD-3-Clause
// Files without a name that restored ranks had open. CRIU gives each a name for a moment, the one
// it had or one made of that: ranks that are restored at the same time, and had files of one name,
// would meet there.
#ifndef PLI_LAUNCHER_RESTART_GHOSTS_H
#define PLI_LAUNCHER_RESTART_GHOSTS_H

#include <limits.h>
#include <stdbool.h>

// The images in dir, an absolute name, of one rank, with other names for files without one: a
// folder below work that refers to them, or dir itself where there are no such files. is_alone_out:
// the rank is not to be restored while another one is for which this was said, since CRIU makes a
// folder that both may need. False with errno: the folder cannot be made.
bool pli_restart_ghosts(const char *dir, const char *work, char to[PATH_MAX], bool *is_alone_out);

// Remove the names that CRIU has made for them and not removed, because it was killed. work: as
// above, with all folders in it.
void pli_restart_ghosts_clean(const char *work);

#endif
