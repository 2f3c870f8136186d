! Procedures of a program that MPI calls, through the module mpi. Two ranks.
module procedures
  use mpi
  implicit none
  integer :: failed = 0, n_errors = 0, last_code = 0, last_handle = 0
  integer :: n_copied = 0, n_deleted = 0, n_freed = 0, n_queried = 0, n_cancelled = 0
contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (.not. ok) then
      failed = failed + 1
      print '(2a)', 'failed: ', what
    end if
  end subroutine
  ! The product of 2 by 2 matrices does not commute.
  subroutine multiply(a, b, n, type)
    integer :: n, type, i
    double precision :: a(2, 2, n), b(2, 2, n)
    call check(type /= MPI_DATATYPE_NULL, 'datatype of an operation')
    do i = 1, n
      b(:, :, i) = matmul(a(:, :, i), b(:, :, i))
    end do
  end subroutine
  subroutine add_large(a, b, n, type)
    integer(kind=MPI_COUNT_KIND) :: n
    integer :: type, a(n), b(n)
    call check(type == MPI_INTEGER, 'datatype of a large operation')
    b = a + b
  end subroutine
  subroutine on_comm_error(comm, code)
    integer :: comm, code
    n_errors = n_errors + 1
    last_handle = comm
    last_code = code
  end subroutine
  subroutine on_win_error(win, code)
    integer :: win, code
    n_errors = n_errors + 1
    last_handle = win
    last_code = code
  end subroutine
  subroutine on_file_error(file, code)
    integer :: file, code
    n_errors = n_errors + 1
    last_handle = file
    last_code = code
  end subroutine
  subroutine copy_attribute(comm, key, extra, value_in, value_out, flag, ierror)
    integer :: comm, key, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra, value_in, value_out
    logical :: flag
    call check(comm == MPI_COMM_WORLD .and. extra == 1001, 'arguments of a copy function')
    value_out = value_in + 1
    flag = .true.
    n_copied = n_copied + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete_attribute(comm, key, value, extra, ierror)
    integer :: comm, key, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    call check(extra == 1001 .and. value >= -5000000000_8, 'arguments of a delete function')
    n_deleted = n_deleted + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine copy_old(comm, key, extra, value_in, value_out, flag, ierror)
    integer :: comm, key, extra, value_in, value_out, ierror
    logical :: flag
    call check(extra == 77, 'extra state of an old copy function')
    value_out = 2 * value_in
    flag = value_in > 0
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete_old(comm, key, value, extra, ierror)
    integer :: comm, key, value, extra, ierror
    n_deleted = n_deleted + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine query(extra, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), ierror
    n_queried = n_queried + 1
    call MPI_Status_set_elements(status, MPI_INTEGER, 3, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    status(MPI_SOURCE) = 5
    status(MPI_TAG) = int(extra)
  end subroutine
  subroutine release(extra, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    n_freed = n_freed + 1
    extra = extra + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    call check(.not. complete, 'the request is not complete')
    n_cancelled = n_cancelled + 1
    ierror = MPI_SUCCESS
  end subroutine
end module

program mpi_callbacks
  use procedures
  implicit none
  integer :: rank, size, ierror, op, i, comm, key, handler, request, status(MPI_STATUS_SIZE), n, type, win
  integer :: copy, code, file, ints(3), sums(3)
  integer(kind=MPI_ADDRESS_KIND) :: value, extra
  integer(kind=MPI_COUNT_KIND) :: many
  double precision :: mine(2, 2), all(2, 2), expected(2, 2), factor(2, 2)
  logical :: flag
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)

  call MPI_Type_contiguous(4, MPI_DOUBLE_PRECISION, type, ierror)
  call MPI_Type_commit(type, ierror)
  call MPI_Op_create(multiply, .false., op, ierror)
  call MPI_Op_commutative(op, flag, ierror)
  call check(.not. flag, 'the operation does not commute')
  expected = reshape([1d0, 0d0, 0d0, 1d0], [2, 2])
  do i = 0, size - 1
    factor = reshape([1d0, dble(i + 2), 3d0, dble(i)], [2, 2])
    if (i == rank) mine = factor
    expected = matmul(expected, factor)
  end do
  call MPI_Allreduce(mine, all, 1, type, op, MPI_COMM_WORLD, ierror)
  call check(maxval(abs(all - expected)) < 1d-9, 'product of matrices')
  call MPI_Op_free(op, ierror)
  call check(op == MPI_OP_NULL, 'the operation is null')
  call MPI_Type_free(type, ierror)
  call MPI_Op_create_c(add_large, .true., op, ierror)
  ints = rank + [1, 2, 3]
  many = 3
  call MPI_Allreduce(ints, sums, many, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
  call check(all3(sums == sum([(i, i = 0, size - 1)]) + size * [1, 2, 3]), 'an operation with large counts')
  call MPI_Op_free(op, ierror)

  extra = 1001
  call MPI_Comm_create_keyval(copy_attribute, delete_attribute, key, extra, ierror)
  value = -5000000000_8
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, value, ierror)
  value = 0
  call MPI_Comm_get_attr(MPI_COMM_WORLD, key, value, flag, ierror)
  call check(flag .and. value == -5000000000_8, 'value of an attribute')
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
  call MPI_Comm_get_attr(comm, key, value, flag, ierror)
  call check(flag .and. value == -4999999999_8 .and. n_copied == 1, 'value of a copied attribute')
  call MPI_Comm_free(comm, ierror)
  call check(n_deleted == 1, 'the delete function was called')
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierror)
  call check(n_deleted == 2, 'it was called by MPI_Comm_delete_attr')
  call MPI_Comm_get_attr(MPI_COMM_WORLD, key, value, flag, ierror)
  call check(.not. flag, 'the attribute is gone')
  call MPI_Comm_free_keyval(key, ierror)
  call check(key == MPI_KEYVAL_INVALID, 'the key is invalid')
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
  call check(flag .and. value >= 32767, 'MPI_TAG_UB')

  call MPI_Keyval_create(copy_old, delete_old, key, 77, ierror)
  call MPI_Attr_put(MPI_COMM_SELF, key, 21, ierror)
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierror)
  call MPI_Attr_get(comm, key, n, flag, ierror)
  call check(flag .and. n == 42, 'value of an old attribute')
  call MPI_Attr_put(comm, key, -7, ierror)
  call MPI_Comm_dup(comm, copy, ierror)
  call MPI_Attr_get(copy, key, n, flag, ierror)
  call check(.not. flag, 'an attribute that is not copied')
  call MPI_Comm_free(copy, ierror)
  call MPI_Comm_free(comm, ierror)
  call MPI_Attr_delete(MPI_COMM_SELF, key, ierror)
  call MPI_Keyval_free(key, ierror)
  extra = 0
  call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, key, extra, ierror)
  call MPI_Type_contiguous(2, MPI_INTEGER, type, ierror)
  value = 99
  call MPI_Type_set_attr(type, key, value, ierror)
  call MPI_Type_dup(type, copy, ierror)
  value = 0
  call MPI_Type_get_attr(copy, key, value, flag, ierror)
  call check(flag .and. value == 99, 'MPI_TYPE_DUP_FN')
  call MPI_Type_free(copy, ierror)
  call MPI_Type_free(type, ierror)
  call MPI_Type_free_keyval(key, ierror)

  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
  call MPI_Comm_create_errhandler(on_comm_error, handler, ierror)
  call MPI_Comm_set_errhandler(comm, handler, ierror)
  call MPI_Errhandler_free(handler, ierror)
  call MPI_Send(n, 1, MPI_INTEGER, size, 0, comm, code)
  call check(n_errors == 1 .and. last_handle == comm, 'error handler of a communicator')
  call MPI_Error_class(last_code, n, ierror)
  call check(n == MPI_ERR_RANK, 'class of its error')
  call check(code == last_code, 'the call returns the code that its error handler got')
  call MPI_Comm_free(comm, ierror)
  value = 4
  call MPI_Win_create(ints, value, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
  call MPI_Win_create_errhandler(on_win_error, handler, ierror)
  call MPI_Win_set_errhandler(win, handler, ierror)
  call MPI_Errhandler_free(handler, ierror)
  call MPI_Win_call_errhandler(win, MPI_ERR_OTHER, ierror)
  call check(n_errors == 2 .and. last_handle == win .and. last_code == MPI_ERR_OTHER, 'error handler of a window')
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, ierror)
  call check(flag .and. value == 4, 'MPI_WIN_SIZE')
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag, ierror)
  call check(flag .and. value == 4, 'MPI_WIN_DISP_UNIT')
  call MPI_Get_address(ints, extra, ierror)
  call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag, ierror)
  call check(flag .and. value == extra, 'MPI_WIN_BASE')
  call MPI_Win_free(win, ierror)
  call MPI_File_create_errhandler(on_file_error, handler, ierror)
  call MPI_File_set_errhandler(MPI_FILE_NULL, handler, ierror)
  call MPI_Errhandler_free(handler, ierror)
  call MPI_File_open(MPI_COMM_SELF, './no/such/file', MPI_MODE_RDONLY, MPI_INFO_NULL, file, code)
  call check(n_errors == 3 .and. last_handle == MPI_FILE_NULL .and. last_code /= MPI_SUCCESS, 'error handler of files')
  call check(code == last_code, 'MPI_File_open returns the code that its error handler got')

  extra = 12
  call MPI_Grequest_start(query, release, cancel, extra, request, ierror)
  call MPI_Test(request, flag, status, ierror)
  call check(.not. flag, 'the request is not complete')
  call MPI_Cancel(request, ierror)
  call check(n_cancelled == 1, 'the cancel function was called')
  call MPI_Grequest_complete(request, ierror)
  call MPI_Wait(request, status, ierror)
  call MPI_Get_count(status, MPI_INTEGER, n, ierror)
  call check(n == 3 .and. status(MPI_SOURCE) == 5 .and. status(MPI_TAG) == 12, 'status of a generalised request')
  call check(n_queried >= 1 .and. n_freed == 1 .and. extra == 13, 'its functions were called')
  call check(request == MPI_REQUEST_NULL, 'it is null')

  call MPI_Allreduce(failed, n, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
  if (n > 0) stop 1
  if (rank == 0) print '(a)', 'all good'
contains
  logical function all3(these)
    logical, intent(in) :: these(:)
    all3 = count(these) == ubound(these, 1)
  end function
end program
