// SPDX-License-Identifier: BSD-3-Clause
// Appends to texts with plain loops, so that signal handlers may do it.
#include "base/text.h"

void pli_text_add(char *to, size_t cap, const char *more)
{
    size_t at = 0;
    while (at < cap && to[at] != '\0') {
        at++;
    }
    while (at + 1 < cap && *more != '\0') {
        to[at++] = *more++;
    }
    if (at < cap) {
        to[at] = '\0';
    }
}

void pli_text_add_number(char *to, size_t cap, uint64_t number)
{
    char digits[24] = "", *at = digits + sizeof digits - 1;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    pli_text_add(to, cap, at);
}
