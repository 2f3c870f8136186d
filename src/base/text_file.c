// SPDX-License-Identifier: BSD-3-Clause
// Reads files of text as a whole, up to a size that is no mistake.
#include "base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { BLOCK = 4096 };

static char *refuse(const char *why, char *why_out, size_t room)
{
    snprintf(why_out, room, "%s", why);
    return NULL;
}

// What is no text as far as the kernel can tell. NULL: it may be read.
static const char *bad_kind(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return strerror(errno);
    }
    if (S_ISDIR(st.st_mode)) {
        return strerror(EISDIR);
    }
    bool is_null = S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
    if (S_ISBLK(st.st_mode) || (S_ISCHR(st.st_mode) && !is_null && !isatty(fd))) {
        return "it is a device, not a file";
    }
    return S_ISREG(st.st_mode) && st.st_size > PLI_TEXT_FILE_MAX ? "it has more than 16 MiB" : NULL;
}

// Read to the end, a block at a time. NULL: why_out says why not.
static char *read_text(int fd, char *why_out, size_t room)
{
    char *text = NULL;
    for (size_t len = 0, cap = 0;;) {
        if (cap - len < BLOCK) {
            cap = cap * 2 + BLOCK + 1;
            char *more = realloc(text, cap);
            if (more == NULL) {
                free(text);
                return refuse(strerror(ENOMEM), why_out, room);
            }
            text = more;
        }
        ssize_t n = read(fd, text + len, cap - len - 1);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        const char *why = n < 0                                 ? strerror(errno)
                          : memchr(text + len, '\0', (size_t)n) ? "it has NUL bytes: it is no text"
                          : len + (size_t)n > PLI_TEXT_FILE_MAX ? "it has more than 16 MiB"
                                                                : NULL;
        if (why != NULL) {
            free(text);
            return refuse(why, why_out, room);
        }
        len += (size_t)n;
        text[len] = '\0';
        if (n == 0) {
            return text;
        }
    }
}

char *pli_text_file_read(const char *path, char *why_out, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        return refuse(strerror(errno), why_out, room);
    }
    const char *why = bad_kind(fd);
    char *text = why == NULL ? read_text(fd, why_out, room) : refuse(why, why_out, room);
    close(fd);
    return text;
}

bool pli_text_file_word(const char *path, char *word_out, size_t cap, char *why_out, size_t room)
{
    char *text = pli_text_file_read(path, why_out, room);
    if (text == NULL) {
        return false;
    }
    const char *word = text + strspn(text, " \t\r\n");
    size_t len = strcspn(word, " \t\r\n");
    bool is_good = len > 0 && len < cap;
    if (is_good) {
        memcpy(word_out, word, len);
        word_out[len] = '\0';
    } else {
        refuse(len == 0 ? "it is empty" : "its first word is too long", why_out, room);
    }
    free(text);
    return is_good;
}

char *pli_text_file_line(char **at)
{
    char *line = *at, *end = line != NULL ? strchr(line, '\n') : NULL;
    if (line == NULL || *line == '\0') {
        return NULL;
    }
    *at = end != NULL ? end + 1 : line + strlen(line);
    if (end != NULL) {
        *end = '\0';
    }
    return line;
}
