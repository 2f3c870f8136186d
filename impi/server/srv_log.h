// SPDX-License-Identifier: BSD-3-Clause
// The server's log: one line on stderr each, the program's name first.
#ifndef PLI_SRV_LOG_H
#define PLI_SRV_LOG_H

enum pli_srv_log_level {
    PLI_SRV_SILENT = -1, // as a threshold: say nothing at all
    PLI_SRV_ERROR = 0,   // the server or the job ends because of it
    PLI_SRV_WARN = 1,    // a client did something wrong, or is not protected
    PLI_SRV_INFO = 2,    // shown with -v
};

// Lines above the threshold are dropped. Start-up only.
void pli_srv_log_set(enum pli_srv_log_level threshold);

__attribute__((format(printf, 2, 3))) void pli_srv_log(enum pli_srv_log_level level,
                                                       const char *fmt, ...);

#endif
