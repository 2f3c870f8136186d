// SPDX-License-Identifier: BSD-3-Clause
// All ranks put themselves on the processor of rank 0 again and again, free themselves, and
// exchange messages in pairs. At the end their affinity is what it was. "bound": they stay bound.
// "pinned": a second thread sees when the library keeps the first one, which sleeps, on a
// processor, and binds it to another one, where it has to stay. "forks": a signal handler forks
// when it is kept so, and the child is not kept there.
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 100, MESSAGES = 20, FORKS = 20, TICK_US = 500 };

static cpu_set_t before;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static cpu_set_t pin; // guarded, as are the next ones
static bool is_pinned, is_over;
static int n_pinned, n_lost;

static cpu_set_t only(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return one;
}

static void bind_to(int cpu)
{
    cpu_set_t one = only(cpu);
    sched_setaffinity(0, sizeof one, &one);
}

// One of those that were allowed before, and are not now.
static int other_than(const cpu_set_t *now)
{
    int cpu = 0;
    while (cpu < CPU_SETSIZE - 1 && (!CPU_ISSET(cpu, &before) || CPU_ISSET(cpu, now))) {
        cpu++;
    }
    return cpu;
}

static void *pin_sleeper(void *tid)
{
    for (bool is_done = false; !is_done; usleep(20)) {
        cpu_set_t now;
        pthread_mutex_lock(&guard);
        is_done = is_over;
        if (!is_pinned && sched_getaffinity(*(pid_t *)tid, sizeof now, &now) == 0 &&
            CPU_COUNT(&now) == 1) {
            pin = only(other_than(&now));
            is_pinned = sched_setaffinity(*(pid_t *)tid, sizeof pin, &pin) == 0;
        }
        pthread_mutex_unlock(&guard);
    }
    return NULL;
}

static void look_at_pin(void)
{
    cpu_set_t now;
    pthread_mutex_lock(&guard);
    if (is_pinned) {
        sched_getaffinity(0, sizeof now, &now);
        n_pinned++;
        n_lost += !CPU_EQUAL(&now, &pin);
        sched_setaffinity(0, sizeof before, &before);
        is_pinned = false;
    }
    pthread_mutex_unlock(&guard);
}

static volatile sig_atomic_t n_forked, n_kept;

static bool is_kept(void)
{
    cpu_set_t now;
    return sched_getaffinity(0, sizeof now, &now) == 0 && CPU_COUNT(&now) == 1;
}

static void fork_sleeper(int signal)
{
    (void)signal;
    int status = 0, was = errno;
    if (n_forked < FORKS && is_kept()) {
        pid_t child = fork();
        if (child == 0) {
            _exit(is_kept());
        }
        if (child > 0 && waitpid(child, &status, 0) == child) {
            n_forked = n_forked + 1;
            n_kept = n_kept + (status != 0);
        }
    }
    errno = was;
}

static void tick(long us)
{
    struct sigaction action = { .sa_handler = fork_sleeper, .sa_flags = SA_RESTART };
    struct itimerval often = { { 0, us }, { 0, us } };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

static void meet(int me, int cpu, bool is_bound)
{
    sigset_t ticks; // while the program itself is bound no child is tried
    sigemptyset(&ticks);
    sigaddset(&ticks, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &ticks, NULL);
    pthread_mutex_lock(&guard);
    if (me > 0 || is_bound) {
        bind_to(cpu);
    }
    if (!is_bound) {
        sched_setaffinity(0, sizeof before, &before);
    }
    pthread_mutex_unlock(&guard);
    pthread_sigmask(SIG_UNBLOCK, &ticks, NULL);
}

// What is wrong with the affinity at the end, NULL: nothing.
static const char *judge(bool is_bound)
{
    cpu_set_t after;
    sched_getaffinity(0, sizeof after, &after);
    if (!is_bound && !CPU_EQUAL(&before, &after)) {
        return "its affinity has changed";
    }
    if (is_bound && CPU_COUNT(&after) != 1) {
        return "it is not bound any more";
    }
    if (n_kept > 0) {
        return "its children are bound";
    }
    // A change just before it falls asleep cannot be told from none. On a busy machine it sleeps so
    // seldom that few are seen.
    return n_lost > 2 + n_pinned / 4 ? "what another thread bound it to was lost" : NULL;
}

int main(int argc, char **argv)
{
    int me, thread_level;
    bool is_bound = argc > 1 && strcmp(argv[1], "bound") == 0;
    bool has_forks = argc > 1 && strcmp(argv[1], "forks") == 0;
    bool has_second = argc > 1 && strcmp(argv[1], "pinned") == 0;
    pid_t tid = gettid();
    pthread_t second;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &thread_level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    sched_getaffinity(0, sizeof before, &before);
    if (has_second) {
        pthread_create(&second, NULL, pin_sleeper, &tid);
    }
    if (has_forks) {
        tick(TICK_US);
    }
    for (int i = 0; i < ROUNDS; i++) {
        int cpu = sched_getcpu();
        MPI_Bcast(&cpu, 1, MPI_INT, 0, MPI_COMM_WORLD);
        look_at_pin();
        meet(me, cpu, is_bound);
        for (int k = 0; k < MESSAGES; k++) {
            MPI_Sendrecv_replace(&cpu, 1, MPI_INT, me ^ 1, 0, me ^ 1, 0, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE);
            look_at_pin();
        }
    }
    if (has_second) {
        pthread_mutex_lock(&guard);
        is_over = true;
        pthread_mutex_unlock(&guard);
        pthread_join(second, NULL);
        look_at_pin();
    }
    if (has_forks) {
        tick(0);
        fprintf(stderr, "rank %d: %d of %d children bound\n", me, (int)n_kept, (int)n_forked);
    }
    const char *wrong = judge(is_bound);
    if (wrong != NULL) {
        printf("rank %d: %s\n", me, wrong);
    }
    if (has_second) {
        fprintf(stderr, "rank %d: lost %d of %d\n", me, n_lost, n_pinned);
    }
    MPI_Finalize();
    return 0;
}
