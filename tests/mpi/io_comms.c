// SPDX-License-Identifier: BSD-3-Clause
// Files on every kind of communicator: they work there, or the error says why not. The argument is
// the kind: "parts" (of the world, and of a session), "endpoints", "spawn", "fork", or "resize",
// which needs mpiexec --elastic 1:6 -n 2.
#include "ep_t.h"

#include <fcntl.h>
#include <unistd.h>

enum { RECORD = 100, N_RECORD = 50, BYTES = RECORD * N_RECORD };

static _Thread_local char path[64];

static int rank_of(MPI_Comm c)
{
    int r;
    MPI_Comm_rank(c, &r);
    return r;
}

static int size_of(MPI_Comm c)
{
    int n;
    MPI_Comm_size(c, &n);
    return n;
}

static void name_file(MPI_Comm c)
{
    if (rank_of(c) == 0) {
        snprintf(path, sizeof path, "/tmp/io_comms.%d", (int)getpid());
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, c);
}

static void expect(int code, int class, const char *piece)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int got, len;
    MPI_Error_class(code, &got);
    MPI_Error_string(code, text, &len);
    T_EQ(got, class);
    T_HAS(text, piece);
}

static MPI_File open_file(MPI_Comm c)
{
    MPI_File f = MPI_FILE_NULL;
    MPI_Datatype record, view;
    T_EQ(MPI_File_open(c, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f), 0);
    MPI_Type_contiguous(RECORD, MPI_BYTE, &record);
    MPI_Type_create_resized(record, 0, (MPI_Aint)RECORD * size_of(c), &view);
    MPI_Type_commit(&view);
    T_EQ(MPI_File_set_view(f, (MPI_Offset)RECORD * rank_of(c), MPI_BYTE, view, "native",
                           MPI_INFO_NULL),
         0);
    MPI_Type_free(&view);
    MPI_Type_free(&record);
    return f;
}

// Records of all members, collective and not, and the shared pointer.
static void use(MPI_File f, MPI_Comm c, int turn)
{
    char out[BYTES], in[BYTES];
    MPI_Offset at;
    MPI_Request r;
    int rank = rank_of(c);
    for (int i = 0; i < BYTES; i++) {
        out[i] = (char)(rank * 31 + turn * 7 + i);
    }
    T_EQ(MPI_File_write_at_all(f, 0, out, BYTES, MPI_BYTE, MPI_STATUS_IGNORE), 0);
    memset(in, 0, BYTES);
    T_EQ(MPI_File_iread_at_all(f, 0, in, BYTES, MPI_BYTE, &r), 0);
    T_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), 0);
    T_EQ(memcmp(in, out, BYTES), 0);
    T_EQ(MPI_File_seek_shared(f, BYTES, MPI_SEEK_SET), 0);
    T_EQ(MPI_File_write_shared(f, out, RECORD, MPI_BYTE, MPI_STATUS_IGNORE), 0);
    MPI_Barrier(c);
    T_EQ(MPI_File_get_position_shared(f, &at), 0);
    T_EQ(at, BYTES + RECORD * size_of(c));
    MPI_Barrier(c);
}

static void use_once(MPI_Comm c)
{
    MPI_File f = open_file(c);
    use(f, c, 1);
    T_EQ(MPI_File_close(&f), 0);
    if (rank_of(c) == 0) {
        unlink(path);
    }
}

static void parts(void)
{
    MPI_Comm half, inter;
    int me = rank_of(MPI_COMM_WORLD), n = size_of(MPI_COMM_WORLD);
    MPI_File f;
    use_once(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
    name_file(half);
    use_once(half);
    if (n > 1) {
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, me % 2 == 0 ? n - 1 - n % 2 : n - 2 + n % 2,
                             0, &inter);
        expect(MPI_File_open(inter, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
               MPI_ERR_COMM, "intracommunicator");
        MPI_Comm_free(&inter);
    }
    MPI_Comm_free(&half);
    name_file(MPI_COMM_SELF);
    use_once(MPI_COMM_SELF);
}

static void of_session(void)
{
    MPI_Session s;
    MPI_Group g;
    MPI_Comm c;
    T_EQ(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s), 0);
    T_EQ(MPI_Group_from_session_pset(s, "mpi://WORLD", &g), 0);
    T_EQ(MPI_Comm_create_from_group(g, "io_comms", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c), 0);
    name_file(c);
    use_once(c);
    MPI_Comm_free(&c);
    MPI_Group_free(&g);
    T_EQ(MPI_Session_finalize(&s), 0);
}

