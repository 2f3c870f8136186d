// SPDX-License-Identifier: BSD-3-Clause
// What the IMPI library's functions return: 0 done, positive not yet, negative failed.
// The library is built into programs that know nothing of src/, so the codes are its own.
#ifndef PLI_IMPI_ERR_H
#define PLI_IMPI_ERR_H

enum pli_impi_err {
    PLI_IMPI_OK = 0,
    PLI_IMPI_AGAIN = 1,        // more bytes, or more time, are needed
    PLI_IMPI_ERR_NOMEM = -1,   // no memory, or a limit on memory reached
    PLI_IMPI_ERR_RANGE = -2,   // a value the protocol does not allow
    PLI_IMPI_ERR_PROTO = -3,   // the other side broke the protocol
    PLI_IMPI_ERR_AUTH = -4,    // no common authentication method, or refused
    PLI_IMPI_ERR_PEER = -5,    // the other side went away before it said FINI
    PLI_IMPI_ERR_CLOSED = -6,  // the other side has finalized and takes no more
    PLI_IMPI_ERR_ARG = -7,     // the caller asked for something that cannot be
    PLI_IMPI_ERR_SYS = -8,     // a system call failed; the line in the log has errno
    PLI_IMPI_ERR_TIMEOUT = -9, // a deadline passed
};

// A few words for a log line; never NULL. Context: any thread.
const char *pli_impi_err_text(enum pli_impi_err err);

#endif
