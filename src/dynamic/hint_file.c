// SPDX-License-Identifier: BSD-3-Clause
// Reads hints from a file.
#include "dynamic/hint_file.h"

#include "base/text_file.h"
#include "obj/info.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The text without blanks at its ends.
static char *strip(char *text)
{
    while (isspace((unsigned char)*text)) {
        text++;
    }
    for (size_t n = strlen(text); n > 0 && isspace((unsigned char)text[n - 1]); n--) {
        text[n - 1] = '\0';
    }
    return text;
}

// Another setting for the environment comes after those the file had before.
static enum pli_err add_env(struct pli_info *all, const char *value)
{
    const char *before = pli_info_find(all, "env");
    char *both = NULL;
    if (before == NULL) {
        return pli_info_set(all, "env", value);
    }
    if (asprintf(&both, "%s\n%s", before, value) < 0) {
        return PLI_ERR_NOMEM;
    }
    enum pli_err err = pli_info_set(all, "env", both);
    free(both);
    return err;
}

static enum pli_err take_line(char *line, struct pli_info *info, struct pli_info *all)
{
    char *key = strip(line), *equal = strchr(key, '=');
    if (*key == '\0' || *key == '#') {
        return PLI_OK;
    }
    if (equal == NULL || equal == key) {
        return pli_fail(PLI_ERR_INFO_VALUE, "the hint file has a line '%s'; each is KEY=VALUE",
                        key);
    }
    *equal = '\0';
    key = strip(key);
    if (pli_info_find(info, key) != NULL) {
        return PLI_OK;
    }
    char *value = strip(equal + 1);
    return strcmp(key, "env") == 0 ? add_env(all, value) : pli_info_set(all, key, value);
}

enum pli_err pli_hint_file_read(struct pli_info *info, struct pli_info **out)
{
    const char *name = pli_info_find(info, "file");
    struct pli_info *all = NULL;
    char why[128], *line;
    *out = NULL;
    if (name == NULL) {
        return PLI_OK;
    }
    char *text = pli_text_file_read(name, why, sizeof why), *rest = text;
    if (text == NULL) {
        return pli_fail(PLI_ERR_INFO_VALUE, "hint file is '%s', which cannot be read: %s", name,
                        why);
    }
    enum pli_err err = pli_info_dup(info, &all);
    while (err == PLI_OK && (line = pli_text_file_line(&rest)) != NULL) {
        err = take_line(line, info, all);
    }
    free(text);
    if (err != PLI_OK) {
        pli_info_release(all);
        return err;
    }
    *out = all;
    return PLI_OK;
}
