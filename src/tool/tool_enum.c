// SPDX-License-Identifier: BSD-3-Clause
// Keeps the enumerations and answers questions about them.
#include "tool/tool_enum.h"

#include "tool/tool.h"
#include "tool/tool_pool.h"

#include <stdio.h>
#include <string.h>

struct enumeration {
    const char *name, *words;
};
static struct pli_tool_pool enums = { .size = sizeof(struct enumeration) };

const char *pli_tool_enum_word(const char *words, int number, int *len_out)
{
    for (int i = 0; words != NULL; i++) {
        const char *bar = strchr(words, '|');
        if (i == number) {
            *len_out = bar != NULL ? (int)(bar - words) : (int)strlen(words);
            return words;
        }
        words = bar != NULL ? bar + 1 : NULL;
    }
    return NULL;
}

int pli_tool_enum_number(const char *words, const char *word)
{
    int len;
    const char *w;
    for (int i = 0; (w = pli_tool_enum_word(words, i, &len)) != NULL; i++) {
        if (strlen(word) == (size_t)len && strncmp(w, word, (size_t)len) == 0) {
            return i;
        }
    }
    return -1;
}

MPI_T_enum pli_tool_enum_of(const char *name, const char *words)
{
    struct enumeration *e = NULL;
    while ((e = pli_tool_pool_next(&enums, e)) != NULL) {
        if (strcmp(e->name, name) == 0) {
            return (MPI_T_enum)e;
        }
    }
    e = pli_tool_pool_create(&enums);
    if (e != NULL) {
        *e = (struct enumeration){ name, words };
    }
    return (MPI_T_enum)e;
}

// The enumeration a handle names, or NULL.
static const struct enumeration *find(MPI_T_enum handle)
{
    pli_tool_lock();
    bool is_one = pli_tool_pool_has(&enums, handle);
    pli_tool_unlock();
    return is_one ? (const struct enumeration *)handle : NULL;
}

int pli_tool_enum_get_info(MPI_T_enum handle, int *num, char *name, int *name_len)
{
    int code = pli_tool_check(), n = 0, len;
    const struct enumeration *e = find(handle);
    if (code != MPI_SUCCESS || e == NULL) {
        return code != MPI_SUCCESS ? code : MPI_T_ERR_INVALID_HANDLE;
    }
    while (pli_tool_enum_word(e->words, n, &len) != NULL) {
        n++;
    }
    pli_tool_put(num, n);
    pli_tool_text(e->name, name, name_len);
    return MPI_SUCCESS;
}

int pli_tool_enum_get_item(MPI_T_enum handle, int index, int *value, char *name, int *name_len)
{
    int code = pli_tool_check(), len;
    const struct enumeration *e = find(handle);
    if (code != MPI_SUCCESS || e == NULL) {
        return code != MPI_SUCCESS ? code : MPI_T_ERR_INVALID_HANDLE;
    }
    const char *word = index < 0 ? NULL : pli_tool_enum_word(e->words, index, &len);
    if (word == NULL) {
        return MPI_T_ERR_INVALID_ITEM;
    }
    char text[64];
    snprintf(text, sizeof text, "%.*s", len, word);
    pli_tool_put(value, index);
    pli_tool_text(text, name, name_len);
    return MPI_SUCCESS;
}
