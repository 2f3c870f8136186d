// SPDX-License-Identifier: BSD-3-Clause
// Files with parts of the command line: -configfile, and --app as Open MPI spells it.
#ifndef PLI_LAUNCHER_CONFIG_FILE_H
#define PLI_LAUNCHER_CONFIG_FILE_H

// The command line with the lines of such a file in the place of the option, each a part of its
// own; argv itself when there is none. A file that cannot be used ends mpiexec with a sentence.
char **pli_config_file_expand(int *argc, char **argv);

#endif
