// SPDX-License-Identifier: BSD-3-Clause
// The examples of the manual pages: the body of the C function behind "man:" and names of functions
// goes into their pages. The tests compile it.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void pli_examples_step(MPI_Comm comm);
void pli_examples_share_out(MPI_Comm from, MPI_Comm to);

// man: MPIX_World_version MPIX_Comm_world_at MPIX_Comm_world_version MPIX_World_leaving
int pli_examples_follow(MPI_Comm world)
{
    // Once in a step: has mpictl grown or shrunk the job? All ranks go on in the same version.
    int version, newest, agreed, leaving;
    MPI_Comm next;
    MPIX_Comm_world_version(world, &version);
    MPIX_World_version(&newest);
    MPI_Allreduce(&newest, &agreed, 1, MPI_INT, MPI_MIN, world);
    if (agreed > version) {
        agreed = version + 1; // one at a time
        MPIX_World_leaving(&leaving);
        MPIX_Comm_world_at(agreed, &next);   // MPI_COMM_NULL in a rank that is to leave
        pli_examples_share_out(world, next); // the old version still works
        if (leaving) {
            MPI_Finalize();
            return 0;
        }
        world = next;
        version = agreed;
    }
    pli_examples_step(world);
    return version;
}

// man: MPIX_World_next MPIX_Plan_create_block MPIX_Plan_execute MPIX_Plan_get_count MPIX_Plan_free
MPI_Comm pli_examples_next(MPI_Comm world, MPI_Count n, double **part)
{
    // Once in a step. world is MPI_COMM_NULL in a new process, which comes here first.
    MPI_Comm next;
    MPIX_World_next(&next, MPI_INFO_NULL);
    if (next != world) {
        int plan;
        MPI_Count had, has;
        MPIX_Plan_create_block(world, next, n, &plan);
        MPIX_Plan_get_count(plan, &had, &has);
        double *moved = malloc(sizeof *moved * (size_t)(has + 1));
        MPIX_Plan_execute(plan, *part, moved, MPI_DOUBLE);
        MPIX_Plan_free(&plan);
        free(*part);
        *part = moved;
    }
    return next; // MPI_COMM_NULL: this rank is to leave
}

// man: MPIX_World_get_added MPIX_World_get_leaving MPIX_World_get_failed
void pli_examples_who(void)
{
    MPI_Group added, leaving, failed;
    int n_added, n_leaving, n_failed;
    MPIX_World_get_added(&added);
    MPIX_World_get_leaving(&leaving);
    MPIX_World_get_failed(&failed);
    MPI_Group_size(added, &n_added);
    MPI_Group_size(leaving, &n_leaving);
    MPI_Group_size(failed, &n_failed);
    printf("%d are new, %d leave, %d have failed\n", n_added, n_leaving, n_failed);
    MPI_Group_free(&added);
    MPI_Group_free(&leaving);
    MPI_Group_free(&failed);
}

// man: MPIX_Plan_create_cyclic MPIX_Plan_get_global
void pli_examples_cyclic(MPI_Comm world, MPI_Comm next, const float *from, float *to)
{
    int plan;
    MPI_Count had, has, element;
    MPIX_Plan_create_cyclic(world, next, 1000, 16, &plan); // 1000 elements in blocks of 16
    MPIX_Plan_get_count(plan, &had, &has);
    MPIX_Plan_execute(plan, from, to, MPI_FLOAT);
    for (MPI_Count i = 0; i < has; i++) {
        MPIX_Plan_get_global(plan, i, &element);
        printf("element %lld is %g\n", (long long)element, to[i]);
    }
    MPIX_Plan_free(&plan);
}

// man: MPIX_Plan_create_irregular MPIX_Plan_get_missing
void pli_examples_parts(MPI_Comm world, MPI_Comm next, MPI_Count first, MPI_Count n,
                        const int *from, int *to)
{
    // This rank has n elements from `first` on, and is to have ten from 5 on and ten from 50 on.
    int plan, n_missing;
    MPI_Count want_first[2] = { 5, 50 }, want_n[2] = { 10, 10 }, at[8], len[8];
    MPIX_Plan_create_irregular(world, next, 1, &first, &n, 2, want_first, want_n, &plan);
    MPIX_Plan_execute(plan, from, to, MPI_INT);
    MPIX_Plan_get_missing(plan, 8, at, len, &n_missing);
    for (int i = 0; i < n_missing && i < 8; i++) {
        printf("%lld elements of the buffer were lost, from %lld on\n", (long long)len[i],
               (long long)at[i]);
    }
    MPIX_Plan_free(&plan);
}

