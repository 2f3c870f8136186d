// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: names of ports, which come from anywhere: MPI_Comm_connect and MPI_Close_port.
#include "fuzz.h"

#include <mpi.h>

const char *const fuzz_words[] = { "pliant:", ":", "ffffffff", "0000000000000001", "tcp://", NULL };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static int is_begun;
    if (!is_begun) {
        is_begun = 1;
        FUZZ_MUST(MPI_Init(NULL, NULL) == MPI_SUCCESS);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    char name[MPI_MAX_PORT_NAME + 1], text[MPI_MAX_ERROR_STRING];
    size_t n = len < MPI_MAX_PORT_NAME ? len : MPI_MAX_PORT_NAME;
    memcpy(name, data, n);
    name[n] = '\0';
    MPI_Comm other = MPI_COMM_NULL;
    int size, err = MPI_Close_port(name);
    FUZZ_MUST(err != MPI_SUCCESS && MPI_Error_string(err, text, &size) == MPI_SUCCESS);
    err = MPI_Comm_connect(name, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
    FUZZ_MUST(err != MPI_SUCCESS && other == MPI_COMM_NULL);
    return 0;
}
