// SPDX-License-Identifier: BSD-3-Clause
// Prints the source line of a diagnostic and the caret below it.
#include "excerpt.h"

enum { TAB = 8 };

static int width(char c, int at)
{
    return c == '\t' ? TAB - at % TAB : ((unsigned char)c & 0xc0) != 0x80;
}

int pli_excerpt_column(const char *line, size_t len, int byte)
{
    int at = 0;
    for (int i = 0; i < byte - 1; i++) {
        at += (size_t)i < len ? width(line[i], at) : 1;
    }
    return at + 1;
}

int pli_excerpt_byte(const char *line, size_t len, int column)
{
    int at = 0, i = 0;
    while (at < column - 1) {
        at += (size_t)i < len ? width(line[i], at) : 1;
        i++;
    }
    return i + 1;
}

void pli_excerpt_print(FILE *to, int number, const char *line, size_t len, int byte, size_t n)
{
    fprintf(to, "%5d | ", number);
    for (size_t i = 0, at = 0; i < len; i++) {
        if (line[i] == '\t') {
            int w = width('\t', (int)at);
            fprintf(to, "%*s", w, "");
            at += (size_t)w;
        } else {
            fputc(line[i], to);
            at += (size_t)width(line[i], (int)at);
        }
    }
    fprintf(to, "\n      | %*s^", pli_excerpt_column(line, len, byte) - 1, "");
    for (size_t i = 1; i < n && (size_t)byte - 1 + i < len; i++) {
        fputc('~', to);
    }
    fputc('\n', to);
}