// man: MPIX_World_resize MPIX_World_resize_with_info
void pli_examples_resize(MPI_Comm world)
{
    // mpiexec --elastic 1:8 -n 2 ./program
    MPI_Comm next;
    MPI_Info where;
    int version;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    if (MPIX_World_resize(world, 8) != MPI_SUCCESS) { // all ranks of world call it
        printf("we stay as many as we are\n");
    }
    MPI_Info_create(&where);
    MPI_Info_set(where, "host", "node7");
    MPIX_World_resize_with_info(world, 9, where); // one more, there
    MPI_Info_free(&where);
    MPIX_World_version(&version);
    MPIX_Comm_world_at(version, &next);
    pli_examples_share_out(world, next);
}

// man: MPIX_Comm_migrate
void pli_examples_migrate(MPI_Comm world)
{
    // mpiexec --movable --hosts a:2,b:2 ./program
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    if (MPIX_Comm_migrate(world, 3, "node7") != MPI_SUCCESS) { // all ranks of world call it
        printf("rank 3 stays where it is\n");
    }
}

// man: MPIX_Resized_world
void pli_examples_poll(void)
{
    // MPI_COMM_RESIZED_WORLD is *MPIX_Resized_world(): null until the world has changed.
    MPI_Comm now = MPI_COMM_WORLD;
    for (int step = 0; step < 1000; step++) {
        pli_examples_step(now);
        if (MPI_COMM_RESIZED_WORLD != MPI_COMM_NULL) {
            pli_examples_share_out(now, MPI_COMM_RESIZED_WORLD);
            now = MPI_COMM_RESIZED_WORLD;
            MPI_COMM_RESIZED_WORLD = MPI_COMM_NULL; // until the next resize
        }
    }
}

// man: MPI_Fork MPIX_Comm_parents MPIX_Comm_children MPIX_Comm_parents_at MPIX_Comm_children_at
void pli_examples_fork(void)
{
    int n, version;
    MPI_Comm twins;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int made = MPI_Fork(n); // every rank is cloned, with its memory
    if (made < 0) {
        printf("the world is as it was\n");
    } else if (made > 0) {
        pli_examples_step(MPI_COMM_PARENTS); // which is MPIX_Comm_parents()
    } else {
        pli_examples_step(MPI_COMM_CHILDREN); // which is MPIX_Comm_children()
    }
    MPIX_World_version(&version); // later, after other forks: those of this one
    (made > 0 ? MPIX_Comm_parents_at : MPIX_Comm_children_at)(version, &twins);
}

// man: MPIX_Fork_with_info
void pli_examples_fork_with_info(void)
{
    // mpiexec --hosts a:2,b:1,c:1 ./program
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "host", "b,c");
    int made = MPIX_Fork_with_info(2, info); // rank 0 has a clone on b, rank 1 one on c
    MPI_Info_free(&info);
    if (made < 0) {
        printf("the world is as it was\n");
    }
    pli_examples_step(MPI_COMM_WORLD);
}

// man: MPIX_Comm_revoke MPIX_Comm_agree MPIX_Comm_shrink MPIX_Comm_get_failed MPIX_Comm_is_revoked
MPI_Comm pli_examples_survive(MPI_Comm world)
{
    // mpiexec --on-failure=shrink -n 4 ./program
    MPI_Comm next = world;
    MPI_Group dead;
    int n, revoked;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    int good = MPI_Barrier(world) == MPI_SUCCESS;
    MPIX_Comm_is_revoked(world, &revoked);
    if (!good && !revoked) {
        MPIX_Comm_revoke(world); // the others get out of whatever they wait for
    }
    if (MPIX_Comm_agree(world, &good) != MPI_SUCCESS || !good) {
        MPIX_Comm_get_failed(world, &dead);
        MPI_Group_size(dead, &n);
        MPI_Group_free(&dead);
        MPIX_Comm_shrink(world, &next); // those who live
        printf("%d of us died\n", n);
    }
    return next;
}

