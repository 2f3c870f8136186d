// SPDX-License-Identifier: BSD-3-Clause
// What comes from one rank on one descriptor, cut into lines for a sink.
#ifndef PLI_LAUNCHER_OUTPUT_LINES_H
#define PLI_LAUNCHER_OUTPUT_LINES_H

#include "launcher/base/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_output;

struct pli_output_lines {
    struct pli_watch watch;
    struct pli_output *sink;
    struct pli_output_lines *next;         // of all streams
    struct pli_output_lines *next_waiting; // of those the sink has no room for
    char *buf;                             // there only while something is held
    size_t len;
    uint64_t left;    // bytes still to read; all when the end of file decides
    uint64_t last_ns; // when the last bytes came
    bool is_waiting;
    bool is_ended; // no more bytes will come
    bool is_over;  // and all are in the sink
    char label[40];
    // Of a rank on another host: its task, and the function that is told when bytes are in the
    // sink.
    uint32_t task;
    uint16_t which; // descriptor
    int file;       // what comes is written there too; 0: nowhere, -1: that failed
    bool is_hidden; // and does not go to the sink
    void (*took)(struct pli_output_lines *s, size_t n);
};

// Read from fd (non-blocking, becomes ours) into the sink; `label` opens its lines.
void pli_output_lines_open(struct pli_output_lines *s, int fd, struct pli_output *sink,
                           const char *label);

// The same for a stream whose bytes come from another host, by pli_output_lines_feed. No more may
// be on their way than the stream holds, PLI_OUTPUT_LINES_CAP: `took` says when there is room
// again.
enum { PLI_OUTPUT_LINES_CAP = 64 * 1024 };
void pli_output_lines_open_remote(struct pli_output_lines *s, struct pli_output *sink,
                                  const char *label,
                                  void (*took)(struct pli_output_lines *s, size_t n));
// From now on write what comes to this file, which becomes ours, and only there unless is_copied.
void pli_output_lines_to_file(struct pli_output_lines *s, int file, bool is_copied);
// False: they do not fit.
bool pli_output_lines_feed(struct pli_output_lines *s, const void *data, size_t len);
void pli_output_lines_end(struct pli_output_lines *s); // no more will come

// The process is over: take what it left in the pipe and close, even if a child of it still holds
// the other end.
void pli_output_lines_finish(struct pli_output_lines *s);

// Nothing will remember the stream. False: it is still needed.
bool pli_output_lines_forget(struct pli_output_lines *s);

// The sink has room again. True when something was moved. Context: the sink only.
bool pli_output_lines_resume(struct pli_output_lines *s);

// Streams that may still say something.
unsigned pli_output_lines_n_open(void);

// Output of the ranks: pli_launcher.output_lines.
struct pli_output_lines_state {
    struct pli_output_lines *streams;
    unsigned n_open;
    int file_error; // errno of the first file that could not be written, 0: none
    struct pli_timer prompt_timer, silence_timer;
};
void pli_output_lines_init(void); // its first values

#endif
