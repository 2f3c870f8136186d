// SPDX-License-Identifier: BSD-3-Clause
// Coverage of the standard, from the list that the API table's generator writes.
#include "coverage.h"

#include <stdio.h>
#include <string.h>

struct row {
    const char *name, *chapter;
    bool is_there;
};

static const struct row rows[] = {
#define PLI_COVERAGE(name, chapter, is_there) { name, chapter, is_there },
#include "coverage.def"
#undef PLI_COVERAGE
};

enum { N_ROW = sizeof rows / sizeof rows[0], COLUMNS = 100 };

// The rows of a chapter follow each other: the first row of the next one, or N_ROW.
static int chapter_end(int begin)
{
    int end = begin;
    while (end < N_ROW && strcmp(rows[end].chapter, rows[begin].chapter) == 0) {
        end++;
    }
    return end;
}

static int count(int begin, int end)
{
    int n = 0;
    for (int i = begin; i < end; i++) {
        n += rows[i].is_there;
    }
    return n;
}

static void print_names(int begin, int end, bool is_there)
{
    int column = 0;
    for (int i = begin; i < end; i++) {
        if (rows[i].is_there != is_there) {
            continue;
        }
        int len = (int)strlen(rows[i].name);
        if (column > 0 && column + 1 + len > COLUMNS) {
            putchar('\n');
            column = 0;
        }
        column += printf("%s%s", column > 0 ? " " : "    ", rows[i].name);
    }
    if (column > 0) {
        putchar('\n');
    }
}

static void print_part(bool is_there)
{
    for (int i = 0; i < N_ROW; i = chapter_end(i)) {
        int end = chapter_end(i);
        int n = is_there ? count(i, end) : end - i - count(i, end);
        if (n > 0) {
            printf("  %s: %d\n", rows[i].chapter, n);
            print_names(i, end, is_there);
        }
    }
}

void pli_coverage_print(void)
{
    printf("%-12s %9s %9s %9s\n", "chapter", "there", "not yet", "of");
    for (int i = 0; i < N_ROW; i = chapter_end(i)) {
        int end = chapter_end(i), n = count(i, end);
        printf("%-12s %9d %9d %9d\n", rows[i].chapter, n, end - i - n, end - i);
    }
    int there = count(0, N_ROW);
    printf("%-12s %9d %9d %9d\n", "all", there, N_ROW - there, N_ROW);
    printf("\nThere:\n");
    print_part(true);
    printf("\nNot yet:\n");
    print_part(false);
}

void pli_coverage_list(bool is_there)
{
    for (int i = 0; i < N_ROW; i++) {
        if (rows[i].is_there == is_there) {
            puts(rows[i].name);
        }
    }
}

bool pli_coverage_tell(const char *name)
{
    for (int i = 0; i < N_ROW; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            printf("%s: %s (chapter %s)\n", name, rows[i].is_there ? "there" : "not yet",
                   rows[i].chapter);
            return true;
        }
    }
    fprintf(stderr, "mpiinfo: MPI has no C function '%s'; `mpiinfo --coverage` lists them\n", name);
    return false;
}

void pli_coverage_count(int *there_out, int *all_out)
{
    *there_out = count(0, N_ROW);
    *all_out = N_ROW;
}
