// SPDX-License-Identifier: BSD-3-Clause
// A sorted linked list whose nodes lie wherever the thread that made them is. All threads insert at
// once: each node has a lock, and a walk holds the lock of the node it stands at until it has that
// of the next, so no thread overtakes another.
//   upcc -O2 list.upc -o list && upcrun -n 4 ./list
#include <stdio.h>
#include <upc.h>

typedef struct node {
    int value;
    upc_lock_t *lock; // guards next
    shared struct node *next;
} node_t;

enum { PER_THREAD = 100, PRIME = 10007 };
shared node_t *shared head; // a node without a value before all others

static shared node_t *make_node(int value)
{
    shared node_t *node = upc_alloc(sizeof(node_t));
    node->value = value;
    node->lock = upc_global_lock_alloc();
    node->next = NULL;
    return node;
}

static void insert(int value)
{
    shared node_t *made = make_node(value), *at = head;
    upc_lock(at->lock);
    for (shared node_t *next = at->next; next && next->value < value; next = at->next) {
        upc_lock(next->lock);
        upc_unlock(at->lock);
        at = next;
    }
    made->next = at->next;
    at->next = made;
    upc_unlock(at->lock);
}

// Different for every i below PRIME, and in no order.
static int value_of(int i)
{
    return (int)((i + 1) * 5003L % PRIME);
}

static int check(void)
{
    long sum = 0, want = 0;
    int n = 0, last = -1, homes = 0;
    char seen[THREADS];
    for (int t = 0; t < THREADS; t++) {
        seen[t] = 0;
    }
    for (shared node_t *at = head->next; at; at = at->next, n++) {
        if (at->value <= last) {
            return 0;
        }
        last = at->value;
        sum += last;
        homes += !seen[upc_threadof(at)];
        seen[upc_threadof(at)] = 1;
    }
    for (int i = 0; i < PER_THREAD * THREADS; i++) {
        want += value_of(i);
    }
    return n == PER_THREAD * THREADS && sum == want && homes == THREADS;
}

static void free_list(void)
{
    for (shared node_t *at = head, *next; at; at = next) {
        next = at->next;
        upc_lock_free(at->lock);
        upc_free(at);
    }
}

int main(void)
{
    if (PER_THREAD * THREADS >= PRIME) {
        fprintf(stderr, "list: at most %d threads\n", (PRIME - 1) / PER_THREAD);
        return 2;
    }
    if (MYTHREAD == 0) {
        head = make_node(-1);
    }
    upc_barrier;
    for (int i = 0; i < PER_THREAD; i++) {
        insert(value_of(MYTHREAD + i * THREADS));
    }
    upc_barrier;
    int right = check();
    upc_barrier;
    if (MYTHREAD == 0) {
        free_list();
        printf("%d threads, %d nodes in order: %s\n", THREADS, PER_THREAD * THREADS,
               right ? "as it should be" : "WRONG");
    }
    return !right;
}
