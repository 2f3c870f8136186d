// SPDX-License-Identifier: BSD-3-Clause
// Which communicators belong to a session.
#ifndef PLI_OBJ_SESSION_COMMS_H
#define PLI_OBJ_SESSION_COMMS_H

struct pli_comm;
struct pli_session;

// A communicator of the session begins or ends. Context: any thread; nothing for NULL.
void pli_session_comms_add(struct pli_session *s, struct pli_comm *c);
void pli_session_comms_remove(struct pli_session *s, struct pli_comm *c);

// Communicators whose handle the user holds and did not free; *first_out, if there is one, with a
// reference. Context: any thread.
int pli_session_comms_count(struct pli_session *s, struct pli_comm **first_out);

#endif
