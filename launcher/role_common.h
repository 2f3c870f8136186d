// SPDX-License-Identifier: BSD-3-Clause
// Slots of the role table that two of the three roles fill alike; job/role.h says what each is for.
#ifndef PLI_LAUNCHER_ROLE_COMMON_H
#define PLI_LAUNCHER_ROLE_COMMON_H

#include "launcher/job/role.h"

bool pli_role_has_begun(void);
void pli_role_all_started(const struct pli_job *job);
void pli_role_cannot_go_on(int status);
bool pli_role_watches_host(const struct pli_job *job, uint32_t host);
bool pli_role_take_failure(struct pli_job *job, const struct pli_rank_failure *c);
void pli_role_send_news(const struct pli_news *n);
bool pli_role_forward_request(uint16_t kind, uint32_t id, const void *body, size_t len);
void pli_role_drop_request(uint32_t id);
void pli_role_answer_request(uint32_t host, uint32_t id, const struct pli_answer *answer);
bool pli_role_collect_status(const struct pli_job *job, const struct pli_ask_look *look,
                             void *token, struct pli_answer *a);
void pli_role_announce_world(const struct pli_world_version *w);
bool pli_role_may_work(const struct pli_job *job, const struct pli_node_row *r);
bool pli_role_open_agent_stderr(int err[2]);
void pli_role_agent_said(const char *text, size_t len);
void pli_role_agent_message(char word, const void *data, size_t len);
void pli_role_agent_over(void);
void pli_role_replace_failed(struct pli_job *job);

#endif
