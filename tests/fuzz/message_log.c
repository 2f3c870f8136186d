// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the log of messages that mpiexec --replay-rank reads, behind its title.
#include "fuzz.h"

#include "msg/message_log_file.h"

enum { MOST = 65536 };

const char *const fuzz_words[] = { "\x67\x6f\x6c\x50", "\x01\0\0\0\0\0\0\0", NULL };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static char all[sizeof(struct pli_message_log_title) + MOST];
    struct pli_message_log_file f;
    size_t title = sizeof(struct pli_message_log_title), n_byte = 0;
    if (len > MOST) {
        return 0;
    }
    memcpy(all, PLI_MESSAGE_LOG_TITLE, strlen(PLI_MESSAGE_LOG_TITLE));
    memcpy(all + title, data, len);
    FUZZ_MUST(pli_message_log_file_index(all, title + len, &f) == PLI_OK);
    for (size_t i = 0; i < f.n; i++) {
        const char *at;
        struct pli_message_log_head head = pli_message_log_file_get(&f, i, &at);
        FUZZ_MUST(head.number == i + 1 && head.n_stored <= head.size);
        FUZZ_MUST(at >= all + title && at + head.n_stored <= all + title + len);
        n_byte += sizeof head + head.n_stored;
    }
    FUZZ_MUST(n_byte <= len);
    pli_message_log_file_fini(&f);
    if (len > 0) { // anything else is no log
        FUZZ_MUST(pli_message_log_file_index((const char *)data, len, &f) != PLI_OK ||
                  memcmp(data, PLI_MESSAGE_LOG_TITLE, strlen(PLI_MESSAGE_LOG_TITLE)) == 0);
        pli_message_log_file_fini(&f);
    }
    return 0;
}