// man: MPIX_Comm_ack_failed MPIX_Comm_failure_ack MPIX_Comm_failure_get_acked
int pli_examples_serve(MPI_Comm world)
{
    // A server goes on with the clients that live.
    int word, class, n;
    MPI_Group dead;
    int code = MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    if (class == MPIX_ERR_PROC_FAILED) {
        MPIX_Comm_failure_ack(world); // receives from anybody work again
        MPIX_Comm_failure_get_acked(world, &dead);
        MPI_Group_size(dead, &n);
        MPI_Group_free(&dead);
        MPIX_Comm_ack_failed(world, n, &n); // the same by the standard's newer name
    }
    return class;
}

// man: MPIX_Comm_iagree MPIX_Comm_ishrink
void pli_examples_later(MPI_Comm world)
{
    int good = 1;
    MPI_Comm next;
    MPI_Request req;
    MPIX_Comm_iagree(world, &good, &req);
    pli_examples_step(MPI_COMM_SELF); // meanwhile
    if (MPI_Wait(&req, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        MPIX_Comm_ishrink(world, &next, &req);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    }
}

// man: MPIX_Checkpoint
void pli_examples_checkpoint(void)
{
    // mpiexec --checkpoint-dir saved -n 4 ./program; later mpiexec --restart saved
    int restarted;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPIX_Checkpoint(MPI_COMM_WORLD, &restarted) != MPI_SUCCESS) {
        printf("no checkpoint; we go on\n");
    } else if (restarted) {
        printf("here we are again\n");
    }
}

static int size_of(void *arg, MPI_Count *bytes)
{
    (void)arg;
    *bytes = sizeof(double[100]);
    return MPI_SUCCESS;
}

static int pack(void *grid, void *buf, MPI_Count bytes)
{
    memcpy(buf, grid, (size_t)bytes);
    return MPI_SUCCESS;
}

static int unpack(void *grid, int piece, int n_pieces, const void *buf, MPI_Count bytes)
{
    printf("piece %d of %d\n", piece, n_pieces);
    memcpy(grid, buf, (size_t)bytes);
    return MPI_SUCCESS;
}

// man: MPIX_Checkpoint_register MPIX_Checkpoint_restore MPIX_Checkpoint_wanted
void pli_examples_state(void)
{
    // mpiexec --checkpoint-dir saved --checkpoint-mode state --checkpoint-interval 10m ./program
    static double grid[100];
    int n_pieces, wanted, restarted;
    MPIX_Checkpoint_register("grid", size_of, pack, unpack, grid); // these three copy the grid
    MPIX_Checkpoint_restore(MPI_COMM_WORLD, &n_pieces);            // 0: a new job
    for (int step = 0; step < 1000; step++) {
        pli_examples_step(MPI_COMM_WORLD);
        MPIX_Checkpoint_wanted(&wanted);
        MPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (wanted) {
            MPIX_Checkpoint(MPI_COMM_WORLD, &restarted);
        }
    }
}

// man: MPI_Comm_create_endpoints MPIX_Comm_best_endpoints MPI_Comm_attach MPI_Comm_detach
void pli_examples_endpoints(void)
{
    int n;
    MPI_Comm mine[64];
    MPIX_Comm_best_endpoints(MPI_COMM_WORLD, &n); // it is never many
    MPI_Comm_create_endpoints(MPI_COMM_WORLD, n, MPI_INFO_NULL, mine);
#pragma omp parallel for num_threads(n)
    for (int i = 0; i < n; i++) { // every thread is a rank
        MPI_Comm_attach(mine[i]);
        MPI_Barrier(mine[i]);
        MPI_Comm_detach(mine[i]);
        MPI_Comm_free(&mine[i]);
    }
}

