// SPDX-License-Identifier: BSD-3-Clause
// The table of categories; each variable and event says which it is in.
#include "tool/tool_category.h"

#include "tool/tool.h"
#include "tool/tool_cvar.h"
#include "tool/tool_event.h"
#include "tool/tool_pvar.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name, *about;
} table[PLI_TOOL_N_CATEGORY] = {
    [PLI_TOOL_ALL] = { "pliant", "all categories of Pliant MPI" },
    [PLI_TOOL_GENERAL] = { "general", "the library as a whole" },
    [PLI_TOOL_TRANSPORT] = { "transport", "what carries messages between processes" },
    [PLI_TOOL_MESSAGE] = { "message", "messages by protocol, and queues of those that wait" },
    [PLI_TOOL_PROGRESS] = { "progress", "how threads wait: looking, giving way, sleeping" },
    [PLI_TOOL_COLLECTIVE] = { "collective", "collective operations and their algorithms" },
    [PLI_TOOL_ONE_SIDED] = { "one_sided", "one-sided communication" },
    [PLI_TOOL_COMMUNICATOR] = { "communicator", "hints and traffic of one communicator" },
    [PLI_TOOL_MEMORY] = { "memory", "memory and objects in use" },
    [PLI_TOOL_FAULT] = { "fault", "failures, changes of the world's size, checkpoints" },
    [PLI_TOOL_LAUNCH] = { "launch", "how the job was started, and tools besides the library" },
};

// The category of the i-th of a kind; -1: there are no more.
typedef int (*category_of_fn)(int i);

static int parent_of(int i)
{
    return i >= PLI_TOOL_N_CATEGORY ? -1 : i == PLI_TOOL_ALL ? PLI_TOOL_N_CATEGORY : PLI_TOOL_ALL;
}

// How many of a kind are in a category; the first `len` are listed.
static int list(category_of_fn of, int index, int len, int indices[])
{
    int n = 0, category;
    for (int i = 0; (category = of(i)) >= 0; i++) {
        if (category == index) {
            if (n < len) {
                indices[n] = i;
            }
            n++;
        }
    }
    return n;
}

static int check(int index)
{
    int code = pli_tool_check();
    return code != MPI_SUCCESS                         ? code
           : index < 0 || index >= PLI_TOOL_N_CATEGORY ? MPI_T_ERR_INVALID_INDEX
                                                       : MPI_SUCCESS;
}

static int get(category_of_fn of, int index, int len, int indices[])
{
    int code = check(index);
    if (code != MPI_SUCCESS) {
        return code;
    }
    if (len < 0 || (len > 0 && indices == NULL)) {
        return MPI_T_ERR_INVALID;
    }
    list(of, index, len, indices);
    return MPI_SUCCESS;
}

int pli_tool_category_get_num(int *num)
{
    int code = pli_tool_check();
    if (code == MPI_SUCCESS && num == NULL) {
        return MPI_T_ERR_INVALID;
    }
    if (code == MPI_SUCCESS) {
        *num = PLI_TOOL_N_CATEGORY;
    }
    return code;
}

int pli_tool_category_get_info(int index, char *name, int *name_len, char *desc, int *desc_len,
                               int *num_cvars, int *num_pvars, int *num_categories)
{
    int code = check(index);
    if (code != MPI_SUCCESS) {
        return code;
    }
    pli_tool_text(table[index].name, name, name_len);
    pli_tool_text(table[index].about, desc, desc_len);
    pli_tool_put(num_cvars, list(pli_tool_cvar_category, index, 0, NULL));
    pli_tool_put(num_pvars, list(pli_tool_pvar_category, index, 0, NULL));
    pli_tool_put(num_categories, list(parent_of, index, 0, NULL));
    return MPI_SUCCESS;
}

int pli_tool_category_get_num_events(int index, int *num)
{
    int code = check(index);
    if (code == MPI_SUCCESS) {
        pli_tool_put(num, list(pli_tool_event_category, index, 0, NULL));
    }
    return code;
}

int pli_tool_category_get_index(const char *name, int *index)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS) {
        return code;
    }
    if (name == NULL || index == NULL) {
        return MPI_T_ERR_INVALID;
    }
    for (int i = 0; i < PLI_TOOL_N_CATEGORY; i++) {
        if (strcmp(table[i].name, name) == 0) {
            *index = i;
            return MPI_SUCCESS;
        }
    }
    return MPI_T_ERR_INVALID_NAME;
}

int pli_tool_category_get_cvars(int index, int len, int indices[])
{
    return get(pli_tool_cvar_category, index, len, indices);
}

int pli_tool_category_get_pvars(int index, int len, int indices[])
{
    return get(pli_tool_pvar_category, index, len, indices);
}

int pli_tool_category_get_events(int index, int len, int indices[])
{
    return get(pli_tool_event_category, index, len, indices);
}

int pli_tool_category_get_categories(int index, int len, int indices[])
{
    return get(parent_of, index, len, indices);
}

int pli_tool_category_changed(int *update_number)
{
    int code = pli_tool_check();
    if (code == MPI_SUCCESS && update_number == NULL) {
        return MPI_T_ERR_INVALID;
    }
    if (code == MPI_SUCCESS) {
        *update_number = 0; // the tables are constant
    }
    return code;
}
