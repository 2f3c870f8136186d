// SPDX-License-Identifier: BSD-3-Clause
// A table has one writer, also between PID namespaces, where the number of the writer is that of
// another process here, or no process's; and a writer that dies leaves the table to the next.
#include "boot/node_lock.h"

#include "t.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct shared {
    _Alignas(8) unsigned char owner[PLI_NODE_LOCK_SIZE];
    _Atomic int is_done; // the writer is about to drop it
} * shared;

// In a process of a namespace of its own: take the table, say so, wait for a byte.
static void write_table(int told, int go, bool is_leaving)
{
    char byte = 0;
    pli_node_lock_take(shared->owner);
    T_MUST(write(told, &byte, 1) == 1);
    if (is_leaving) {
        _exit(0);
    }
    T_MUST(read(go, &byte, 1) == 1);
    shared->is_done = 1;
    pli_node_lock_drop(shared->owner);
    _exit(0);
}

// A thread of this process, in its namespace, waits until the other has dropped the table: is_done
// is its witness.
static void *wait_for_table(void *was_done)
{
    pli_node_lock_take(shared->owner);
    *(int *)was_done = shared->is_done;
    pli_node_lock_drop(shared->owner);
    return NULL;
}

// In a child: make the writer, as the second process of a new namespace if that is asked for.
static void make_writer(int told, int go, bool is_apart, bool is_leaving)
{
    int status;
    if (is_apart && unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) {
        _exit(77);
    }
    pid_t first = is_apart ? fork() : 0;
    if (is_apart && first == 0) {
        alarm(120);
        pause();
        _exit(0);
    }
    pid_t writer = fork();
    T_MUST(writer >= 0);
    if (writer == 0) {
        write_table(told, go, is_leaving);
    }
    T_MUST(waitpid(writer, &status, 0) == writer);
    if (is_apart) {
        kill(first, SIGKILL);
        waitpid(first, NULL, 0);
    }
    _exit(status == 0 ? 0 : 1);
}

// False: there can be no namespaces here.
static bool has_one_writer(bool is_apart, bool is_leaving)
{
    int told[2], go[2], status, was_done = -1;
    char byte = 0;
    T_MUST(pipe2(told, O_CLOEXEC) == 0 && pipe2(go, O_CLOEXEC) == 0);
    shared->is_done = 0;
    pid_t maker = fork();
    T_MUST(maker >= 0);
    if (maker == 0) {
        make_writer(told[1], go[0], is_apart, is_leaving);
    }
    close(told[1]);
    bool is_taken = read(told[0], &byte, 1) == 1;
    if (is_taken && is_leaving) {
        wait_for_table(&was_done); // a test that hangs here has failed
    } else if (is_taken) {
        pthread_t other;
        T_MUST(pthread_create(&other, NULL, wait_for_table, &was_done) == 0);
        poll(NULL, 0, 300); // long enough to be wrong
        T_MUST(write(go[1], &byte, 1) == 1);
        T_MUST(pthread_join(other, NULL) == 0);
        T_EQ(was_done, 1);
    }
    T_MUST(waitpid(maker, &status, 0) == maker);
    T_OK(is_taken ? status == 0 : WIFEXITED(status) && WEXITSTATUS(status) == 77);
    close(told[0]);
    close(go[0]);
    close(go[1]);
    return is_taken;
}

int main(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    T_MUST(shared != MAP_FAILED);
    pli_node_lock_init(shared->owner);
    T_OK(has_one_writer(false, false));
    T_OK(has_one_writer(false, true));
    if (!has_one_writer(true, false)) {
        printf("no PID namespaces may be made here\n");
        return t_failed == 0 ? 77 : 1;
    }
    T_OK(has_one_writer(true, true));
    return t_status();
}
