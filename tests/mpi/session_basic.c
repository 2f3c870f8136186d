// SPDX-License-Identifier: BSD-3-Clause
// Sessions without a world, before, beside and after one: hints, sets, groups, communicators,
// error handlers, buffers, and what becomes of objects that outlive their session.
#include "session.h"

static int n_called, last_class;

static void on_session(MPI_Session *s, int *code, ...)
{
    (void)s;
    n_called++;
    MPI_Error_class(*code, &last_class);
}

static void on_comm(MPI_Comm *c, int *code, ...)
{
    T_OK(*c == MPI_COMM_NULL);
    n_called++;
    MPI_Error_class(*code, &last_class);
}

static void hints(void)
{
    MPI_Session s = s_open_threads();
    MPI_Info info;
    char value[64];
    int len = sizeof value, flag = 0;
    T_MPI(MPI_Session_get_info(s, &info));
    T_MPI(MPI_Info_get_string(info, "thread_level", &len, value, &flag));
    T_EQ(flag, 1);
    T_STR(value, "MPI_THREAD_MULTIPLE");
    MPI_Info_free(&info);
    T_MPI(MPI_Session_finalize(&s));
    T_OK(s == MPI_SESSION_NULL);
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MANY");
    T_REFUSED(MPI_Session_init(info, MPI_ERRORS_RETURN, &s), MPI_ERR_INFO_VALUE, "'MANY'");
    MPI_Info_free(&info);
}

static void sets(void)
{
    MPI_Session s = s_open();
    MPI_Info info;
    char name[MPI_MAX_PSET_NAME_LEN], value[64];
    int n = 0, len, flag, rank, size;
    s_world(s, &rank, &size);
    T_MPI(MPI_Session_get_num_psets(s, MPI_INFO_NULL, &n));
    T_OK(n >= 2);
    int seen = 0;
    for (int i = 0; i < n; i++) {
        len = 0;
        T_MPI(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &len, NULL));
        T_OK(len > 1 && len <= MPI_MAX_PSET_NAME_LEN);
        int need = len;
        T_MPI(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &len, name));
        T_EQ(strlen(name) + 1, need);
        T_EQ(len, need);
        char small[4] = "xyz";
        len = 4;
        T_MPI(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &len, small));
        T_EQ(len, need);
        T_OK(strlen(small) <= 3 && strncmp(small, name, strlen(small)) == 0);
        MPI_Group g = s_group(s, name);
        int mine, members;
        MPI_Group_rank(g, &mine);
        MPI_Group_size(g, &members);
        T_OK(mine != MPI_UNDEFINED);
        T_MPI(MPI_Session_get_pset_info(s, name, &info));
        len = sizeof value;
        T_MPI(MPI_Info_get_string(info, "mpi_size", &len, value, &flag));
        T_EQ(flag, 1);
        T_EQ(atoi(value), members);
        MPI_Info_free(&info);
        MPI_Group_free(&g);
        seen += strcmp(name, "mpi://WORLD") == 0 || strcmp(name, "mpi://SELF") == 0;
    }
    T_EQ(seen, 2);
    len = sizeof name;
    T_REFUSED(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, n, &len, name), MPI_ERR_ARG, "0 to ");
    T_REFUSED(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, -1, &len, name), MPI_ERR_ARG, "-1");
    MPI_Group g = s_group(s, "mpi://self");
    int mine;
    MPI_Group_size(g, &mine);
    T_EQ(mine, 1);
    MPI_Group_free(&g);
    T_REFUSED(MPI_Group_from_session_pset(s, "mpi://WORLDS", &g), MPI_ERR_ARG,
              "did you mean 'mpi://WORLD'");
    T_REFUSED(MPI_Group_from_session_pset(s, NULL, &g), MPI_ERR_ARG, "NULL");
    T_REFUSED(MPI_Session_get_pset_info(s, "nobody", &info), MPI_ERR_ARG, "'nobody'");
    T_MPI(MPI_Session_finalize(&s));
}

