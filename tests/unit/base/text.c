// SPDX-License-Identifier: BSD-3-Clause
// Texts put together without printf: in full, cut at the end of the room, and with any number.
#include "base/text.h"
#include "t.h"

int main(void)
{
    char text[16] = "";
    pli_text_add(text, sizeof text, "rank ");
    pli_text_add_number(text, sizeof text, 0);
    pli_text_add(text, sizeof text, ":");
    pli_text_add_number(text, sizeof text, 4294967296u);
    T_STR(text, "rank 0:42949672");
    pli_text_add(text, sizeof text, "more");
    T_STR(text, "rank 0:42949672");
    char large[32] = "";
    pli_text_add_number(large, sizeof large, UINT64_MAX);
    T_STR(large, "18446744073709551615");
    char none[4] = "abc";
    pli_text_add(none, 0, "x");
    pli_text_add(none, sizeof none, "x");
    T_STR(none, "abc");
    char one[1] = "";
    pli_text_add(one, sizeof one, "x");
    T_STR(one, "");
    return t_failed != 0;
}
