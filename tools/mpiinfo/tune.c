// SPDX-License-Identifier: BSD-3-Clause
// Measures the collective algorithms on this host: mpiinfo starts itself as the ranks of small
// jobs, each of which forces one algorithm after the other and prints rules where another one than
// the usual choice is clearly faster.
#include "tune.h"

#include "base/clock.h"
#include "base/conf.h"
#include "coll/coll_kind.h"
#include "coll/coll_select.h"
#include "launcher/job/tune_file.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SECONDS = 50,   // for all jobs; the last may end a little later
    MAX_RANKS = 64, // largest job
    N_SIZE = 7,
    N_ALGO = 12,
    PIECES = 3,
    CALLS = 64, // between two looks at the clock
    AGAIN = 2   // times that a faster algorithm must prove itself
};

static const MPI_Count sizes[N_SIZE] = { 8, 64, 512, 4096, 32768, 262144, 1048576 };
static const double clearly = 0.9; // of the time of the usual choice

static const enum pli_coll_kind kinds[] = { PLI_COLL_BCAST,     PLI_COLL_GATHER,
                                            PLI_COLL_SCATTER,   PLI_COLL_REDUCE,
                                            PLI_COLL_ALLREDUCE, PLI_COLL_ALLGATHER,
                                            PLI_COLL_ALLTOALL };
enum { N_KIND = sizeof kinds / sizeof kinds[0] };

static char *from, *to;
static double begin;    // of this rank
static double now, end; // seconds from there, as all ranks have agreed; then nothing more begins

static double clock_s(void)
{
    return (double)pli_clock_ns() / 1e9;
}

static bool is_over(void)
{
    return now >= end;
}

static void call(enum pli_coll_kind kind, int size)
{
    MPI_Comm world = MPI_COMM_WORLD;
    if (kind == PLI_COLL_BCAST) {
        MPI_Bcast(to, size, MPI_BYTE, 0, world);
    } else if (kind == PLI_COLL_GATHER) {
        MPI_Gather(from, size, MPI_BYTE, to, size, MPI_BYTE, 0, world);
    } else if (kind == PLI_COLL_SCATTER) {
        MPI_Scatter(from, size, MPI_BYTE, to, size, MPI_BYTE, 0, world);
    } else if (kind == PLI_COLL_REDUCE) {
        MPI_Reduce(from, to, size / 8, MPI_DOUBLE, MPI_SUM, 0, world);
    } else if (kind == PLI_COLL_ALLREDUCE) {
        MPI_Allreduce(from, to, size / 8, MPI_DOUBLE, MPI_SUM, world);
    } else if (kind == PLI_COLL_ALLGATHER) {
        MPI_Allgather(from, size, MPI_BYTE, to, size, MPI_BYTE, world);
    } else {
        MPI_Alltoall(from, size, MPI_BYTE, to, size, MPI_BYTE, world);
    }
}