// man: MPIX_Comm_create_endpoints_ranked
void pli_examples_ranked(const int process[100]) // which process has part i, as a partitioner says
{
    int me, n = 0, ranks[100];
    MPI_Comm parts[100];
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int i = 0; i < 100; i++) {
        if (process[i] == me) {
            ranks[n++] = i;
        }
    }
    MPIX_Comm_create_endpoints_ranked(MPI_COMM_WORLD, n, ranks, MPI_INFO_NULL, parts);
    for (int i = 0; i < n; i++) { // part ranks[i] is rank ranks[i], wherever it is
        MPI_Comm_free(&parts[i]);
    }
}

// man: MPIX_Comm_get_process
void pli_examples_process(MPI_Comm ends)
{
    int me, size, mine, n = 0;
    MPI_Comm_rank(ends, &me);
    MPI_Comm_size(ends, &size);
    MPIX_Comm_get_process(ends, me, &mine);
    for (int i = 0; i < size; i++) { // ranks with which this one shares memory
        int process;
        MPIX_Comm_get_process(ends, i, &process);
        n += process == mine;
    }
    printf("%d ranks live in my process\n", n);
}

// man: MPI_Init_endpoints MPI_Comm_endpoint_attach
void pli_examples_init(int argc, char **argv)
{
    int provided, rank;
    MPI_Init_endpoints(&argc, &argv, 4, MPI_THREAD_MULTIPLE, &provided);
#pragma omp parallel for num_threads(4) private(rank)
    for (int i = 0; i < 4; i++) {
        MPI_Comm_endpoint_attach(MPI_COMM_ENDPOINTS, i);
        MPI_Comm_rank(MPI_COMM_ENDPOINTS, &rank); // of this thread
        MPI_Comm_detach(MPI_COMM_ENDPOINTS);
    }
    MPI_Finalize();
}

// man: MPIX_Phase_begin MPIX_Phase_end
void pli_examples_phase(MPI_Comm comm)
{
    // mpiexec --timeline step.json -n 4 ./program
    MPIX_Phase_begin("exchange");
    pli_examples_step(comm);
    MPIX_Phase_end();
}

// man: MPIX_Pset_from_group MPIX_Pset_union MPIX_Pset_intersection MPIX_Pset_difference
// man: MPIX_Pset_wait MPIX_Pset_free
void pli_examples_sets(MPI_Session session, MPI_Group readers)
{
    MPI_Group group;
    MPIX_Pset_from_group(session, readers, "app://readers");
    MPIX_Pset_difference(session, "mpi://WORLD", "app://readers", "app://writers");
    MPIX_Pset_union(session, "app://readers", "app://writers", "app://all");
    MPIX_Pset_intersection(session, "app://all", "app://readers", "app://same");
    MPIX_Pset_wait(session, "app://made-by-another"); // until some process has made it
    MPI_Group_from_session_pset(session, "app://made-by-another", &group);
    MPI_Group_free(&group);
    MPIX_Pset_free(session, "app://same"); // as often as it was made
}

// man: MPIX_Pset_revise
void pli_examples_revise(MPI_Session session, MPI_Group fewer)
{
    char name[MPI_MAX_PSET_NAME_LEN];
    MPIX_Pset_revise(session, "app://readers", fewer, name);
    printf("the set's new version is %s\n", name);
}

// man: MPIX_Comm_create_sparse
void pli_examples_sparse(MPI_Session session)
{
    // The ranks of each host, and the first rank of every host.
    MPI_Comm local, leaders;
    MPIX_Comm_create_sparse(session, "mpi://host/", "my-library", MPI_INFO_NULL,
                            MPI_ERRORS_ARE_FATAL, &local, &leaders);
    MPI_Barrier(local);
    if (leaders != MPI_COMM_NULL) {
        MPI_Barrier(leaders);
        MPI_Comm_free(&leaders);
    }
    MPI_Comm_free(&local);
}

// man: MPI_Comm_spawn MPI_Comm_get_parent MPI_Comm_disconnect
void pli_examples_spawn(void)
{
    MPI_Comm parent, workers;
    char *args[] = { "-v", NULL };
    int codes[4];
    MPI_Info hints;
    MPI_Comm_get_parent(&parent); // MPI_COMM_NULL: this process was not spawned
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "wdir", "/tmp");
    MPI_Info_set(hints, "env", "LEVEL=2\nMODE=fast");
    MPI_Info_set(hints, "soft", "1:4"); // one to four will do
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Comm_spawn("worker", args, 4, hints, 0, MPI_COMM_WORLD, &workers, codes) ==
        MPI_SUCCESS) {
        MPI_Barrier(workers);
        MPI_Comm_disconnect(&workers);
    }
    MPI_Info_free(&hints);
}

