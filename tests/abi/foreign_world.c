// SPDX-License-Identifier: BSD-3-Clause
// A program that any MPI's compiler builds: what differs between ABIs, from all sides. Its ranks
// may be built with different MPIs.
#include "t.h"

#include <mpi.h>
#include <unistd.h>

static int rank, size;

static void messages(void)
{
    MPI_Status s, all[4];
    MPI_Request r[4];
    MPI_Message m;
    int to = (rank + 1) % size, from = (rank + size - 1) % size, got = -1, n, flag, indices[4];
    s.MPI_ERROR = 77;
    MPI_Sendrecv(&rank, 1, MPI_INT, to, 5, &got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &s);
    T_OK(got == from && s.MPI_SOURCE == from && s.MPI_TAG == 5);
    MPI_Get_count(&s, MPI_INT, &n);
    T_EQ(n, 1);
    MPI_Get_count(&s, MPI_DOUBLE, &n);
    T_EQ(n, MPI_UNDEFINED);
    MPI_Test_cancelled(&s, &flag);
    T_EQ(flag, 0);
    MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
    T_OK(s.MPI_SOURCE == MPI_PROC_NULL && s.MPI_TAG == MPI_ANY_TAG);
    double in[4] = { 0 }, out[4] = { rank, rank + 1, rank + 2, rank + 3 };
    r[1] = MPI_REQUEST_NULL;
    MPI_Irecv(in, 4, MPI_DOUBLE, from, 6, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(out, 4, MPI_DOUBLE, to, 6, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(out, 0, MPI_DOUBLE, MPI_PROC_NULL, 6, MPI_COMM_WORLD, &r[3]);
    T_EQ(MPI_Waitall(4, r, all), MPI_SUCCESS);
    T_OK(r[0] == MPI_REQUEST_NULL && r[1] == MPI_REQUEST_NULL && r[2] == MPI_REQUEST_NULL);
    T_OK(all[0].MPI_SOURCE == from && all[0].MPI_TAG == 6 && in[3] == from + 3);
    T_OK(all[1].MPI_SOURCE == MPI_ANY_SOURCE && all[1].MPI_TAG == MPI_ANY_TAG);
    MPI_Recv_init(in, 4, MPI_DOUBLE, from, 7, MPI_COMM_WORLD, &r[0]);
    MPI_Ssend_init(out, 4, MPI_DOUBLE, to, 7, MPI_COMM_WORLD, &r[1]);
    for (int i = 0; i < 3; i++) {
        out[0] = 100 * i + rank;
        MPI_Startall(2, r);
        int done = 0;
        while (done < 2) {
            MPI_Waitsome(2, r, &n, indices, all);
            for (int k = 0; k < n; k++) {
                T_OK(indices[k] == 1 || all[k].MPI_SOURCE == from);
            }
            done += n;
        }
        T_OK(r[0] != MPI_REQUEST_NULL && in[0] == 100 * i + from);
    }
    MPI_Testany(2, r, &n, &flag, &s);
    T_OK(flag && n == MPI_UNDEFINED);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    T_OK(r[0] == MPI_REQUEST_NULL);
    MPI_Isend(&rank, 1, MPI_INT, to, 8, MPI_COMM_WORLD, &r[0]);
    MPI_Mprobe(from, 8, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE);
    MPI_Mrecv(&got, 1, MPI_INT, &m, MPI_STATUS_IGNORE);
    T_OK(m == MPI_MESSAGE_NULL && got == from);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    char room[4 * (64 + MPI_BSEND_OVERHEAD)], *back = NULL;
    MPI_Buffer_attach(room, sizeof room);
    for (int i = 0; i < 4; i++) {
        MPI_Bsend(out, 8, MPI_INT, to, 9 + i, MPI_COMM_WORLD);
    }
    for (int i = 0; i < 4; i++) {
        MPI_Recv(in, 8, MPI_INT, from, 9 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Buffer_detach(&back, &n);
    T_OK(back == room && n == (int)sizeof room);
}

static int n_call, type_seen;

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    n_call++;
    type_seen |= *type == MPI_INT;
    for (int i = 0; i < *len; i++) {
        ((int *)inout)[i] += ((int *)in)[i];
    }
}

static void collectives(void)
{
    int mine[8], all[64], counts[64], displs[64], want = size * (size - 1) / 2, sum = 0;
    MPI_Datatype types[64];
    for (int i = 0; i < 8; i++) {
        mine[i] = rank;
    }
    sum = rank;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    T_EQ(sum, want);
    all[rank] = rank;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Gather(rank == 0 ? MPI_IN_PLACE : mine, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) {
        T_EQ(all[i], i);
        counts[i] = 1;
        displs[i] = i * (int)sizeof(int);
        types[i] = MPI_INT;
    }
    int out[64];
    MPI_Request r;
    MPI_Alltoallw(all, counts, displs, types, out, counts, displs, types, MPI_COMM_WORLD);
    T_EQ(out[size - 1], rank);
    MPI_Ialltoallw(all, counts, displs, types, out, counts, displs, types, MPI_COMM_WORLD, &r);
    for (int i = 0; i < size; i++) {
        types[i] = MPI_DATATYPE_NULL; // only a copy may be in use, of ours
    }
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    T_EQ(out[0], rank);
    struct {
        double value;
        int at;
    } pair = { rank, rank }, most;
    MPI_Allreduce(&pair, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    T_EQ(most.at, size - 1);
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(mine, out, 8, MPI_INT, op, MPI_COMM_WORLD);
    int calls[2] = { n_call, type_seen };
    MPI_Allreduce(MPI_IN_PLACE, calls, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    T_OK(out[7] == want && (n_call > 0) == type_seen && (size == 1 || calls[0] > 0));
    MPI_Op_free(&op);
    T_OK(op == MPI_OP_NULL);
}

static void datatypes(void)
{
    int sizes[2] = { 4, 6 }, sub[2] = { 2, 3 }, starts[2] = { 1, 2 };
    int ints[32], distribs[2] = { MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC };
    int dargs[2] = { MPI_DISTRIBUTE_DFLT_DARG, 2 }, psizes[2] = { 1, 1 };
    int ni, na, nd, combiner, len, n;
    MPI_Aint addresses[4];
    MPI_Datatype t, d, kept[4];
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Type_create_subarray(2, sizes, sub, starts, MPI_ORDER_FORTRAN, MPI_FLOAT, &t);
    MPI_Type_commit(&t);
    MPI_Type_size(t, &n);
    T_EQ(n, 24);
    MPI_Type_get_envelope(t, &ni, &na, &nd, &combiner);
    T_EQ(combiner, MPI_COMBINER_SUBARRAY);
    MPI_Type_get_contents(t, ni, na, nd, ints, addresses, kept);
    T_OK(ints[7] == MPI_ORDER_FORTRAN && kept[0] == MPI_FLOAT);
    MPI_Type_create_darray(1, 0, 2, sizes, distribs, dargs, psizes, MPI_ORDER_C, t, &d);
    MPI_Type_get_envelope(d, &ni, &na, &nd, &combiner);
    T_EQ(combiner, MPI_COMBINER_DARRAY);
    MPI_Type_get_contents(d, ni, na, nd, ints, addresses, kept);
    T_OK(ints[5] == MPI_DISTRIBUTE_BLOCK && ints[7] == MPI_DISTRIBUTE_DFLT_DARG &&
         ints[11] == MPI_ORDER_C);
    MPI_Type_free(&kept[0]);
    MPI_Type_get_name(MPI_DOUBLE, name, &len);
    T_OK(strcmp(name, "MPI_DOUBLE") == 0 && len == 10);
    MPI_Type_free(&d);
    MPI_Type_free(&t);
    T_OK(t == MPI_DATATYPE_NULL);
    MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 8, &t);
    MPI_Type_size(t, &n);
    T_EQ(n, 8);
}

static int n_copy, n_drop;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    n_copy += comm == MPI_COMM_WORLD && key != MPI_KEYVAL_INVALID && *(int *)extra == 9;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int drop(MPI_Comm comm, int key, void *value, void *extra)
{
    n_drop +=
        comm != MPI_COMM_NULL && key != MPI_KEYVAL_INVALID && value != NULL && *(int *)extra == 9;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int extra = 9, key, key2, flag, *number;
    char cell[4], *got;
    MPI_Comm dup;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &number, &flag);
    T_OK(flag && *number >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &number, &flag);
    T_OK(flag && *number >= MPI_ERR_LASTCODE);
    MPI_Comm_create_keyval(copy, drop, &key, &extra);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key2, NULL);
    T_OK(key != key2);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, cell);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key2, cell);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_get_attr(dup, key, &got, &flag);
    T_OK(flag && got == cell + 1 && n_copy == 1);
    MPI_Comm_get_attr(dup, key2, &got, &flag);
    T_OK(flag && got == cell);
    MPI_Comm_compare(dup, MPI_COMM_WORLD, &flag);
    T_EQ(flag, MPI_CONGRUENT);
    MPI_Comm_free(&dup);
    T_OK(dup == MPI_COMM_NULL && n_drop == 1);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key2);
    T_EQ(n_drop, 2);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free_keyval(&key2);
    T_EQ(key, MPI_KEYVAL_INVALID);
}

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    int class;
    MPI_Error_class(*code, &class);
    handled += *comm == MPI_COMM_WORLD && class == MPI_ERR_RANK;
}

