! Sessions, and what Open MPI 5 has besides, by mpif.h. Two ranks. Neither MPICH 4.0 nor Open MPI 4 names the constant there.
program foreign_sessions
  implicit none
  include 'mpif.h'
#ifdef OF_OPENMPI
  integer, parameter :: SESSION_NULL = 0
#else
  integer, parameter :: SESSION_NULL = int(z'38000000')
#endif
  integer :: session, group, comm, rank, n, got, ierror
  integer :: status(MPI_STATUS_SIZE)
#ifdef OF_OPENMPI
  integer :: f08_status(MPI_STATUS_SIZE), again(MPI_STATUS_SIZE), flag, shrunk, length
  character(len=64) :: name
#endif
  logical :: ok
  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session, ierror)
  ok = session /= SESSION_NULL
  call MPI_Session_get_num_psets(session, MPI_INFO_NULL, n, ierror)
  ok = ok .and. n >= 2
#ifdef OF_OPENMPI
  ! The library of MPICH 4.0.2, which is used as it is, takes 1 from the number.
  length = len(name)
  call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, name, ierror)
  ok = ok .and. name(1:6) == 'mpi://'
#endif
  call MPI_Group_from_session_pset(session, 'mpi://WORLD', group, ierror)
  call MPI_Comm_create_from_group(group, 'test', MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm, ierror)
  call MPI_Comm_rank(comm, rank, ierror)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, 1 - rank, 4, got, 1, MPI_INTEGER, MPI_ANY_SOURCE, 4, comm, status, ierror)
  ok = ok .and. got == 1 - rank .and. status(MPI_SOURCE) == 1 - rank
#ifdef OF_OPENMPI
  call MPI_Status_f2f08(status, f08_status, ierror)
  call MPI_Status_f082f(f08_status, again, ierror)
  ok = ok .and. all(again == status)
  flag = 2 + rank
  call MPIX_Comm_agree(comm, flag, ierror)
  call MPIX_Comm_shrink(comm, shrunk, ierror)
  call MPI_Comm_size(shrunk, n, ierror)
  ok = ok .and. flag == 2 .and. n == 2
  call MPI_Comm_free(shrunk, ierror)
#endif
  call MPI_Comm_free(comm, ierror)
  call MPI_Group_free(group, ierror)
  call MPI_Session_finalize(session, ierror)
  ok = ok .and. session == SESSION_NULL
  if (.not. ok) stop 1
  if (rank == 0) print '(a)', 'all is well'
end program