// man: MPI_Open_port MPI_Publish_name MPI_Comm_accept MPI_Unpublish_name MPI_Close_port
void pli_examples_server(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm client;
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name("weather", MPI_INFO_NULL, port);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &client);
    MPI_Send("sun", 4, MPI_CHAR, 0, 0, client);
    MPI_Comm_disconnect(&client);
    MPI_Unpublish_name("weather", MPI_INFO_NULL, port);
    MPI_Close_port(port);
}

// man: MPI_Lookup_name MPI_Comm_connect
void pli_examples_client(void)
{
    char port[MPI_MAX_PORT_NAME], text[4];
    MPI_Comm server;
    MPI_Info hints;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "timeout", "10"); // seconds; without it as long as it takes
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    while (MPI_Lookup_name("weather", MPI_INFO_NULL, port) != MPI_SUCCESS) {
        sleep(1); // the server is not there yet
    }
    if (MPI_Comm_connect(port, hints, 0, MPI_COMM_SELF, &server) == MPI_SUCCESS) {
        MPI_Recv(text, 4, MPI_CHAR, 0, 0, server, MPI_STATUS_IGNORE);
        MPI_Comm_disconnect(&server);
    }
    MPI_Info_free(&hints);
}

// man: MPI_Init MPI_Finalize MPI_Comm_rank MPI_Comm_size
int pli_examples_hello(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d\n", rank, size);
    MPI_Finalize();
    return 0;
}

// man: MPI_Init_thread MPI_Query_thread MPI_Is_thread_main
void pli_examples_threads(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        printf("threads must take turns\n");
    }
}

