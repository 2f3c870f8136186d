// SPDX-License-Identifier: BSD-3-Clause
// Begins and ends the use of MPI_T.
#include "tool/tool_init.h"

#include "base/conf.h"
#include "msg/process.h"
#include "msg/statistics.h"
#include "tool/tool.h"
#include "tool/tool_cvar.h"
#include "tool/tool_event.h"
#include "tool/tool_pvar.h"

// Threads of a tool look at what the threads of the program change: locks are needed unless the
// tool promises to call while no other thread does. They can be asked for until MPI is initialised.
static int level_for(int required)
{
    if (required != MPI_THREAD_MULTIPLE || pli_process_has_threads()) {
        return required;
    }
    if (pli_process_is_open()) {
        return MPI_THREAD_SERIALIZED;
    }
    pli_process_lock();
    return required;
}

int pli_tool_init(int required, int *provided)
{
    if (required != MPI_THREAD_SINGLE && required != MPI_THREAD_FUNNELED &&
        required != MPI_THREAD_SERIALIZED && required != MPI_THREAD_MULTIPLE) {
        return MPI_T_ERR_INVALID;
    }
    pli_tool_lock();
    if (pli_tool_count(1) == 1) {
        pli_conf_load();
        pli_statistics_hook();
        pli_tool_cvar_open();
        pli_tool_pvar_open();
        pli_tool_event_open();
    }
    pli_tool_put(provided, level_for(required));
    pli_tool_unlock();
    return MPI_SUCCESS;
}

int pli_tool_init_end(void)
{
    int code = pli_tool_check();
    if (code != MPI_SUCCESS) {
        return code;
    }
    pli_tool_event_drain();
    pli_tool_lock();
    if (pli_tool_count(-1) == 0) { // what was not freed can no more be used
        pli_tool_cvar_close();
        pli_tool_pvar_close();
        pli_tool_event_close();
    }
    pli_tool_unlock();
    return MPI_SUCCESS;
}