// Threads that are ranks: a file of all of them, and one of every endpoint at the same time.
static void use_endpoint(MPI_Comm c)
{
    char of_all[sizeof path];
    MPI_Comm own;
    name_file(c);
    MPI_File all = open_file(c);
    use(all, c, 1);
    memcpy(of_all, path, sizeof path);
    snprintf(path, sizeof path, "%.40s.%d", of_all, rank_of(c));
    MPI_Comm_split(c, rank_of(c), 0, &own);
    use_once(own);
    MPI_Comm_free(&own);
    use(all, c, 2);
    T_EQ(MPI_File_close(&all), 0);
    if (rank_of(c) == 0) {
        unlink(of_all);
    }
}

static void meet_children(MPI_Comm inter, int is_child)
{
    MPI_Comm all;
    MPI_File f;
    expect(MPI_File_open(inter, "/tmp/io_comms.never", MPI_MODE_CREATE | MPI_MODE_RDWR,
                         MPI_INFO_NULL, &f),
           MPI_ERR_COMM, "intracommunicator");
    T_OK(access("/tmp/io_comms.never", F_OK) != 0);
    MPI_Intercomm_merge(inter, is_child, &all);
    name_file(all);
    use_once(all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
}

static void spawn(char *program)
{
    MPI_Comm children;
    char *argv[] = { (char[]){ "spawn" }, NULL };
    MPI_Comm_spawn(program, argv, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    meet_children(children, 0);
}

// Lines of a log that are collected from the first one on; all of them are there in the end.
static void use_log(MPI_Comm c)
{
    enum { N_LINE = 2000, LINE = 40 };
    char name[sizeof path + 8], line[LINE + 1];
    int n = size_of(c), *seen = calloc((size_t)n, sizeof *seen);
    MPI_Offset size;
    MPI_Info info;
    MPI_File f;
    snprintf(name, sizeof name, "%s.log", path);
    MPI_Info_create(&info);
    MPI_Info_set(info, "pliant_shared_batch", "enable");
    T_EQ(MPI_File_open(c, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info,
                       &f),
         0);
    MPI_Info_free(&info);
    for (int i = 0; i < N_LINE; i++) {
        snprintf(line, sizeof line, "rank %10d line %*d\n", rank_of(c), LINE - 22, i);
        T_EQ(MPI_File_write_shared(f, line, LINE, MPI_BYTE, MPI_STATUS_IGNORE), 0);
    }
    MPI_Barrier(c);
    T_EQ(MPI_File_get_size(f, &size), 0);
    T_EQ(size, (MPI_Offset)LINE * N_LINE * n);
    for (int i = 0; i < N_LINE * n; i++) { // lines of one rank are in order
        int rank = -1, number = -1;
        T_EQ(MPI_File_read_at(f, (MPI_Offset)i * LINE, line, LINE, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        line[LINE] = '\0';
        T_MUST(sscanf(line, "rank %d line %d", &rank, &number) == 2 && rank >= 0 && rank < n);
        T_MUST(number == seen[rank]++);
    }
    T_EQ(MPI_File_close(&f), 0);
    free(seen);
}

// A clone of one rank has no file of them all; its parents have theirs. Refused: one in use.
static void fork_one(void)
{
    MPI_Comm before = MPI_COMM_WORLD;
    MPI_File f = open_file(before);
    char data[RECORD] = "";
    use(f, before, 1);
    T_EQ(MPI_File_write_at_all_begin(f, 0, data, RECORD, MPI_BYTE), 0);
    int got = MPI_Fork(1);
    T_OK(got < 0);
    expect(-got, MPI_ERR_OTHER, "MPI_Fork was called while MPI_File_write_at_all_begin waits");
    T_EQ(MPI_File_write_at_all_end(f, data, MPI_STATUS_IGNORE), 0);
    use(f, before, 2);
    got = MPI_Fork(1);
    T_OK(got >= 0);
    if (got == 0) {
        expect(MPI_File_write_at(f, 0, data, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_FILE,
               "made before MPI_Fork");
    } else {
        use(f, MPI_COMM_PARENTS, 3);
    }
    T_EQ(MPI_File_close(&f), 0);
    T_OK(f == MPI_FILE_NULL);
}

// What a file that was closed before the fork has left in memory is not used by parents and clones.
static void use_new(MPI_Comm c, const char *whose)
{
    enum { LINE = 10, N_LINE = 20 };
    char own[sizeof path + 10], line[LINE + 1];
    MPI_File f;
    MPI_Offset at, size;
    snprintf(own, sizeof own, "%s.%s", path, whose);
    T_EQ(MPI_File_open(c, own, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                       MPI_INFO_NULL, &f),
         0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < N_LINE; i++) {
        snprintf(line, sizeof line, "%*d\n", LINE - 1, i);
        T_EQ(MPI_File_write_shared(f, line, LINE, MPI_BYTE, MPI_STATUS_IGNORE), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_File_get_position_shared(f, &at), 0);
    T_EQ(at, N_LINE * LINE * size_of(c));
    T_EQ(MPI_File_get_size(f, &size), 0);
    T_EQ(size, N_LINE * LINE * size_of(c));
    T_EQ(MPI_File_close(&f), 0);
}

// All write the same bytes in atomic mode, and never see a part of what another writes. Clones read
// what parents write, and exclude only each other.
static void use_atomic(MPI_File f, int is_clone)
{
    enum { LEN = 9000, N_ACCESS = 100 };
    char data[LEN];
    int flag = 0;
    T_EQ(MPI_File_get_atomicity(f, &flag), 0);
    T_EQ(flag, 1);
    for (int i = 0; i < N_ACCESS; i++) {
        memset(data, 'a' + rank_of(MPI_COMM_WORLD), sizeof data);
        if (!is_clone) {
            T_EQ(MPI_File_write_at(f, 0, data, LEN, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        }
        T_EQ(MPI_File_read_at(f, 0, data, LEN, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        for (int k = 1; k < LEN && t_failed == 0 && !is_clone; k++) {
            T_EQ(data[k], data[0]);
        }
    }
}

// Locks of the open file (hint pliant_lock, NFS, several hosts) are of its process: what a clone
// has locked its parent cannot lock, and what a clone frees is not its parent's.
static void try_locks(const char *name)
{
    char link[64], real[128], got[128];
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int fd = 2, is_mine = 0, n_mine = 0;
    T_MUST(realpath(name, real) != NULL);
    do {
        snprintf(link, sizeof link, "/proc/self/fd/%d", ++fd);
        ssize_t len = readlink(link, got, sizeof got - 1);
        got[len < 0 ? 0 : len] = '\0';
    } while (fd < 1000 && strcmp(got, real) != 0);
    T_OK(fd < 1000);
    is_mine = fcntl(fd, F_OFD_SETLK, &all) == 0;
    MPI_Allreduce(&is_mine, &n_mine, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    T_EQ(n_mine, 1);
    all.l_type = F_UNLCK;
    T_EQ(fcntl(fd, F_OFD_SETLK, &all), 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Clones of all ranks have a file of their own: the same bytes, and pointers where they were.
static void fork_all(void)
{
    enum { LINE = 10 };
    int me = rank_of(MPI_COMM_WORLD), n = size_of(MPI_COMM_WORLD);
    char line[LINE + 1];
    MPI_Offset at, shared, size;
    MPI_File log, f = open_file(MPI_COMM_WORLD);
    T_EQ(MPI_File_seek(f, 7 + me, MPI_SEEK_SET), 0);
    T_EQ(MPI_File_seek_shared(f, 5 * RECORD, MPI_SEEK_SET), 0);
    char log_path[sizeof path + 4];
    snprintf(log_path, sizeof log_path, "%s.log", path);
    T_EQ(MPI_File_open(MPI_COMM_WORLD, log_path,
                       MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                       &log),
         0);
    snprintf(line, sizeof line, "%*d\n", LINE - 1, me);
    T_EQ(MPI_File_write_shared(log, line, LINE, MPI_BYTE, MPI_STATUS_IGNORE), 0);
    T_EQ(MPI_File_write_shared(log, line, LINE, MPI_BYTE, MPI_STATUS_IGNORE), 0);
    MPI_File closed = open_file(MPI_COMM_WORLD);
    T_EQ(MPI_File_close(&closed), 0);
    char atomic_path[sizeof path + 7];
    snprintf(atomic_path, sizeof atomic_path, "%s.atomic", path);
    MPI_File atomic;
    T_EQ(MPI_File_open(MPI_COMM_WORLD, atomic_path,
                       MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                       &atomic),
         0);
    T_EQ(MPI_File_set_atomicity(atomic, 1), 0);
    use_atomic(atomic, 0);
    int got = MPI_Fork(n);
    T_OK(got >= 0);
    try_locks(atomic_path);
    use_atomic(atomic, got == 0);
    T_EQ(MPI_File_close(&atomic), 0);
    MPI_Comm mine = got > 0 ? MPI_COMM_PARENTS : MPI_COMM_CHILDREN;
    use_new(mine, got > 0 ? "parents" : "clones");
    T_EQ(MPI_File_get_position(f, &at), 0);
    T_EQ(at, 7 + me);
    T_EQ(MPI_File_get_position_shared(f, &shared), 0);
    T_EQ(shared, 5 * RECORD);
    T_EQ(MPI_File_get_position_shared(log, &shared), 0);
    T_EQ(shared, 2 * LINE * n);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int turn = 0; turn < 4; turn++) { // of parents, and of clones
        if (turn % 2 == (got > 0)) {
            use(f, mine, turn);
            T_EQ(MPI_File_write_ordered(log, line, LINE, MPI_BYTE, MPI_STATUS_IGNORE), 0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    T_EQ(MPI_File_get_position_shared(log, &shared), 0);
    T_EQ(shared, 4 * LINE * n); // each has its own
    T_EQ(MPI_File_get_size(log, &size), 0);
    T_EQ(size, 4 * LINE * n);
    if (got == 0) { // what is to be deleted is so by the parents
        T_EQ(MPI_File_close(&log), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(access(log_path, F_OK), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (got > 0) {
        T_EQ(MPI_File_close(&log), 0);
        T_OK(access(log_path, F_OK) != 0);
    }
    T_EQ(MPI_File_close(&f), 0);
}

static void fork_rank(int has_log)
{
    fork_one();
    name_file(MPI_COMM_WORLD);
    fork_all();
    name_file(MPI_COMM_WORLD);
    if (has_log) { // the thread that writes lines is no thread of the clone
        use_log(MPI_COMM_WORLD);
    }
    use_once(MPI_COMM_WORLD);
}

// The file of a version stays usable while its members are there.
static void resize(void)
{
    int version, newest, size;
    MPI_Comm now;
    MPIX_Comm_world_version(MPI_COMM_WORLD, &version);
    MPI_File first = MPI_FILE_NULL;
    if (version == 0) {
        first = open_file(MPI_COMM_WORLD);
        use(first, MPI_COMM_WORLD, 1);
        T_EQ(MPIX_World_resize(MPI_COMM_WORLD, 4), 0);
        do {
            MPIX_World_version(&newest);
        } while (newest == 0);
        use(first, MPI_COMM_WORLD, 2);
    }
    T_EQ(MPIX_Comm_world_at(1, &now), 0);
    MPI_Comm_size(now, &size);
    T_EQ(size, 4);
    char of_first[sizeof path];
    memcpy(of_first, path, sizeof path);
    name_file(now);
    strcat(path, ".1");
    MPI_File second = open_file(now);
    use(second, now, 1);
    T_EQ(MPIX_World_resize(now, 1), 0); // all but rank 0 are to leave
    use(second, now, 2);
    T_EQ(MPI_File_close(&second), 0);
    if (version == 0) { // the first one has a member that leaves
        use(first, MPI_COMM_WORLD, 3);
        T_EQ(MPI_File_close(&first), 0);
    }
    if (rank_of(now) == 0) {
        unlink(path);
        unlink(of_first);
        T_EQ(MPIX_Comm_world_at(2, &now), 0);
        name_file(now);
        use_once(now);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    T_MUST(argc > 1);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        meet_children(parent, 1);
        MPI_Finalize();
        return t_status();
    }
    if (strcmp(argv[1], "resize") != 0) {
        name_file(MPI_COMM_WORLD);
    }
    if (strcmp(argv[1], "parts") == 0) {
        parts();
        of_session();
    } else if (strcmp(argv[1], "endpoints") == 0) {
        ep_run(MPI_COMM_WORLD, 3, use_endpoint);
    } else if (strcmp(argv[1], "spawn") == 0) {
        spawn(argv[0]);
    } else if (strcmp(argv[1], "fork") == 0) {
        fork_rank(argc == 2); // "fork short" is without it
    } else {
        int version;
        MPIX_Comm_world_version(MPI_COMM_WORLD, &version);
        if (version == 0) {
            name_file(MPI_COMM_WORLD);
        }
        resize();
    }
    MPI_Finalize();
    return t_status();
}
