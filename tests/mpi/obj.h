// SPDX-License-Identifier: BSD-3-Clause
// Shared by the tests of objects: the code, class and text of a call that must fail.
#ifndef PLI_TESTS_MPI_OBJ_H
#define PLI_TESTS_MPI_OBJ_H

#include "t.h"

#include <mpi.h>
#include <stdbool.h>
#include <string.h>

// The call must return an error of the class, and its text name the function and hold the piece.
#define T_REFUSED(call, want_class, piece) t_refused(__LINE__, #call, (call), (want_class), (piece))

// With a handle that was freed. Another rank of the process may have been given the same one since,
// and the call would then do something to its object.
#define T_REFUSED_FREED(call, want_class, piece)                                                   \
    do {                                                                                           \
        if (!T_IS_ENDPOINT) {                                                                      \
            T_REFUSED(call, want_class, piece);                                                    \
        }                                                                                          \
    } while (0)

// Where ranks are endpoints a communicator is named with the rank of the one that speaks; the rest
// of the sentence is the same.
static inline void t_drop_endpoint(char *text)
{
    char *at = T_IS_ENDPOINT ? strstr(text, " (endpoint rank ") : NULL;
    char *end = at != NULL ? strchr(at, ')') : NULL;
    if (end != NULL) {
        memmove(at, end + 1, strlen(end + 1) + 1);
    }
}

static inline void t_refused(int line, const char *call, int code, int want, const char *piece)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int class = -1, len = -1;
    size_t name = strcspn(call, "(");
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &len);
    bool is_whole = len == (int)strlen(text);
    t_drop_endpoint(text);
    if (class != want || strncmp(text, call, name) != 0 || strstr(text, piece) == NULL ||
        !is_whole) {
        fprintf(stderr, "line %d: %s gave class %d (wanted %d), \"%s\" (wanted \"%s\")\n", line,
                call, class, want, text, piece);
        t_failed++;
    }
}

// The call must succeed.
#define T_MPI(call) T_EQ((call), MPI_SUCCESS)

static inline void t_start(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

// All ranks of this job: the world, or the part of it in this client of IMPI. To be freed.
static inline MPI_Comm t_home(void)
{
    MPI_Comm home;
    int *color, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, IMPI_CLIENT_COLOR, &color, &flag);
    MPI_Comm_split(MPI_COMM_WORLD, *color, 0, &home);
    return home;
}

static inline int t_end(void)
{
    MPI_Finalize();
    return t_status();
}

#endif
