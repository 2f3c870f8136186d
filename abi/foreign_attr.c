// SPDX-License-Identifier: BSD-3-Clause
// Attributes that MPI itself sets: some of their values are constants that differ.
#include "foreign_calls.h"

#include <stddef.h>

// The place of a value that the program is given the address of. Guarded by nothing: all writers
// of a place write what is there already, but for the last two.
enum place { HOST, IO, LAST_CODE, FLAVOR, MODEL = FLAVOR + 8, N_PLACE = MODEL + 4 };
static int values[N_PLACE];

static void put(void *attribute_val, int place, int value)
{
    values[place] = value;
    *(int **)attribute_val = &values[place];
}

int pli_foreign_attr_comm(F_Comm comm, int keyval, void *attribute_val, int *flag)
{
    int key = pli_foreign_keyval_in(keyval);
    int err = pli_std_MPI_Comm_get_attr(pli_foreign_comm_in(comm), key, attribute_val, flag);
    if (err != 0 || !*flag) {
        return err == 0 ? 0 : pli_foreign_error_out(err);
    }
    int value =
        key == MPI_HOST || key == MPI_IO || key == MPI_LASTUSEDCODE ? **(int **)attribute_val : 0;
    if (key == MPI_HOST || key == MPI_IO) {
        put(attribute_val, key == MPI_HOST ? HOST : IO, pli_foreign_rank_out(value));
    } else if (key == MPI_LASTUSEDCODE) {
        put(attribute_val, LAST_CODE,
            value <= MPI_ERR_LASTCODE ? F_MPI_ERR_LASTCODE : pli_foreign_error_out(value));
    }
    return 0;
}

// Windows of one flavor have one place, so that the addresses that were given out stay right.
int pli_foreign_attr_win(F_Win win, int win_keyval, void *attribute_val, int *flag)
{
    int key = pli_foreign_keyval_in(win_keyval);
    int err = pli_std_MPI_Win_get_attr(pli_foreign_win_in(win), key, attribute_val, flag);
    if (err != 0 || !*flag) {
        return err == 0 ? 0 : pli_foreign_error_out(err);
    }
    if (key == MPI_WIN_CREATE_FLAVOR) {
        int value = pli_foreign_flavor_out(**(int **)attribute_val);
        put(attribute_val, FLAVOR + (value & 7), value);
    } else if (key == MPI_WIN_MODEL) {
        int value = pli_foreign_model_out(**(int **)attribute_val);
        put(attribute_val, MODEL + (value & 3), value);
    }
    return 0;
}