// man: MPI_Send MPI_Recv MPI_Ssend MPI_Get_count
void pli_examples_send(int rank, MPI_Comm comm)
{
    // Rank 0 sends what it has; rank 1 finds out how much that was.
    double data[100] = { 0 };
    MPI_Status status;
    int count;
    if (rank == 0) {
        MPI_Send(data, 42, MPI_DOUBLE, 1, 7, comm);
    } else if (rank == 1) {
        MPI_Recv(data, 100, MPI_DOUBLE, 0, 7, comm, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        printf("%d numbers from rank %d\n", count, status.MPI_SOURCE);
    }
}

// man: MPI_Isend MPI_Irecv MPI_Waitall MPI_Wait
void pli_examples_exchange(int left, int right, MPI_Comm comm)
{
    // Both neighbours at once: no rank waits for another to begin.
    double mine[2] = { 1, 2 }, theirs[2];
    MPI_Request r[4];
    MPI_Irecv(&theirs[0], 1, MPI_DOUBLE, left, 0, comm, &r[0]);
    MPI_Irecv(&theirs[1], 1, MPI_DOUBLE, right, 1, comm, &r[1]);
    MPI_Isend(&mine[0], 1, MPI_DOUBLE, left, 1, comm, &r[2]);
    MPI_Isend(&mine[1], 1, MPI_DOUBLE, right, 0, comm, &r[3]);
    pli_examples_step(comm); // work that needs neither
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

// man: MPI_Sendrecv
void pli_examples_shift(int rank, int size, MPI_Comm comm)
{
    // Around a ring: each gives its number to the next.
    int mine = rank, got;
    MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT,
                 (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
}

// man: MPI_Waitany MPI_Testany MPI_Test
void pli_examples_answers(MPI_Request *r, const double *answer, int n)
{
    // Take the answers as they come.
    for (int left = n, i; left > 0; left--) {
        MPI_Waitany(n, r, &i, MPI_STATUS_IGNORE);
        printf("answer %d is %g\n", i, answer[i]);
    }
}

// man: MPI_Waitsome MPI_Testsome
void pli_examples_some(MPI_Request *r, const double *answer, int *index, int n, MPI_Comm comm)
{
    // Take all answers that have come, and compute until others come. MPI_Waitsome waits for one.
    for (int n_done = 0; n_done != MPI_UNDEFINED; pli_examples_step(comm)) {
        MPI_Testsome(n, r, &n_done, index, MPI_STATUSES_IGNORE);
        for (int i = 0; i < n_done; i++) {
            printf("answer %d is %g\n", index[i], answer[index[i]]);
        }
    }
}

// man: MPI_Testall
void pli_examples_meanwhile(MPI_Request *r, int n, MPI_Comm comm)
{
    // Compute until all messages are here.
    int done;
    MPI_Testall(n, r, &done, MPI_STATUSES_IGNORE);
    while (!done) {
        pli_examples_step(comm);
        MPI_Testall(n, r, &done, MPI_STATUSES_IGNORE);
    }
}

// man: MPI_Cancel MPI_Test_cancelled
void pli_examples_cancel(MPI_Request *receive)
{
    // A receive that is no longer wanted; its message may have come just before.
    MPI_Status status;
    int was_cancelled;
    MPI_Cancel(receive);
    MPI_Wait(receive, &status);
    MPI_Test_cancelled(&status, &was_cancelled);
    if (!was_cancelled) {
        printf("a message of rank %d has come\n", status.MPI_SOURCE);
    }
}

// man: MPI_Probe MPI_Iprobe
void pli_examples_probe(MPI_Comm comm)
{
    // A message of unknown length.
    MPI_Status status;
    char text[4096];
    int len;
    MPI_Probe(MPI_ANY_SOURCE, 5, comm, &status);
    MPI_Get_count(&status, MPI_CHAR, &len);
    if (len <= (int)sizeof text) {
        MPI_Recv(text, len, MPI_CHAR, status.MPI_SOURCE, 5, comm, MPI_STATUS_IGNORE);
    }
}

// man: MPI_Mprobe MPI_Mrecv MPI_Improbe MPI_Imrecv
void pli_examples_take(MPI_Comm comm)
{
    // As MPI_Probe, where other threads receive too: no other receive can get the message.
    MPI_Message message;
    MPI_Status status;
    int number;
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status);
    MPI_Mrecv(&number, 1, MPI_INT, &message, &status);
}

// man: MPI_Send_init MPI_Recv_init MPI_Start MPI_Startall MPI_Request_free
void pli_examples_again(double *out, double *in, int peer, MPI_Comm comm)
{
    // The same exchange in every step.
    MPI_Request r[2];
    MPI_Send_init(out, 1000, MPI_DOUBLE, peer, 0, comm, &r[0]);
    MPI_Recv_init(in, 1000, MPI_DOUBLE, peer, 0, comm, &r[1]);
    for (int step = 0; step < 100; step++) {
        MPI_Startall(2, r);
        pli_examples_step(comm);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

// man: MPI_Psend_init MPI_Pready
void pli_examples_partitions(double *data, int peer, MPI_Comm comm)
{
    // Eight parts, each sent as soon as it is computed; the loop may be threads.
    MPI_Request r;
    MPI_Psend_init(data, 8, 1000, MPI_DOUBLE, peer, 0, comm, MPI_INFO_NULL, &r);
    MPI_Start(&r);
    for (int part = 0; part < 8; part++) {
        data[1000 * part] = part;
        MPI_Pready(part, r);
    }
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Request_free(&r);
}

// man: MPI_Buffer_attach MPI_Buffer_detach MPI_Bsend
void pli_examples_buffered(int peer, MPI_Comm comm)
{
    // Room for 10 messages of one number each.
    static char room[10 * (sizeof(int) + MPI_BSEND_OVERHEAD)];
    void *back;
    int size;
    MPI_Buffer_attach(room, sizeof room);
    for (int i = 0; i < 10; i++) {
        MPI_Bsend(&i, 1, MPI_INT, peer, 0, comm);
    }
    MPI_Buffer_detach(&back, &size); // waits until they are sent
}

// man: MPI_Abort
void pli_examples_give_up(const char *file)
{
    FILE *in = fopen(file, "r");
    if (in == NULL) {
        fprintf(stderr, "cannot read %s\n", file);
        MPI_Abort(MPI_COMM_WORLD, 2); // mpiexec's exit status is 2
    }
}