static void errors(void)
{
    MPI_Errhandler h, old;
    char text[MPI_MAX_ERROR_STRING];
    int class, len, added, code;
    MPI_Comm_create_errhandler(handler, &h);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, h);
    T_OK(MPI_Send(NULL, 0, MPI_INT, size + 5, 0, MPI_COMM_WORLD) != MPI_SUCCESS && handled == 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &old);
    T_OK(old == MPI_ERRORS_RETURN);
    code = MPI_Bcast(&len, -1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    T_EQ(class, MPI_ERR_COUNT);
    MPI_Error_string(code, text, &len);
    T_OK(strstr(text, "MPI_Bcast") != NULL && len == (int)strlen(text));
    code = MPI_Send(&len, 1, MPI_INT, 0, -7, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    T_EQ(class, MPI_ERR_TAG);
    MPI_Error_string(MPI_ERR_TRUNCATE, text, &len);
    T_OK(strstr(text, "TRUNC") != NULL || strstr(text, "trunc") != NULL || strstr(text, "short"));
    MPI_Add_error_class(&added);
    T_OK(added > MPI_ERR_LASTCODE);
    MPI_Add_error_code(added, &code);
    MPI_Add_error_string(code, "ours");
    MPI_Error_class(code, &class);
    T_EQ(class, added);
    MPI_Error_string(code, text, &len);
    T_OK(strcmp(text, "ours") == 0);
    int four[4] = { 1, 2, 3, 4 }, one;
    MPI_Status s[2];
    MPI_Request r[2];
    MPI_Irecv(&one, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(four, 4, MPI_INT, rank, 3, MPI_COMM_WORLD, &r[1]);
    T_EQ(MPI_Waitall(2, r, s), MPI_ERR_IN_STATUS);
    MPI_Error_class(s[0].MPI_ERROR, &class);
    T_EQ(class, MPI_ERR_TRUNCATE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&h);
    T_OK(h == MPI_ERRHANDLER_NULL);
}

static int query(void *extra, MPI_Status *s)
{
    MPI_Status_set_elements(s, MPI_INT, *(int *)extra);
    MPI_Status_set_cancelled(s, 0);
    s->MPI_SOURCE = MPI_ANY_SOURCE;
    s->MPI_TAG = 44;
    return MPI_SUCCESS;
}

static int forget(void *extra)
{
    *(int *)extra = -1;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}

static void requests(void)
{
    int n = 6, count;
    MPI_Request r;
    MPI_Status s;
    MPI_Grequest_start(query, forget, cancel, &n, &r);
    MPI_Grequest_complete(r);
    MPI_Wait(&r, &s);
    MPI_Get_elements(&s, MPI_INT, &count);
    T_OK(count == 6 && s.MPI_TAG == 44 && s.MPI_SOURCE == MPI_ANY_SOURCE && n == -1);
}

static void windows(void)
{
    int *base, *got, flag, *number, value = rank + 1, back = -1, to = (rank + 1) % size;
    MPI_Win w;
    MPI_Win_allocate(2 * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    MPI_Win_get_attr(w, MPI_WIN_CREATE_FLAVOR, &number, &flag);
    T_OK(flag && *number == MPI_WIN_FLAVOR_ALLOCATE);
    MPI_Win_get_attr(w, MPI_WIN_MODEL, &number, &flag);
    T_OK(flag && (*number == MPI_WIN_UNIFIED || *number == MPI_WIN_SEPARATE));
    MPI_Win_get_attr(w, MPI_WIN_BASE, &got, &flag);
    T_OK(flag && got == base);
    base[0] = base[1] = 0;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, w);
    MPI_Put(&value, 1, MPI_INT, to, 0, 1, MPI_INT, w);
    MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, w);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w);
    T_EQ(base[0], (rank + size - 1) % size + 1);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w);
    MPI_Fetch_and_op(&value, &back, MPI_INT, 0, 1, MPI_SUM, w);
    MPI_Win_unlock(0, w);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w);
    MPI_Get(&back, 1, MPI_INT, 0, 1, 1, MPI_INT, w);
    MPI_Win_unlock(0, w);
    T_EQ(back, size * (size + 1) / 2);
    MPI_Win_free(&w);
    T_OK(w == MPI_WIN_NULL);
}

