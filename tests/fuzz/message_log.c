// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the log of messages that mpiexec --replay-rank reads, behind its title. Inputs are
// read as they are, then with right checksums, then with one byte of these changed.
#include "fuzz.h"

#include "base/checksum.h"
#include "msg/message_log_file.h"

#include <stdbool.h>
#include <stddef.h>

enum { MOST = 65536, TITLE = sizeof(struct pli_message_log_title) };

const char *const fuzz_words[] = { "\x67\x6f\x6c\x50", "\x01\0\0\0\0\0\0\0", NULL };

static void sign_title(char *all)
{
    struct pli_message_log_title title = { .text = PLI_MESSAGE_LOG_TITLE, .job = 5 };
    title.sum = pli_checksum(0, &title, offsetof(struct pli_message_log_title, sum));
    memcpy(all, &title, sizeof title);
}

// Give all messages that the reader comes to their checksums. Returns where those end that are
// whole.
static size_t sign_messages(char *all, size_t len)
{
    struct pli_message_log_head head;
    size_t at = TITLE;
    while (len - at >= sizeof head) {
        size_t left = len - at - sizeof head;
        memcpy(&head, all + at, sizeof head);
        bool is_whole = head.n_stored <= left;
        head.data_sum = is_whole ? pli_checksum(0, all + at + sizeof head, head.n_stored) : 0;
        head.sum = pli_checksum(0, &head, offsetof(struct pli_message_log_head, sum));
        memcpy(all + at, &head, sizeof head);
        if (!is_whole) {
            break;
        }
        at += sizeof head + head.n_stored;
    }
    return at;
}

// Returns whether it could be read.
static bool read_log(const char *all, size_t len)
{
    struct pli_message_log_file f;
    size_t n_byte = 0;
    bool is_read = pli_message_log_file_index(all, len, &f) == PLI_OK;
    for (size_t i = 0; is_read && i < f.n; i++) {
        const char *at;
        struct pli_message_log_head head = pli_message_log_file_get(&f, i, &at);
        FUZZ_MUST(head.number == i + 1 && head.n_stored <= head.size);
        FUZZ_MUST(at >= all + TITLE && at + head.n_stored <= all + len);
        n_byte += sizeof head + head.n_stored;
    }
    FUZZ_MUST(n_byte <= len - TITLE);
    pli_message_log_file_fini(&f);
    return is_read;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static char all[TITLE + MOST];
    struct pli_message_log_file f;
    if (len > MOST) {
        return 0;
    }
    sign_title(all);
    memcpy(all + TITLE, data, len);
    read_log(all, TITLE + len);
    size_t end = sign_messages(all, TITLE + len);
    if (read_log(all, TITLE + len)) {
        uint64_t where = pli_checksum(0, data, len);
        all[where % end] ^= (char)(1 << where / end % 8);
        FUZZ_MUST(!read_log(all, TITLE + len));
    }
    if (len > 0) { // anything else is no log
        FUZZ_MUST(pli_message_log_file_index((const char *)data, len, &f) != PLI_OK ||
                  memcmp(data, PLI_MESSAGE_LOG_TITLE, strlen(PLI_MESSAGE_LOG_TITLE)) == 0);
        pli_message_log_file_fini(&f);
    }
    return 0;
}