// Seconds for n calls, at the slowest rank. All ranks get the same number.
static double time_of(enum pli_coll_kind kind, int size, int n)
{
    double mine[2], slowest[2];
    MPI_Barrier(MPI_COMM_WORLD);
    mine[0] = clock_s();
    for (int i = 0; i < n; i++) {
        call(kind, size);
    }
    mine[1] = clock_s() - begin;
    mine[0] = mine[1] + begin - mine[0];
    MPI_Allreduce(mine, slowest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    now = slowest[1];
    return slowest[0];
}

// Seconds per call, of n calls or as many as there is time for; many when there is none. What
// bounds it is the time: where other work has the cores one call may take a thousand times as long
// as the one before.
static double measure_piece(enum pli_coll_kind kind, int size, int n, double most)
{
    int done = 0;
    double sum = 0;
    while (done < n && sum < most && !is_over()) {
        int some = n - done < CALLS ? n - done : CALLS;
        sum += time_of(kind, size, some);
        done += some;
    }
    return done > 0 ? sum / done : 1e9;
}

// Seconds per call with this algorithm, NULL: the usual choice; of the fastest piece. All ranks get
// the same number. Which one was taken is told: not all can do everything.
static double measure(enum pli_coll_kind kind, int size, const struct pli_coll_algo *row,
                      double seconds, const struct pli_coll_algo **taken)
{
    double best = 1e9, most = seconds / PIECES;
    pli_coll_select_force((int)kind, row);
    measure_piece(kind, size, 3, most); // boards and windows are made
    *taken = pli_coll_select_taken((int)kind);
    double one = measure_piece(kind, size, 2, most);
    int n = one > most ? 1 : (int)(most / (one > 1e-7 ? one : 1e-7)) + 1;
    for (int i = 0; i < PIECES && (row == NULL || *taken == row); i++) {
        double t = measure_piece(kind, size, n, 2 * most);
        best = t < best ? t : best;
    }
    pli_coll_select_force((int)kind, NULL);
    return best;
}

static int n_algo(enum pli_coll_kind kind)
{
    int n = 0;
    while (n < N_ALGO && pli_coll_select_row((int)kind, n) != NULL) {
        n++;
    }
    return n;
}

// Print a rule for this size if an algorithm is clearly faster than what is usual there. A size
// stands for those that are nearer to it than to the next one measured.
static void tune_size(enum pli_coll_kind kind, int i, int least_rank, double seconds)
{
    int size = (int)sizes[i], n_rank, me;
    const struct pli_coll_algo *usual, *taken, *row = NULL;
    double best = measure(kind, size, NULL, seconds, &usual) * clearly;
    for (int k = 0; k < n_algo(kind); k++) {
        const struct pli_coll_algo *r = pli_coll_select_row((int)kind, k);
        double t = r != usual ? measure(kind, size, r, seconds, &taken) : 1e9;
        row = t < best ? r : row;
        best = t < best ? t : best;
    }
    for (int k = 0; k < AGAIN && row != NULL; k++) { // a moment of other work is no reason
        double before = measure(kind, size, NULL, seconds, &taken);
        row = measure(kind, size, row, seconds, &taken) < before * clearly ? row : NULL;
    }
    if (is_over()) { // not all were measured
        return;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n_rank);
    if (me == 0 && row != NULL) {
        long long low = i > 0 ? (long long)(sizes[i - 1] * 3 + 1) : 0;
        printf("%s %d-%d %lld-%lld %s\n", pli_coll_kind_info[kind].name, least_rank, n_rank, low,
               (long long)sizes[i] * 3, row->name);
    }
}

// Rules hold for all counts of ranks above that of the next smaller job.
bool pli_tune_rank(const char *text)
{
    int n, n_run = 0, least = 2;
    double seconds = 0;
    if (sscanf(text, "%lf,%d", &seconds, &least) != 2) {
        fputs("mpiinfo: --tune-rank is for mpiinfo --tune alone\n", stderr);
        return false;
    }
    begin = clock_s(); // starting is part of it
    end = seconds;
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    from = calloc((size_t)n, (size_t)sizes[N_SIZE - 1]);
    to = calloc((size_t)n, (size_t)sizes[N_SIZE - 1]);
    if (from == NULL || to == NULL) {
        fputs("mpiinfo: there is no memory to measure with\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int k = 0; k < N_KIND; k++) {
        n_run += (n_algo(kinds[k]) + 1) * N_SIZE;
    }
    for (int k = 0; k < N_KIND; k++) {
        for (int i = 0; i < N_SIZE && !is_over(); i++) {
            tune_size(kinds[k], i, least, seconds / n_run / 2);
        }
    }
    free(from);
    free(to);
    MPI_Finalize();
    return true;
}

static _Noreturn void become(const char *folder, const char *self, int n, int least, double seconds)
{
    char mpiexec[PATH_MAX + 16], ranks[16], time[32];
    snprintf(mpiexec, sizeof mpiexec, "%s/mpiexec", folder);
    snprintf(ranks, sizeof ranks, "%d", n);
    snprintf(time, sizeof time, "%.1f,%d", seconds, least);
    unsetenv("PLIANT_COLL");
    setenv("PLIANT_TUNE_FILE", "none", 1);
    execl(mpiexec, mpiexec, "-n", ranks, self, "--tune-rank", time, (char *)NULL);
    fprintf(stderr, "mpiinfo: cannot run %s: %s\n", mpiexec, strerror(errno));
    _exit(127);
}

// Run a job of n ranks and copy the rules that it prints.
static bool run_job(int n, int least, double seconds, FILE *out)
{
    char self[PATH_MAX], folder[PATH_MAX], line[160];
    int pipes[2], status = 0;
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len <= 0 || pipe(pipes) != 0) {
        perror("mpiinfo");
        return false;
    }
    self[len] = '\0';
    snprintf(folder, sizeof folder, "%s", self);
    *strrchr(folder, '/') = '\0';
    pid_t pid = fork();
    if (pid == 0) {
        dup2(pipes[1], STDOUT_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        become(folder, self, n, least, seconds);
    }
    close(pipes[1]);
    FILE *in = pid > 0 ? fdopen(pipes[0], "r") : NULL;
    while (in != NULL && fgets(line, sizeof line, in) != NULL) {
        fputs(line, out);
    }
    if (in != NULL) {
        fclose(in);
    } else {
        close(pipes[0]);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        fprintf(stderr, "mpiinfo: the job of %d ranks that measures failed; nothing is written\n",
                n);
        return false;
    }
    return true;
}

bool pli_tune_host(void)
{
    char path[PATH_MAX], *text = NULL;
    size_t size = 0;
    pli_conf_load();
    if (!pli_tune_file_path(path, sizeof path)) {
        fputs("mpiinfo: there is no place for the table: set PLIANT_TUNE_FILE to a file, or HOME\n",
              stderr);
        return false;
    }
    int cores = pli_tune_file_cores(), all[3] = { 2, cores, 2 * cores }, n = 0;
    for (int i = 0; i < 3; i++) { // each once, and ascending
        if (all[i] <= MAX_RANKS && (n == 0 || all[i] > all[n - 1])) {
            all[n++] = all[i];
        }
    }
    FILE *rules = open_memstream(&text, &size);
    if (rules == NULL) {
        perror("mpiinfo");
        return false;
    }
    bool is_good = true;
    begin = clock_s();
    for (int i = 0; i < n && is_good; i++) { // each has its part of the time that is left
        double seconds = (begin + SECONDS - clock_s()) / (n - i);
        printf("measuring with %d ranks, %.0f s\n", all[i], seconds);
        fflush(stdout);
        is_good = run_job(all[i], i == 0 ? 2 : all[i - 1] + 1, seconds, rules);
    }
    is_good = fclose(rules) == 0 && is_good && pli_tune_file_write(path, text);
    if (is_good) {
        int n_line = 0;
        for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) {
            n_line++;
        }
        printf("%d rules differ from what is usual; they are in %s, and mpiexec uses them from now "
               "on\n",
               n_line, path);
    }
    free(text);
    return is_good;
}
