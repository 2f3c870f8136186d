// SPDX-License-Identifier: BSD-3-Clause
// Receives the memory of a process from CRIU while that dumps it, and writes only the pages that
// differ from those of an earlier checkpoint.
#ifndef PLI_LAUNCHER_PAGE_SERVER_H
#define PLI_LAUNCHER_PAGE_SERVER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct pli_page_server_plan {
    int fd;             // our end of the connection
    int other;          // CRIU's end, which is closed here
    char dir[PATH_MAX]; // the images of the process
    // of a copy that is dumped: its number, and that of the process it stands for; else 0
    uint32_t copy, original;
    bool has_base; // dir/parent leads to those of the earlier checkpoint
};

// Runs in a helper, with a struct pli_page_server_plan, until CRIU has sent all (see helper.h).
bool pli_page_server_run(void *plan, int report);

#endif
