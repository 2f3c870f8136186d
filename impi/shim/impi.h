// SPDX-License-Identifier: BSD-3-Clause
// Attributes of communicators in an Interoperable MPI job, for MPI_Comm_get_attr: how many clients
// (hosts) a communicator has members in, and a number that is the same exactly for members of one
// client (host).
#ifndef PLI_IMPI_H
#define PLI_IMPI_H

#include <mpi.h>

#if !defined(OPEN_MPI) && !defined(IMPI_CLIENT_SIZE) // Open MPI and Pliant MPI have numbers of their own
#define IMPI_CLIENT_SIZE 0x494d5001
#define IMPI_CLIENT_COLOR 0x494d5002
#define IMPI_HOST_SIZE 0x494d5003
#define IMPI_HOST_COLOR 0x494d5004
#endif

#endif
