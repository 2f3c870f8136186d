// SPDX-License-Identifier: BSD-3-Clause
// Categories of MPI_T: what belongs together. They never change. [MPI-5.0 15.3.9]
#ifndef PLI_TOOL_TOOL_CATEGORY_H
#define PLI_TOOL_TOOL_CATEGORY_H

enum pli_tool_category {
    PLI_TOOL_ALL, // the others are below it
    PLI_TOOL_GENERAL,
    PLI_TOOL_TRANSPORT,
    PLI_TOOL_MESSAGE,
    PLI_TOOL_PROGRESS,
    PLI_TOOL_COLLECTIVE,
    PLI_TOOL_ONE_SIDED,
    PLI_TOOL_COMMUNICATOR,
    PLI_TOOL_MEMORY,
    PLI_TOOL_FAULT,
    PLI_TOOL_LAUNCH,
    PLI_TOOL_N_CATEGORY
};

int pli_tool_category_get_num(int *num);
int pli_tool_category_get_info(int index, char *name, int *name_len, char *desc, int *desc_len,
                               int *num_cvars, int *num_pvars, int *num_categories);
int pli_tool_category_get_num_events(int index, int *num);
int pli_tool_category_get_index(const char *name, int *index);
int pli_tool_category_get_cvars(int index, int len, int indices[]);
int pli_tool_category_get_pvars(int index, int len, int indices[]);
int pli_tool_category_get_events(int index, int len, int indices[]);
int pli_tool_category_get_categories(int index, int len, int indices[]);
int pli_tool_category_changed(int *update_number);

#endif