static void files(const char *name)
{
    MPI_File f;
    MPI_Offset len, at;
    MPI_Status s;
    int mode, n, class, got = -1, value = 7 * rank;
    class = MPI_File_open(MPI_COMM_WORLD, "no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &f);
    MPI_Error_class(class, &class);
    T_EQ(class, MPI_ERR_NO_SUCH_FILE);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &f);
    MPI_File_get_amode(f, &mode);
    T_EQ(mode, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_File_set_view(f, rank * (MPI_Offset)sizeof value, MPI_INT, MPI_INT, "native",
                      MPI_INFO_NULL);
    MPI_File_write_at_all(f, 0, &value, 1, MPI_INT, &s);
    MPI_Get_count(&s, MPI_INT, &n);
    T_EQ(n, 1);
    MPI_File_sync(f);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_seek(f, -(MPI_Offset)sizeof value / 4, MPI_SEEK_END);
    MPI_File_get_position(f, &at);
    MPI_File_read(f, &got, 1, MPI_INT, &s);
    MPI_File_get_size(f, &len);
    T_OK(at == size - 1 && got == 7 * (size - 1) && len == size * (MPI_Offset)sizeof value);
    MPI_File_close(&f);
    T_OK(f == MPI_FILE_NULL);
}

static void graphs(void)
{
    MPI_Comm c;
    int from, to, kind, in, out, weighted, dims = size, periods = 0, n = (rank + 1) % size;
    int ranks[2] = { 0, MPI_PROC_NULL }, other[2];
    MPI_Group g;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periods, 0, &c);
    MPI_Cart_shift(c, 0, 1, &from, &to);
    T_OK(rank > 0 || from == MPI_PROC_NULL);
    T_OK(rank < size - 1 || to == MPI_PROC_NULL);
    MPI_Topo_test(c, &kind);
    T_EQ(kind, MPI_CART);
    MPI_Comm_free(&c);
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, (int[]){ 1 }, &n, MPI_UNWEIGHTED, MPI_INFO_NULL,
                          0, &c);
    MPI_Dist_graph_neighbors_count(c, &in, &out, &weighted);
    T_OK(in == 1 && out == 1 && !weighted);
    MPI_Topo_test(c, &kind);
    T_EQ(kind, MPI_DIST_GRAPH);
    MPI_Comm_free(&c);
    MPI_Comm_group(MPI_COMM_WORLD, &g);
    MPI_Group_translate_ranks(g, 2, ranks, MPI_GROUP_EMPTY, other);
    T_OK(other[0] == MPI_UNDEFINED && other[1] == MPI_PROC_NULL);
    MPI_Group_free(&g);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c);
    MPI_Comm_compare(c, MPI_COMM_WORLD, &kind);
    T_OK(kind == MPI_CONGRUENT);
    MPI_Comm_free(&c);
}

