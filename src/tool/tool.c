// SPDX-License-Identifier: BSD-3-Clause
// The lock of MPI_T, the number of its users, and its strings.
#include "tool/tool.h"

#include <pthread.h>
#include <string.h>

static int n_user; // guarded by guard, as all that MPI_T keeps
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

void pli_tool_lock(void)
{
    pthread_mutex_lock(&guard);
}

void pli_tool_unlock(void)
{
    pthread_mutex_unlock(&guard);
}

int pli_tool_count(int more)
{
    n_user += more;
    return n_user;
}

int pli_tool_check(void)
{
    pli_tool_lock();
    bool is_open = n_user > 0;
    pli_tool_unlock();
    return is_open ? MPI_SUCCESS : MPI_T_ERR_NOT_INITIALIZED;
}

void pli_tool_text(const char *text, char *to, int *len)
{
    if (len == NULL) {
        return;
    }
    size_t n = strlen(text);
    if (to != NULL && *len > 0) {
        size_t room = (size_t)*len - 1, copied = n < room ? n : room;
        memcpy(to, text, copied);
        to[copied] = '\0';
    }
    *len = (int)n + 1;
}
