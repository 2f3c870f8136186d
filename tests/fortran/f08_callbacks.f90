! Every kind of procedure that MPI calls, by mpi_f08: operations, attributes, error handlers, data representations, requests. Two ranks.
module procedures
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer(MPI_ADDRESS_KIND), parameter :: token = 4000000000_MPI_ADDRESS_KIND
  integer :: failed = 0, n_copied = 0, n_deleted = 0, n_errors = 0, n_read = 0, n_written = 0, n_asked = 0, last_code = 0
  type(MPI_Session) :: last_session
contains
  subroutine must(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (.not. ok) then
      failed = failed + 1
      print '(2a)', 'failed: ', what
    end if
  end subroutine

  subroutine copy_type(oldtype, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Datatype) :: oldtype
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    call must(oldtype /= MPI_DATATYPE_NULL .and. keyval /= MPI_KEYVAL_INVALID .and. extra_state == token, 'copy_type')
    attribute_val_out = attribute_val_in + 1
    n_copied = n_copied + 1
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete_type(datatype, keyval, attribute_val, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    call must(datatype /= MPI_DATATYPE_NULL .and. keyval /= MPI_KEYVAL_INVALID .and. extra_state == token .and. &
              attribute_val >= token, 'delete_type')
    n_deleted = n_deleted + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete_win(win, keyval, attribute_val, extra_state, ierror)
    type(MPI_Win) :: win
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    call must(win /= MPI_WIN_NULL .and. keyval /= MPI_KEYVAL_INVALID .and. attribute_val == 5 .and. extra_state == token, &
              'delete_win')
    n_deleted = n_deleted + 1
    ierror = MPI_SUCCESS
  end subroutine

  ! Refuses: MPI_Comm_delete_attr hands on the code.
  subroutine refuse_delete(comm, keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    call must(comm == MPI_COMM_SELF .and. keyval /= MPI_KEYVAL_INVALID .and. attribute_val == 1, 'refuse_delete')
    ierror = merge(MPI_ERR_INTERN, MPI_SUCCESS, extra_state == token .and. n_errors == 0)
  end subroutine

  subroutine hear_win(win, error_code)
    type(MPI_Win) :: win
    integer :: error_code
    call must(win /= MPI_WIN_NULL, 'hear_win')
    n_errors = n_errors + 1
    last_code = error_code
  end subroutine

  subroutine hear_file(file, error_code)
    type(MPI_File) :: file
    integer :: error_code
    call must(file /= MPI_FILE_NULL, 'hear_file')
    n_errors = n_errors + 1
    last_code = error_code
  end subroutine

  subroutine hear_session(session, error_code)
    type(MPI_Session) :: session
    integer :: error_code
    last_session = session
    n_errors = n_errors + 1
    last_code = error_code
  end subroutine

  ! Numbers of the file are the negative ones of the memory.
  subroutine from_file(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer, pointer :: user(:), file(:)
    call must(datatype == MPI_INTEGER .and. extra_state == token .and. count > 0, 'from_file')
    call c_f_pointer(userbuf, user, [int(position) + count])
    call c_f_pointer(filebuf, file, [count])
    user(position + 1:position + count) = -file
    n_read = n_read + count
    ierror = MPI_SUCCESS
  end subroutine

  subroutine to_file(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer, pointer :: user(:), file(:)
    call must(datatype == MPI_INTEGER .and. extra_state == token .and. count > 0, 'to_file')
    call c_f_pointer(userbuf, user, [int(position) + count])
    call c_f_pointer(filebuf, file, [count])
    file = -user(position + 1:position + count)
    n_written = n_written + count
    ierror = MPI_SUCCESS
  end subroutine

  subroutine from_file_c(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer(MPI_COUNT_KIND) :: count
    integer :: ierror
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    call from_file(userbuf, datatype, int(count), filebuf, position, extra_state, ierror)
  end subroutine

  subroutine to_file_c(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer(MPI_COUNT_KIND) :: count
    integer :: ierror
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    call to_file(userbuf, datatype, int(count), filebuf, position, extra_state, ierror)
  end subroutine

  subroutine file_extent(datatype, extent, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer(MPI_ADDRESS_KIND) :: extent, extra_state
    integer :: ierror
    call must(datatype == MPI_INTEGER .and. extra_state == token, 'file_extent')
    extent = 4
    n_asked = n_asked + 1
    ierror = MPI_SUCCESS
  end subroutine

  ! The larger part of the first of two numbers, with the second: not a sum.
  subroutine merge_pairs(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:, :), b(:, :)
    integer :: i
    call must(datatype /= MPI_DATATYPE_NULL .and. datatype /= MPI_INTEGER, 'merge_pairs')
    call c_f_pointer(invec, a, [2, len])
    call c_f_pointer(inoutvec, b, [2, len])
    do i = 1, len
      if (a(1, i) > b(1, i)) b(:, i) = a(:, i)
    end do
  end subroutine
end module

program f08_callbacks
  use procedures
  implicit none
  integer :: rank, ierror
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call attributes()
  call error_handlers()
  call representations()
  call operations()
  call MPI_Allreduce(MPI_IN_PLACE, failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (failed > 0) call MPI_Abort(MPI_COMM_WORLD, 1)
  call MPI_Finalize()
  if (rank == 0) print '(a)', 'callbacks: all good'
contains
  subroutine attributes()
    type(MPI_Datatype) :: type, other
    type(MPI_Win) :: win
    integer :: key, memory(4), class
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Type_contiguous(2, MPI_INTEGER, type)
    call MPI_Type_create_keyval(copy_type, delete_type, key, token)
    call MPI_Type_set_attr(type, key, token)
    call MPI_Type_dup(type, other)
    call MPI_Type_get_attr(other, key, value, flag)
    call must(flag .and. value == token + 1 .and. n_copied == 1, 'an attribute of a datatype is copied')
    call MPI_Type_free(other)
    call MPI_Type_delete_attr(type, key)
    call must(n_deleted == 2, 'attributes of datatypes are deleted')
    call MPI_Type_free_keyval(key)
    call MPI_Type_free(type)
    memory = 0
    call MPI_Win_create(memory, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_win, key, token)
    call MPI_Win_set_attr(win, key, 5_MPI_ADDRESS_KIND)
    call MPI_Win_get_attr(win, key, value, flag)
    call must(flag .and. value == 5, 'an attribute of a window')
    call MPI_Win_free(win)
    call must(n_deleted == 3, 'it goes with the window')
    call MPI_Win_free_keyval(key)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse_delete, key, token)
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, 1_MPI_ADDRESS_KIND)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, key, ierror)
    call MPI_Error_class(ierror, class)
    call must(class == MPI_ERR_INTERN, 'what a delete function says is handed on')
    n_errors = 1
    call MPI_Comm_delete_attr(MPI_COMM_SELF, key)
    n_errors = 0
    call MPI_Comm_free_keyval(key)
  end subroutine

  subroutine error_handlers()
    type(MPI_Errhandler) :: handler, same
    type(MPI_Session) :: session
    type(MPI_Group) :: group
    type(MPI_File) :: file
    type(MPI_Win) :: win
    integer :: memory(1), class, n
    call MPI_Win_create_errhandler(hear_win, handler)
    call MPI_Win_create(memory, 4_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_set_errhandler(win, handler)
    call MPI_Win_get_errhandler(win, same)
    call must(handler == same, 'the handler of a window')
    call MPI_Win_lock(MPI_LOCK_SHARED, 99, 0, win, ierror)
    call must(n_errors == 1, 'an error of a window')
    call must(ierror == last_code, 'MPI_Win_lock returns the code that its error handler got')
    call MPI_Win_free(win)
    call MPI_Errhandler_free(handler)
    call MPI_Errhandler_free(same)
    call MPI_File_create_errhandler(hear_file, handler)
    call MPI_File_open(MPI_COMM_SELF, name(), MPI_MODE_CREATE + MPI_MODE_WRONLY + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    call MPI_File_set_errhandler(file, handler)
    call MPI_File_read(file, memory, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call must(n_errors == 2 .and. last_code /= MPI_SUCCESS, 'an error of a file')
    call must(ierror == last_code, 'MPI_File_read returns the code that its error handler got')
    call MPI_File_close(file)
    call MPI_Errhandler_free(handler)
    call MPI_Session_create_errhandler(hear_session, handler)
    call MPI_Session_init(MPI_INFO_NULL, handler, session)
    call MPI_Group_from_session_pset(session, 'mpi://no such set', group, ierror)
    call must(n_errors == 3 .and. last_session == session, 'an error of a session')
    call must(ierror == last_code, 'MPI_Group_from_session_pset returns the code that its error handler got')
    call MPI_Error_class(last_code, class)
    call must(class == MPI_ERR_ARG .or. class == MPI_ERR_NAME .or. class == MPI_ERR_PROC_ABORTED, 'its class')
    call MPI_Session_call_errhandler(session, MPI_ERR_OTHER, n)
    call must(n == MPI_SUCCESS .and. n_errors == 4 .and. last_code == MPI_ERR_OTHER, 'the handler of a session is called')
    call MPI_Session_finalize(session)
    call MPI_Errhandler_free(handler)
  end subroutine

  function name()
    character(len=:), allocatable :: name
    character(len=20) :: digits
    write (digits, '(i0)') rank
    name = 'f08_callbacks.'//trim(digits)
  end function

  subroutine representations()
    type(MPI_File) :: file
    integer :: a(3, 8), b(3, 8), raw(8), i
    call MPI_Register_datarep('negative', from_file, to_file, file_extent, token)
    call MPI_Register_datarep_c('negative too', from_file_c, to_file_c, file_extent, token)
    a = reshape([(i, i = 1, 24)], [3, 8]) + 100 * rank
    call MPI_File_open(MPI_COMM_SELF, name(), MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    do i = 1, 2
      n_written = 0
      n_read = 0
      call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, merge('negative    ', 'negative too', i == 1), &
                             MPI_INFO_NULL)
      call MPI_File_write_at(file, 0_MPI_OFFSET_KIND, a(2, :), 8, MPI_INTEGER, MPI_STATUS_IGNORE)
      b = 0
      call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, b(:, 1:4:2), 6, MPI_INTEGER, MPI_STATUS_IGNORE)
      call must(all(reshape(b(:, 1:4:2), [6]) == a(2, :6)) .and. all(b(:, 2) == 0), 'a section by another representation')
      call must(n_written == 8 .and. n_read == 6 .and. n_asked > 0, 'the conversions were called')
      call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
      call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, raw, 8, MPI_INTEGER, MPI_STATUS_IGNORE)
      call must(all(raw == -a(2, :)), 'what is in the file')
    end do
    call MPI_File_close(file)
  end subroutine

  subroutine operations()
    type(MPI_Op) :: op
    type(MPI_Datatype) :: type
    type(MPI_Request) :: request
    integer :: pairs(2, 6), best(2, 6), i
    call MPI_Type_contiguous(2, MPI_INTEGER, type)
    call MPI_Type_commit(type)
    call MPI_Op_create(merge_pairs, .true., op)
    pairs(1, :) = [(merge(i, -i, rank == 0), i = 1, 6)] - 2
    pairs(2, :) = rank
    best = -9
    ! Every second pair, with an operation of the program on a datatype of the program.
    call MPI_Iallreduce(pairs(:, ::2), best(:, ::2), 3, type, op, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call must(all(best(2, ::2) == 0) .and. all(best(1, ::2) == [-1, 1, 3]) .and. all(best(:, 2::2) == -9), &
              'an operation on pairs')
    call MPI_Op_free(op)
    call MPI_Type_free(type)
  end subroutine
end program