static void spawned(const char *self)
{
    MPI_Comm c;
    int codes[2] = { -1, -1 }, n, sum;
    char *args[] = { (char *)"child", NULL };
    MPI_Comm_spawn(self, args, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &c, codes);
    T_OK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS);
    MPI_Comm_remote_size(c, &n);
    T_EQ(n, 2);
    n = rank + 1;
    MPI_Bcast(&n, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, c);
    MPI_Reduce(NULL, &sum, 0, MPI_INT, MPI_SUM, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, c);
    MPI_Comm_disconnect(&c);
}

static void child(void)
{
    MPI_Comm parent;
    int n = -1;
    MPI_Comm_get_parent(&parent);
    MPI_Bcast(&n, 1, MPI_INT, 0, parent);
    T_EQ(n, 1);
    MPI_Reduce(&n, NULL, 0, MPI_INT, MPI_SUM, 0, parent);
    MPI_Comm_disconnect(&parent);
}

int main(int argc, char **argv)
{
    int provided, version, subversion;
    char name[MPI_MAX_PROCESSOR_NAME], library[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    T_OK(provided >= MPI_THREAD_SERIALIZED && provided <= MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_version(&version, &subversion);
    T_OK(version == MPI_VERSION && subversion == MPI_SUBVERSION);
    MPI_Get_processor_name(name, &version);
    MPI_Get_library_version(library, &version);
#if defined OMPI_MAJOR_VERSION
    const char *begin = "Open MPI v4.", *within = ", package: Pliant MPI";
#elif defined MPICH_VERSION
    const char *begin = "MPICH Version:\t4.", *within = "MPICH Device: Pliant MPI";
#else
    const char *begin = "Pliant MPI", *within = "standard ABI";
#endif
    T_OK(strncmp(library, begin, strlen(begin)) == 0 && strstr(library, within) != NULL &&
         version == (int)strlen(library));
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        child();
    } else {
        messages();
        collectives();
        datatypes();
        attributes();
        errors();
        requests();
        windows();
        files(argv[1]);
        graphs();
        spawned(argv[2]);
        if (rank == 0 && t_failed == 0) {
            printf("all is well\n");
        }
    }
    MPI_Finalize();
    return t_failed != 0;
}
