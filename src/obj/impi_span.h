// SPDX-License-Identifier: BSD-3-Clause
// Which MPI job each member belongs to, in communicators across several jobs that IMPI joins.
// Without IMPI there is one job and one host.
#ifndef PLI_OBJ_IMPI_SPAN_H
#define PLI_OBJ_IMPI_SPAN_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_comm;
struct pli_group;

// The MPI job of a process of MPI_COMM_WORLD, by its number among the clients.
uint32_t pli_impi_span_client(uint32_t proc);

// Whether a process is one of those that IMPI joined: not one that was spawned, or of another job.
bool pli_impi_span_is_inside(uint64_t proc);
bool pli_impi_span_is_far(uint64_t proc); // and in another client than this process

// Whether a member is one of those, in another client than this process; or is none of those, where
// there are any.
bool pli_impi_span_has_far(const struct pli_group *g);
bool pli_impi_span_has_outside(const struct pli_group *g);

// Whether all clients can do what goes between clients of Pliant MPI and libimpi only. The other
// fails, with a sentence, where they cannot: a rank that tried would wait.
bool pli_impi_span_has_later(void);
enum pli_err pli_impi_span_check_later(const char *what, const struct pli_comm *c);
enum pli_err pli_impi_span_check_windows(const struct pli_comm *c);
bool pli_impi_span_has_files(void);
bool pli_impi_span_has_atomic(void); // atomic mode of files that different MPIs have open
enum pli_err pli_impi_span_check_files(const struct pli_comm *c);
// Whether the number of every communicator is made by one process: threads may make several then.
bool pli_impi_span_has_made(void);

// IMPI_CLIENT_SIZE, _COLOR, IMPI_HOST_SIZE, _COLOR: of the local group, and of the caller in it.
enum pli_impi_span_what {
    PLI_IMPI_SPAN_CLIENT_SIZE,
    PLI_IMPI_SPAN_CLIENT_COLOR,
    PLI_IMPI_SPAN_HOST_SIZE,
    PLI_IMPI_SPAN_HOST_COLOR,
    PLI_N_SPAN
};
// Valid as long as the communicator; NULL: no memory. Context: any thread.
const int *pli_impi_span_attr(struct pli_comm *c, enum pli_impi_span_what what);
void pli_impi_span_end(struct pli_comm *c);

// The largest tag that messages of a communicator can have.
int pli_impi_span_tag_ub(const struct pli_comm *c);

#endif
