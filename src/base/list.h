// SPDX-License-Identifier: BSD-3-Clause
// Intrusive doubly linked list; the head is a node of its own.
#ifndef PLI_BASE_LIST_H
#define PLI_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct pli_list {
    struct pli_list *next, *prev;
};

// The object of type `type` whose field `field` is the node `ptr`.
#define PLI_CONTAINER(ptr, type, field) ((type *)((char *)(ptr)-offsetof(type, field)))

static inline void pli_list_init(struct pli_list *head)
{
    head->next = head->prev = head;
}

static inline bool pli_list_is_empty(const struct pli_list *head)
{
    return head->next == head;
}

static inline void pli_list_push(struct pli_list *head, struct pli_list *node) // at the end
{
    node->next = head;
    node->prev = head->prev;
    head->prev->next = node;
    head->prev = node;
}

static inline void pli_list_remove(struct pli_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->next = node->prev = node;
}

// Whether the node is in this list.
static inline bool pli_list_has(const struct pli_list *head, const struct pli_list *node)
{
    const struct pli_list *at = head->next;
    while (at != head && at != node) {
        at = at->next;
    }
    return at == node;
}

#endif
