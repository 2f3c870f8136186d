// SPDX-License-Identifier: BSD-3-Clause
// The transport between processes that share memory: mailboxes.
#ifndef PLI_MSG_MAILBOX_H
#define PLI_MSG_MAILBOX_H

struct pli_net_ops;

extern const struct pli_net_ops pli_mailbox_ops;

#endif
