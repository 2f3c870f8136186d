// SPDX-License-Identifier: BSD-3-Clause
// The texts of the IMPI error codes.
#include "wire/impi_err.h"

const char *pli_impi_err_text(enum pli_impi_err err)
{
    switch (err) {
    case PLI_IMPI_OK:
        return "done";
    case PLI_IMPI_AGAIN:
        return "not yet";
    case PLI_IMPI_ERR_NOMEM:
        return "out of memory";
    case PLI_IMPI_ERR_RANGE:
        return "value out of range";
    case PLI_IMPI_ERR_PROTO:
        return "protocol violation";
    case PLI_IMPI_ERR_AUTH:
        return "authentication failed";
    case PLI_IMPI_ERR_PEER:
        return "connection lost";
    case PLI_IMPI_ERR_CLOSED:
        return "peer has finalized";
    case PLI_IMPI_ERR_ARG:
        return "bad argument";
    case PLI_IMPI_ERR_SYS:
        return "system call failed";
    case PLI_IMPI_ERR_TIMEOUT:
        return "timed out";
    }
    return "unknown error";
}
