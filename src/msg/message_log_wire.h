// SPDX-License-Identifier: BSD-3-Clause
// The file of the messages that a process received (mpiexec --log-messages): a title, the number of
// the job, which is in the names of processes that messages bear, then each message as its head and
// its data. Each part has a checksum (base/checksum.h). Written and read on machines of one byte
// order.
#ifndef PLI_MSG_MESSAGE_LOG_WIRE_H
#define PLI_MSG_MESSAGE_LOG_WIRE_H

#include <stdint.h>

#define PLI_MESSAGE_LOG_TITLE "messages of Pliant MPI 2\n"

enum { PLI_MESSAGE_LOG_MAGIC = 0x506c6f67 };

struct pli_message_log_title {
    char text[sizeof PLI_MESSAGE_LOG_TITLE - 1];
    uint8_t pad[7];
    uint64_t job; // as in the header of the node memory
    uint64_t sum; // checksum of all before it
};
_Static_assert(sizeof(struct pli_message_log_title) == 48, "without holes");

struct pli_message_log_head {
    uint32_t magic;
    uint32_t dst_ep;   // endpoint of this process
    uint64_t number;   // in the order in which messages met their receives, from 1
    uint64_t context;  // with the channel
    uint64_t size;     // of the message
    uint64_t n_stored; // bytes that follow; fewer than size where the receive had no more room
    uint32_t src_proc; // index in the job
    int32_t src_rank, tag;
    uint8_t src_lane, form; // form: enum pli_form
    uint8_t pad[2];
    uint64_t data_sum; // checksum of the bytes that follow
    uint64_t sum;      // of all before it: the length can be relied on before the data is looked at
};
_Static_assert(sizeof(struct pli_message_log_head) == 72, "without holes");

#endif
