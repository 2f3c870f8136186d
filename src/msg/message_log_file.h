// SPDX-License-Identifier: BSD-3-Clause
// Reads the log of the messages that a process received.
#ifndef PLI_MSG_MESSAGE_LOG_FILE_H
#define PLI_MSG_MESSAGE_LOG_FILE_H

#include "base/err.h"
#include "msg/message_log_wire.h"

#include <stddef.h>

struct pli_message_log_file {
    const char *base; // mapped
    size_t len;
    uint64_t job; // its number in the recorded run
    size_t *at;   // where the heads are, by number
    size_t n;     // messages, with numbers 1 to n
};

// Order the messages of a log. Bytes at its end that are no whole message are left out, and so are
// messages behind one that never became whole. Fails where it is no log, or where one that is whole
// is not as it was written: the words of pli_fail name the byte. Context: any thread.
enum pli_err pli_message_log_file_index(const char *base, size_t len,
                                        struct pli_message_log_file *out);
void pli_message_log_file_fini(struct pli_message_log_file *f);
// The same of a file, which is mapped until it is closed.
enum pli_err pli_message_log_file_open(const char *path, struct pli_message_log_file *out);
void pli_message_log_file_close(struct pli_message_log_file *f);

// The i-th message, from 0; *data_out: its n_stored bytes.
struct pli_message_log_head pli_message_log_file_get(const struct pli_message_log_file *f, size_t i,
                                                     const char **data_out);

#endif
