// SPDX-License-Identifier: BSD-3-Clause
// Files that a person writes and names on a command line: lists of hosts, options, tokens, rules.
#ifndef PLI_BASE_TEXT_FILE_H
#define PLI_BASE_TEXT_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum { PLI_TEXT_FILE_MAX = 16 << 20 }; // far beyond what people write

// All of the file, with a NUL behind it, for the caller to free. Pipes and terminals are read to
// their end. NULL: it cannot be read, is a directory or a device, has more than PLI_TEXT_FILE_MAX
// bytes, or a NUL among them; why_out has the reason.
char *pli_text_file_read(const char *path, char *why_out, size_t room);

// The first word of such a file, as of one that holds a token. False: why_out has the reason.
bool pli_text_file_word(const char *path, char *word_out, size_t cap, char *why_out, size_t room);

// The next line of a text, without its end, which is overwritten; *at moves behind it. NULL: there
// is no more.
char *pli_text_file_line(char **at);

#endif
