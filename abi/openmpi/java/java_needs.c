// SPDX-License-Identifier: BSD-3-Clause
// In place of an installed library of Open MPI, for the linker alone: only its name is used.
extern const char pli_foreign_java_needs;
const char pli_foreign_java_needs = 0;
