// SPDX-License-Identifier: BSD-3-Clause
// Passes on what is typed to debuggers, and what they show.
#ifndef PLI_LAUNCHER_GDB_RELAY_H
#define PLI_LAUNCHER_GDB_RELAY_H

#include <stdint.h>

struct pli_gdb_link {
    uint32_t rank;
    int inner;     // of the terminal that gdb has
    int outer;     // what the user sees; the same for all where they are shown one at a time
    char pane[32]; // of tmux, "": none
    char *kept;    // what was shown while another had the terminal
    uint32_t n_kept;
};

// Until all debuggers have ended. Does not return.
_Noreturn void pli_gdb_relay_run(struct pli_gdb_link *links, uint32_t n);

#endif
