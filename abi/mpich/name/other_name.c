// SPDX-License-Identifier: BSD-3-Clause
// libmpich.so.12, as Debian calls MPICH's library: everything is in libmpi.so.12, which it needs.
extern const char pli_foreign_other_name[];
const char pli_foreign_other_name[] = "libmpi.so.12";
