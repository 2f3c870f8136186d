// SPDX-License-Identifier: BSD-3-Clause
// The C++ bindings of MPICH and Open MPI: functions of the program that MPI calls.
#include "t.h"

#include <mpi.h>
#include <unistd.h>

static int n_copied, n_deleted, n_raised, n_queried, n_freed;

static void add(const void *in, void *inout, int len, const MPI::Datatype &type)
{
    T_EQ(type.Get_size(), (int)sizeof(int));
    for (int i = 0; i < len; i++) {
        static_cast<int *>(inout)[i] += static_cast<const int *>(in)[i] + 1;
    }
}

static int copy(const MPI::Comm &old, int, void *extra, void *in, void *out, bool &flag)
{
    T_EQ(old.Get_size(), MPI::COMM_WORLD.Get_size());
    T_EQ(*static_cast<int *>(extra), 7);
    T_EQ(old.Get_topology(), n_copied == 0 ? (int)MPI::UNDEFINED : (int)MPI::CART);
    *static_cast<void **>(out) = in;
    flag = true;
    n_copied++;
    return MPI::SUCCESS;
}

static int drop(MPI::Comm &comm, int, void *, void *extra)
{
    T_EQ(comm.Get_size(), MPI::COMM_WORLD.Get_size());
    T_EQ(*static_cast<int *>(extra), 7);
    n_deleted++;
    return MPI::SUCCESS;
}

#ifdef OMPI_MPI_H
typedef const void *value; // its bindings differ in this
#else
typedef void *value;
#endif

static int copy_type(const MPI::Datatype &, int, void *, value in, void *out, bool &flag)
{
    *static_cast<value *>(out) = in;
    flag = true;
    n_copied += 100;
    return MPI::SUCCESS;
}

static int drop_type(MPI::Datatype &, int, void *, void *)
{
    n_deleted += 100;
    return MPI::SUCCESS;
}

static int copy_win(const MPI::Win &, int, void *, void *, void *, bool &)
{
    return MPI::SUCCESS; // a window is never copied
}

static int drop_win(MPI::Win &, int, void *, void *)
{
    n_deleted += 10000;
    return MPI::SUCCESS;
}

static void raised(MPI::Comm &comm, int *code, ...)
{
    T_EQ(comm.Get_size(), MPI::COMM_WORLD.Get_size());
    T_EQ(MPI::Get_error_class(*code), MPI::ERR_RANK);
    n_raised++;
    *code = MPI::SUCCESS;
}

static void raised_file(MPI::File &, int *code, ...)
{
    T_EQ(MPI::Get_error_class(*code), MPI::ERR_ARG);
    n_raised += 100;
    *code = MPI::SUCCESS;
}

static int query(void *extra, MPI::Status &s)
{
    s.Set_elements(MPI::BYTE, *static_cast<int *>(extra));
    s.Set_cancelled(false);
    n_queried++;
    return MPI::SUCCESS;
}

static int release(void *)
{
    n_freed++;
    return MPI::SUCCESS;
}

static int cancel(void *, bool)
{
    return MPI::SUCCESS;
}

static void attributes(void)
{
    int seven = 7, value = 1;
    int key = MPI::Comm::Create_keyval(copy, drop, &seven);
    MPI::Intracomm a = MPI::COMM_WORLD.Dup();
    a.Set_attr(key, &value);
    MPI::Intracomm b = a.Dup();
    int dims[1] = { MPI::COMM_WORLD.Get_size() };
    const bool periods[1] = { true };
    MPI::Cartcomm c = a.Create_cart(1, dims, periods, false);
    c.Set_attr(key, &value);
    MPI::Cartcomm d = c.Dup();
    void *got = NULL;
    T_OK(b.Get_attr(key, &got) && got == &value);
    T_EQ(n_copied, 2);
    a.Free();
    b.Free();
    c.Free();
    d.Free();
    T_EQ(n_deleted, 4);
    MPI::Comm::Free_keyval(key);

    int type_key = MPI::Datatype::Create_keyval(copy_type, drop_type, NULL);
    MPI::Datatype t = MPI::INT.Create_contiguous(2);
    t.Set_attr(type_key, &value);
    MPI::Datatype u = t.Dup();
    T_EQ(n_copied, 102);
    t.Free();
    u.Free();
    T_EQ(n_deleted, 204);
    MPI::Datatype::Free_keyval(type_key);

    int win_key = MPI::Win::Create_keyval(copy_win, drop_win, NULL);
    MPI::Win w = MPI::Win::Create(NULL, 0, 1, MPI::INFO_NULL, MPI::COMM_WORLD);
    w.Set_attr(win_key, &value);
    w.Free();
    T_EQ(n_deleted, 10204);
    MPI::Win::Free_keyval(win_key);
}

static void errors(void)
{
    MPI::Intracomm a = MPI::COMM_WORLD.Dup();
    MPI::Errhandler h = MPI::Comm::Create_errhandler(raised);
    a.Set_errhandler(h);
    a.Send(NULL, 0, MPI::INT, 1000, 1);
    T_EQ(n_raised, 1);
    MPI::Errhandler back = a.Get_errhandler();
    MPI::COMM_SELF.Set_errhandler(back);
    back.Free();
    h.Free();
    a.Send(NULL, 0, MPI::INT, 1000, 1);
    T_EQ(n_raised, 2);
    a.Free();
    MPI::COMM_SELF.Set_errhandler(MPI::ERRORS_ARE_FATAL);

    char name[] = "cxx.XXXXXX";
    int fd = mkstemp(name);
    MPI::File f = MPI::File::Open(MPI::COMM_SELF, name, MPI::MODE_RDWR, MPI::INFO_NULL);
    MPI::Errhandler file_handler = MPI::File::Create_errhandler(raised_file);
    f.Set_errhandler(file_handler);
    file_handler.Free();
    f.Set_size(-1);
    T_EQ(n_raised, 102);
    f.Close();
    close(fd);
    unlink(name);

    // The bindings of MPICH throw; those of Open MPI as Debian has it set a variable.
    MPI::Intracomm thrower = MPI::COMM_WORLD.Dup();
    thrower.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    int class_ = MPI::SUCCESS;
    try {
        thrower.Send(NULL, 0, MPI::INT, 1000, 1);
#ifdef OMPI_MPI_H
        class_ = MPI::Get_error_class(MPI::mpi_errno);
#endif
    } catch (MPI::Exception &e) {
        class_ = e.Get_error_class();
    }
    T_EQ(class_, MPI::ERR_RANK);
    thrower.Free();
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    int size = MPI::COMM_WORLD.Get_size(), sum = 0, five = 5;
    MPI::Op op;
    op.Init(add, false);
    MPI::COMM_WORLD.Allreduce(&five, &sum, 1, MPI::INT, op);
    T_EQ(sum, 5 * size + size - 1);
    op.Free();

    attributes();
    errors();

    MPI::Grequest r;
    r = r.Start(query, release, cancel, &five); // no static function in MPICH
    MPI::Status s;
    r.Complete();
    r.Wait(s);
    T_EQ(s.Get_elements(MPI::BYTE), 5);
    T_OK(n_queried == 1 && n_freed == 1);
    MPI::Finalize();
    return t_status();
}