static void handlers(void)
{
    MPI_Errhandler e, got, ce;
    MPI_Session s = MPI_SESSION_NULL;
    MPI_Group g;
    MPI_Comm c;
    T_MPI(MPI_Session_create_errhandler(on_session, &e));
    T_MPI(MPI_Comm_create_errhandler(on_comm, &ce));
    T_MPI(MPI_Session_init(MPI_INFO_NULL, e, &s));
    n_called = 0;
    T_OK(MPI_Group_from_session_pset(s, "nowhere", &g) != MPI_SUCCESS);
    T_EQ(n_called, 1);
    T_EQ(last_class, MPI_ERR_ARG);
    T_MPI(MPI_Session_call_errhandler(s, MPI_ERR_TAG));
    T_EQ(n_called, 2);
    T_EQ(last_class, MPI_ERR_TAG);
    T_MPI(MPI_Session_get_errhandler(s, &got));
    T_OK(got == e);
    MPI_Errhandler_free(&got);
    T_MPI(MPI_Session_set_errhandler(s, MPI_ERRORS_RETURN));
    T_OK(MPI_Group_from_session_pset(s, "nowhere", &g) != MPI_SUCCESS);
    T_EQ(n_called, 2);
    T_REFUSED(MPI_Session_set_errhandler(s, ce), MPI_ERR_ERRHANDLER, "cannot be set on a session");
    // Errors of a constructor go to the handler it was given.
    g = s_group(s, "mpi://SELF");
    n_called = 0;
    T_OK(MPI_Comm_create_from_group(g, NULL, MPI_INFO_NULL, ce, &c) != MPI_SUCCESS);
    T_OK(c == MPI_COMM_NULL);
    T_EQ(n_called, 1);
    // An init that fails calls the handler meant for the session.
    MPI_Info info;
    MPI_Session none;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "NONE");
    T_OK(MPI_Session_init(info, e, &none) != MPI_SUCCESS);
    T_OK(none == MPI_SESSION_NULL);
    T_EQ(n_called, 2);
    MPI_Info_free(&info);
    T_MPI(MPI_Comm_create_from_group(g, "x", MPI_INFO_NULL, ce, &c));
    T_MPI(MPI_Comm_get_errhandler(c, &got));
    T_OK(got == ce);
    MPI_Errhandler_free(&got);
    MPI_Comm_free(&c);
    MPI_Group_free(&g);
    MPI_Errhandler_free(&e);
    MPI_Errhandler_free(&ce);
    T_MPI(MPI_Session_finalize(&s));
}

static void mixing(void)
{
    MPI_Session a = s_open(), b = s_open();
    MPI_Group ga = s_group(a, "mpi://WORLD"), gb = s_group(b, "mpi://WORLD"), u;
    MPI_Comm ca = s_comm(a, "mpi://WORLD", "a"), cb = s_comm(b, "mpi://WORLD", "b"), none;
    int result;
    MPI_Comm_set_errhandler(ca, MPI_ERRORS_RETURN);
    T_OK(MPI_Group_union(ga, gb, &u) != MPI_SUCCESS);
    T_OK(MPI_Comm_create(ca, gb, &none) != MPI_SUCCESS);
    T_OK(MPI_Group_compare(ga, gb, &result) != MPI_SUCCESS || result == MPI_UNEQUAL);
    // A session that comes after one has gone is another, even if it looks the same.
    T_MPI(MPI_Comm_free(&cb));
    T_MPI(MPI_Session_finalize(&b));
    b = s_open();
    MPI_Group gc = s_group(b, "mpi://WORLD");
    T_OK(MPI_Group_union(gb, gc, &u) != MPI_SUCCESS);
    T_REFUSED(MPI_Comm_create_from_group(gb, "late", MPI_INFO_NULL, MPI_ERRORS_RETURN, &none),
              MPI_ERR_SESSION, "finalised");
    MPI_Group_free(&ga);
    MPI_Group_free(&gb);
    MPI_Group_free(&gc);
    MPI_Comm_free(&ca);
    T_MPI(MPI_Session_finalize(&a));
    T_MPI(MPI_Session_finalize(&b));
}

static void leftovers(void)
{
    MPI_Session s = s_open();
    MPI_Comm left = s_comm(s, "mpi://WORLD", "left"), dup, stale;
    T_MPI(MPI_Comm_dup(left, &dup));
    s_check(dup, 3);
    stale = left;
    int rank;
    T_MPI(MPI_Session_finalize(&s));
    T_OK(MPI_Comm_rank(stale, &rank) != MPI_SUCCESS);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "strict_finalize", "true");
    T_MPI(MPI_Session_init(info, MPI_ERRORS_RETURN, &s));
    MPI_Info_free(&info);
    left = s_comm(s, "mpi://WORLD", "left");
    MPI_Comm_set_name(left, "forgotten");
    T_REFUSED(MPI_Session_finalize(&s), MPI_ERR_SESSION, "forgotten");
    T_OK(s != MPI_SESSION_NULL);
    T_MPI(MPI_Comm_free(&left));
    T_MPI(MPI_Session_finalize(&s));
}

