! SPDX-License-Identifier: BSD-3-Clause
! A Fortran program in a world of several clients: messages, collectives, a split.
program world
  use mpi
  implicit none
  integer :: ierr, me, n, v, s, req(2), half, hn
  integer(kind=MPI_ADDRESS_KIND) :: ub
  integer :: least, most
  logical :: flag
  double precision :: d(3), e(3)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  v = me
  call MPI_Allreduce(v, s, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (s /= n*(n-1)/2) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
  d = me + 0.5d0
  call MPI_Irecv(e, 3, MPI_DOUBLE_PRECISION, mod(me+n-1,n), 7, MPI_COMM_WORLD, req(1), ierr)
  call MPI_Isend(d, 3, MPI_DOUBLE_PRECISION, mod(me+1,n), 7, MPI_COMM_WORLD, req(2), ierr)
  call MPI_Waitall(2, req, MPI_STATUSES_IGNORE, ierr)
  if (e(2) /= mod(me+n-1,n)+0.5d0) call MPI_Abort(MPI_COMM_WORLD, 4, ierr)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(me,2), me, half, ierr)
  call MPI_Comm_size(half, hn, ierr)
  if (hn /= (n+1-mod(me,2))/2) call MPI_Abort(MPI_COMM_WORLD, 5, ierr)
  call MPI_Bcast(v, 1, MPI_INTEGER, 0, half, ierr)
  if (v /= mod(me,2)) call MPI_Abort(MPI_COMM_WORLD, 6, ierr)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, ub, flag, ierr) ! one for all clients
  if (.not. flag) call MPI_Abort(MPI_COMM_WORLD, 7, ierr)
  v = int(ub)
  call MPI_Allreduce(v, least, 1, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD, ierr)
  call MPI_Allreduce(v, most, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
  if (least /= most) call MPI_Abort(MPI_COMM_WORLD, 8, ierr)
  write (*, '(A, I0, A, I0, A)') 'rank ', me, ' of ', n, ' ok'
  call MPI_Finalize(ierr)
end program
