! Datatypes of Fortran: their sizes, reductions, MPI_SIZEOF, types by precision, what C is told of Fortran. Two ranks.
program mpi_types
  use mpi
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: names(29) = [ &
    MPI_LOGICAL, MPI_INTEGER, MPI_REAL, MPI_COMPLEX, MPI_DOUBLE_PRECISION, MPI_DOUBLE_COMPLEX, MPI_CHARACTER, &
    MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_2INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8, MPI_INTEGER16, &
    MPI_REAL2, MPI_REAL4, MPI_REAL8, MPI_REAL16, MPI_COMPLEX4, MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32, &
    MPI_LOGICAL1, MPI_LOGICAL2, MPI_LOGICAL4, MPI_LOGICAL8, MPI_AINT, MPI_OFFSET]
  character(len=20), parameter :: words(29) = [character(len=20) :: &
    'LOGICAL', 'INTEGER', 'REAL', 'COMPLEX', 'DOUBLE_PRECISION', 'DOUBLE_COMPLEX', 'CHARACTER', &
    '2REAL', '2DOUBLE_PRECISION', '2INTEGER', 'INTEGER1', 'INTEGER2', 'INTEGER4', 'INTEGER8', 'INTEGER16', &
    'REAL2', 'REAL4', 'REAL8', 'REAL16', 'COMPLEX4', 'COMPLEX8', 'COMPLEX16', 'COMPLEX32', &
    'LOGICAL1', 'LOGICAL2', 'LOGICAL4', 'LOGICAL8', 'AINT', 'OFFSET']
  integer, parameter :: sizes(29) = [ &
    4, 4, 4, 8, 8, 16, 1, 8, 16, 8, 1, 2, 4, 8, 16, 2, 4, 8, 16, 4, 8, 16, 32, 1, 2, 4, 8, 8, 8]
  integer :: failed, rank, ierror, i, n, type, info, pair(2), pair_out(2)
  integer :: requests(2), statuses(MPI_STATUS_SIZE, 2), counts(3), places(3), ones(4)
  integer(1) :: i1
  integer(2) :: i2
  integer(8) :: i8, i8_out
  integer(8) :: bytes
  real :: r, r_out, r2(2), r2_out(2)
  double precision :: d, d_out, d2(2), d2_out(2)
  complex :: c, c_out
  complex(8) :: z, z_out, cube(2, 2, 2)
  logical :: l, l_out, flag, yes, no
  character(len=7) :: word
  character(len=20) :: value
  type(c_ptr) :: memory
  integer(kind=MPI_ADDRESS_KIND) :: address
  real(8), pointer :: array(:)
  failed = 0
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  ! A datatype that the library below refuses fails its own checks alone.
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierror)
  do i = 1, ubound(names, 1)
    call MPI_Type_size(names(i), n, ierror)
    call check(ierror == MPI_SUCCESS .and. n == sizes(i), 'size of a type: '//trim(words(i)))
    call MPI_Type_size(names(i), bytes, ierror)
    call check(ierror == MPI_SUCCESS .and. bytes == sizes(i), 'size of a type as a count: '//trim(words(i)))
  end do
  call MPI_Sizeof(i1, n, ierror)
  call check(n == 1, 'size of an integer(1)')
  call MPI_Sizeof(i2, n, ierror)
  call check(n == 2, 'size of an integer(2)')
  call MPI_Sizeof(cube, n, ierror)
  call check(n == 16, 'size of an element')
  call MPI_Sizeof(word, n, ierror)
  call check(n == 7, 'size of a string')
  call MPI_Sizeof(l, n, ierror)
  call check(n == 4, 'size of a logical')

  i8 = 2_8**40 * (rank + 1)
  call MPI_Allreduce(i8, i8_out, 1, MPI_INTEGER8, MPI_MAX, MPI_COMM_WORLD, ierror)
  call check(i8_out == 2_8**41, 'maximum of integer(8)')
  r = rank + 0.5
  call MPI_Allreduce(r, r_out, 1, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check(r_out == 2.0, 'sum of reals')
  d = rank + 2d0
  call MPI_Allreduce(d, d_out, 1, MPI_DOUBLE_PRECISION, MPI_PROD, MPI_COMM_WORLD, ierror)
  call check(d_out == 6d0, 'product of double precision')
  c = cmplx(1, rank)
  call MPI_Allreduce(c, c_out, 1, MPI_COMPLEX, MPI_PROD, MPI_COMM_WORLD, ierror)
  call check(c_out == (1.0, 1.0), 'product of complex')
  z = cmplx(rank, 1, 8)
  call MPI_Allreduce(z, z_out, 1, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check(z_out == (1d0, 2d0), 'sum of double complex')
  l = rank == 0
  call MPI_Allreduce(l, l_out, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierror)
  call check(.not. l_out, 'and of logicals')
  call MPI_Allreduce(l, l_out, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierror)
  call check(l_out .eqv. .true., 'or of logicals')
  call MPI_Allreduce(l, l_out, 1, MPI_LOGICAL, MPI_LXOR, MPI_COMM_WORLD, ierror)
  call check(l_out .eqv. .true., 'exclusive or of logicals')
  pair = [10 - rank, rank]
  call MPI_Allreduce(pair, pair_out, 1, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD, ierror)
  call check(all(pair_out == [9, 1]), 'minimum and its place, integers')
  r2 = [real(rank), real(rank)]
  call MPI_Allreduce(r2, r2_out, 1, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD, ierror)
  call check(all(r2_out == [1.0, 1.0]), 'maximum and its place, reals')
  d2 = [-1d0 * rank, 1d0 * rank]
  call MPI_Allreduce(d2, d2_out, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, MPI_COMM_WORLD, ierror)
  call check(all(d2_out == [0d0, 0d0]), 'maximum and its place, double precision')
  n = ibset(0, rank)
  call MPI_Allreduce(n, i, 1, MPI_INTEGER, MPI_BOR, MPI_COMM_WORLD, ierror)
  call check(i == 3, 'bits of integers')

  call MPI_Type_create_f90_real(15, 307, type, ierror)
  call MPI_Type_size(type, n, ierror)
  call check(n == 8, 'a real by its precision')
  call MPI_Type_create_f90_complex(6, 37, type, ierror)
  call MPI_Type_size(type, n, ierror)
  call check(n == 8, 'a complex by its precision')
  call MPI_Type_create_f90_integer(15, type, ierror)
  call MPI_Type_size(type, n, ierror)
  call check(n == 8, 'an integer by its range')
  call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, type, ierror)
  call MPI_Type_size(type, n, ierror)
  call check(n == 8, 'a type by its size')

  ! An element stands for the array that begins there, and a longer array for its beginning.
  call MPI_Isend(rank, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, requests(1), ierror)
  call MPI_Irecv(n, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, requests(2), ierror)
  call MPI_Waitany(1, requests(2), i, statuses(1, 2), ierror)
  call check(n == rank .and. statuses(MPI_TAG, 2) == 3, 'an element of an array of statuses')
  call MPI_Waitany(2, requests, i, statuses, ierror)
  call check(i == 1 .and. requests(1) == MPI_REQUEST_NULL, 'an array of statuses for one')
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, 0, 4, n, 1, MPI_INTEGER, 0, 4, MPI_COMM_SELF, statuses(1, 1), ierror)
  call check(n == rank .and. statuses(MPI_TAG, 1) == 4, 'an element of an array of statuses, in a call with buffers')
  counts = [7, 1, 2]
  places = [7, 0, 1]
  ones = -1
  call MPI_Allgatherv([rank, rank + 5], rank + 1, MPI_INTEGER, ones, counts(2), places(2), MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call check(all(ones(:3) == [0, 1, 6]), 'elements of arrays of counts and displacements')

  ! What MPI_IN_PLACE makes unused need not be an array; one datatype may be the first of many.
  ones = [10, 11, -1, -1] + 10 * rank
  call MPI_Alltoallv(MPI_IN_PLACE, 0, 0, MPI_DATATYPE_NULL, ones, [1, 1], [0, 1], MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call check(all(ones(:2) == [10, 20] + rank), 'zeros for arrays, in place')
  pair = MPI_INTEGER
  call MPI_Alltoallv(ones(:2) + 1, [1, 1], [0, 1], pair, pair_out, [1, 1], [0, 1], pair, MPI_COMM_WORLD, ierror)
  call check(all(pair_out == [11, 12] + 10 * rank), 'an array for one datatype')
  ones = [10, 11, -1, -1] + 10 * rank
  call MPI_Ialltoallw(MPI_IN_PLACE, 0, 0, MPI_DATATYPE_NULL, ones, [1, 1], [0, 4], pair, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Wait(requests(1), statuses(1, 2), ierror)
  call check(all(ones(:2) == [10, 20] + rank), 'zeros for arrays of datatypes, in place')

  ! Memory by address and by pointer.
  address = 80
  call MPI_Alloc_mem(address, MPI_INFO_NULL, memory, ierror)
  call c_f_pointer(memory, array, [10])
  array = rank
  call check(sum(array) == 10 * rank, 'memory by pointer')
  call MPI_Free_mem(array, ierror)
  ! Large counts have the same names where no argument is an array.
  bytes = 1
  n = rank
  call MPI_Bcast(n, bytes, MPI_INTEGER, 1, MPI_COMM_WORLD, ierror)
  call check(n == 1, 'a broadcast with a large count')
  call MPI_Recv_c(n, bytes, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, statuses(1, 1), ierror)
  call check(statuses(MPI_SOURCE, 1) == MPI_PROC_NULL, 'a receive with a large count')
  address = MPI_Aint_add(100_MPI_ADDRESS_KIND, -40_MPI_ADDRESS_KIND)
  call check(address == 60 .and. MPI_Aint_diff(address, 10_MPI_ADDRESS_KIND) == 50, 'addresses')

  call MPI_Abi_get_fortran_info(info, ierror)
  call check(info /= MPI_INFO_NULL, 'what C knows of Fortran')
  call MPI_Info_get(info, 'mpi_integer_size', 20, value, flag, ierror)
  call check(flag .and. value == '4', 'size of an integer that C knows')
  call MPI_Info_free(info, ierror)
  call MPI_Abi_get_fortran_booleans(4, yes, no, flag, ierror)
  call check(flag .and. yes .and. .not. no, 'values of logicals that C knows')
  call MPI_Abi_get_version(i, n, ierror)
  call check(i == 1, 'version of the ABI')

  call MPI_Allreduce(failed, n, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
  if (n > 0) stop 1
  if (rank == 0) print '(a)', 'all good'
contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (.not. ok) then
      failed = failed + 1
      print '(2a)', 'failed: ', what
    end if
  end subroutine
end program