static void buffers(void)
{
    MPI_Session s = s_open();
    MPI_Comm c = s_comm(s, "mpi://WORLD", "buffers");
    static char room[4096];
    void *back;
    int rank, size, n, out, in = -1;
    MPI_Request r;
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    out = rank;
    T_OK(MPI_Bsend(&out, 1, MPI_INT, rank, 1, c) != MPI_SUCCESS);
    T_MPI(MPI_Session_attach_buffer(s, room, sizeof room));
    T_MPI(MPI_Bsend(&out, 1, MPI_INT, (rank + 1) % size, 1, c));
    T_MPI(MPI_Recv(&in, 1, MPI_INT, (rank + size - 1) % size, 1, c, MPI_STATUS_IGNORE));
    T_EQ(in, (rank + size - 1) % size);
    T_MPI(MPI_Session_flush_buffer(s));
    T_MPI(MPI_Session_iflush_buffer(s, &r));
    T_MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
    T_MPI(MPI_Session_detach_buffer(s, &back, &n));
    T_OK(back == room);
    T_EQ(n, sizeof room);
    T_MPI(MPI_Comm_free(&c));
    T_MPI(MPI_Session_finalize(&s));
}

static void nobody(void)
{
    MPI_Session s = s_open();
    MPI_Comm c = MPI_COMM_WORLD;
    MPI_Group g, without;
    int rank, size, zero = 0;
    s_world(s, &rank, &size);
    T_MPI(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "e", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c));
    T_OK(c == MPI_COMM_NULL);
    g = s_group(s, "mpi://WORLD");
    MPI_Group_excl(g, 1, &zero, &without);
    if (rank == 0 && size > 1) {
        T_REFUSED(MPI_Comm_create_from_group(without, "e", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c),
                  MPI_ERR_GROUP, "not one of the");
    }
    MPI_Group_free(&g);
    if (without != MPI_GROUP_EMPTY) {
        MPI_Group_free(&without);
    }
    T_MPI(MPI_Session_finalize(&s));
}

static void all(int salt)
{
    MPI_Session s = s_open();
    MPI_Comm w = s_comm(s, "mpi://WORLD", "w"), self = s_comm(s, "mpi://SELF", "w");
    s_check(w, salt);
    s_check(self, salt + 1);
    MPI_Comm_free(&w);
    MPI_Comm_free(&self);
    MPI_Session_finalize(&s);
    hints();
    sets();
    handlers();
    mixing();
    leftovers();
    buffers();
    nobody();
}

// A communicator of a session has the greatest tag; nothing that speaks of a world.
static void attributes(MPI_Comm c)
{
    static const int of_world[] = { MPI_HOST,   MPI_IO,           MPI_WTIME_IS_GLOBAL,
                                    MPI_APPNUM, MPI_LASTUSEDCODE, MPI_UNIVERSE_SIZE };
    MPI_Comm copy;
    int *value, flag = 0;
    T_MPI(MPI_Comm_dup(c, &copy));
    T_MPI(MPI_Comm_get_attr(copy, MPI_TAG_UB, &value, &flag));
    T_EQ(flag, 1);
    T_OK(flag && *value >= 32767);
    for (size_t i = 0; i < sizeof of_world / sizeof of_world[0]; i++) {
        T_MPI(MPI_Comm_get_attr(i % 2 ? copy : c, of_world[i], &value, &flag));
        T_EQ(flag, 0);
    }
    MPI_Comm_free(&copy);
}

int main(int argc, char **argv)
{
    int flag, provided;
    all(1); // before the world
    MPI_Initialized(&flag);
    T_EQ(flag, 0);
    MPI_Session kept = s_open();
    MPI_Comm across = s_comm(kept, "mpi://WORLD", "across");
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    all(2); // beside it
    s_check(across, 9);
    attributes(across);
    MPI_Group world, of_session = s_group(kept, "mpi://WORLD"), both;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    T_OK(MPI_Group_union(world, of_session, &both) != MPI_SUCCESS);
    MPI_Comm none;
    T_OK(MPI_Intercomm_create(MPI_COMM_SELF, 0, across, 0, 0, &none) != MPI_SUCCESS);
    MPI_Group_free(&world);
    MPI_Finalize();
    s_check(across, 11);
    MPI_Group_free(&of_session);
    MPI_Comm_free(&across);
    T_MPI(MPI_Session_finalize(&kept));
    MPI_Finalized(&flag);
    T_EQ(flag, 1);
    MPI_Errhandler e;
    MPI_Session last;
    T_MPI(MPI_Session_create_errhandler(on_session, &e));
    T_MPI(MPI_Session_init(MPI_INFO_NULL, e, &last));
    MPI_Errhandler_free(&e);
    MPI_Comm w = s_comm(last, "mpi://WORLD", "after");
    s_check(w, 13);
    MPI_Comm_free(&w);
    T_MPI(MPI_Session_finalize(&last));
    return t_status();
}
