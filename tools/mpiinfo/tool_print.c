// SPDX-License-Identifier: BSD-3-Clause
// Prints variables and events by category, as a tool sees them: through MPI_T itself.
#include "tool_print.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>

enum { TEXT = 256, LIST = 512 };

static const char *type_word(MPI_Datatype type)
{
    return type == MPI_CHAR ? "string" : type == MPI_DOUBLE ? "double" : "integer";
}

static const char *scope_word(int scope)
{
    return scope == MPI_T_SCOPE_CONSTANT   ? "constant"
           : scope == MPI_T_SCOPE_READONLY ? "read-only"
           : scope == MPI_T_SCOPE_ALL_EQ   ? "alike in all processes, before MPI_Init"
                                           : "of this process";
}

// " (no, yes)": what the numbers of a variable mean, or the elements of an event.
static void print_items(MPI_T_enum e)
{
    int n = 0, len = 0;
    if (e == MPI_T_ENUM_NULL || MPI_T_enum_get_info(e, &n, NULL, &len) != MPI_SUCCESS) {
        return;
    }
    for (int i = 0; i < n; i++) {
        char word[TEXT] = "";
        int value;
        len = TEXT;
        MPI_T_enum_get_item(e, i, &value, word, &len);
        printf("%s%s", i == 0 ? " (" : ", ", word);
    }
    printf(")");
}

static void print_cvar(int i)
{
    char name[TEXT] = "", desc[TEXT] = "";
    int name_len = TEXT, desc_len = TEXT, bind, scope;
    MPI_Datatype type;
    MPI_T_enum e;
    MPI_T_cvar_get_info(i, name, &name_len, NULL, &type, &e, desc, &desc_len, &bind, &scope);
    printf("  %-30s %s; %s%s\n  %-30s %s", name, type_word(type), scope_word(scope),
           bind == MPI_T_BIND_MPI_COMM ? ", for each communicator" : "", "", desc);
    print_items(e);
    printf("\n");
}

static void print_pvar(int i)
{
    static const char *const class_word[] = { "",          "state",   "level",    "size",
                                              "part of 1", "highest", "lowest",   "counter",
                                              "sum",       "seconds", "something" };
    char name[TEXT] = "", desc[TEXT] = "";
    int name_len = TEXT, desc_len = TEXT, bind, class, continuous;
    MPI_T_enum e;
    MPI_T_pvar_get_info(i, name, &name_len, NULL, &class, NULL, &e, desc, &desc_len, &bind, NULL,
                        &continuous, NULL);
    printf("  %-30s %s%s%s\n  %-30s %s", name, class_word[class],
           continuous ? ", at any time" : ", while started",
           bind == MPI_T_BIND_MPI_COMM ? ", for each communicator" : "", "", desc);
    print_items(e);
    printf("\n");
}

static void print_event(int i)
{
    char name[TEXT] = "", desc[TEXT] = "";
    int name_len = TEXT, desc_len = TEXT;
    MPI_T_enum e;
    MPI_T_event_get_info(i, name, &name_len, NULL, NULL, NULL, NULL, &e, NULL, desc, &desc_len,
                         NULL);
    printf("  %-30s %s", name, desc);
    print_items(e);
    printf("\n");
}

// All of a kind, below the names of their categories.
static void print_all(int (*get)(int, int, int[]), void (*print)(int i))
{
    int n = 0, provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_category_get_num(&n);
    for (int c = 0; c < n; c++) {
        char name[TEXT] = "", desc[TEXT] = "";
        int name_len = TEXT, desc_len = TEXT, indices[LIST];
        for (int i = 0; i < LIST; i++) {
            indices[i] = -1;
        }
        MPI_T_category_get_info(c, name, &name_len, desc, &desc_len, NULL, NULL, NULL);
        get(c, LIST, indices);
        if (indices[0] >= 0) {
            printf("%s: %s\n", name, desc);
        }
        for (int i = 0; i < LIST && indices[i] >= 0; i++) {
            print(indices[i]);
        }
    }
    MPI_T_finalize();
}

void pli_tool_print_cvars(void)
{
    print_all(MPI_T_category_get_cvars, print_cvar);
}

void pli_tool_print_pvars(void)
{
    print_all(MPI_T_category_get_pvars, print_pvar);
}

void pli_tool_print_events(void)
{
    print_all(MPI_T_category_get_events, print_event);
}
