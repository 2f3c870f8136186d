// SPDX-License-Identifier: BSD-3-Clause
// A table of rules is written past a link that another user put in the place of its new version.
#include "launcher/job/tune_file.h"

#include "t.h"

#include <unistd.h>

static void has(const char *path, const char *want)
{
    char text[256] = "";
    FILE *f = fopen(path, "r");
    T_MUST(f != NULL);
    T_OK(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    T_HAS(text, want);
}

int main(void)
{
    char dir[] = "/tmp/pliant-tune-XXXXXX", table[64], fresh[64], ours[64];
    T_MUST(mkdtemp(dir) != NULL);
    snprintf(table, sizeof table, "%s/table", dir);
    snprintf(fresh, sizeof fresh, "%s/table.new", dir);
    snprintf(ours, sizeof ours, "%s/ours", dir);
    FILE *f = fopen(ours, "w");
    T_MUST(f != NULL && fputs("a letter\n", f) >= 0 && fclose(f) == 0);
    T_MUST(symlink(ours, fresh) == 0);
    T_OK(pli_tune_file_write(table, "bcast 2 8 binomial\n"));
    has(ours, "a letter");
    has(table, "bcast 2 8 binomial");
    T_OK(access(fresh, F_OK) != 0);
    unlink(table);
    unlink(ours);
    rmdir(dir);
    return t_status();
}
