// SPDX-License-Identifier: BSD-3-Clause
// The reason of an error can be saved while other calls note theirs, and be repeated afterwards.
#include "base/err.h"

#include "t.h"

#include <string.h>

int main(void)
{
    struct pli_fail_saved s;
    int code = -1;
    pli_fail_save(&s, pli_fail(PLI_ERR_RANK, "rank %d is not there", 7));
    T_OK(strcmp(pli_fail_take(NULL), "") == 0);
    pli_fail(PLI_ERR_OTHER, "another reason");
    T_EQ(pli_fail_repeat(&s), PLI_ERR_RANK);
    T_OK(strcmp(pli_fail_take(&code), "rank 7 is not there") == 0);
    T_EQ(code, 0);

    pli_fail_save(&s, pli_fail_user(42, "a callback"));
    pli_fail(PLI_ERR_OTHER, "another reason");
    T_EQ(pli_fail_repeat(&s), PLI_ERR_USER);
    T_OK(strcmp(pli_fail_take(&code), "a callback") == 0);
    T_EQ(code, 42);

    pli_fail(PLI_ERR_OTHER, "of before");
    pli_fail_save(&s, PLI_OK);
    T_EQ(pli_fail_repeat(&s), PLI_OK);
    T_OK(strcmp(pli_fail_take(NULL), "of before") == 0); // where nothing failed nothing is noted
    return t_status();
}
