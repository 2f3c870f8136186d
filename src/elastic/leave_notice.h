// SPDX-License-Identifier: BSD-3-Clause
// Notice for ranks that are to leave.
#ifndef PLI_ELASTIC_LEAVE_NOTICE_H
#define PLI_ELASTIC_LEAVE_NOTICE_H

#include "base/err.h"

// MPIX_World_leaving: whether this rank is no member of the newest version of the world any more.
enum pli_err pli_leave_notice_notice(int *flag_out);

#endif
