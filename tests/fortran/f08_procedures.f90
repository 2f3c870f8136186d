! Procedures that MPI calls, large counts, strings, statuses and the extensions, by mpi_f08. Two ranks.
module procedures
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  integer :: failed = 0
  integer :: copied = 0, deleted = 0, heard = 0, freed = 0
  integer(MPI_ADDRESS_KIND) :: state_seen = 0
contains
  subroutine must(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (.not. ok) then
      failed = failed + 1
      print '(2a)', 'failed: ', what
    end if
  end subroutine

  ! The larger in absolute value.
  subroutine larger(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    if (datatype /= MPI_INTEGER) failed = failed + 1
    where (abs(a) > abs(b)) b = a
  end subroutine

  subroutine larger_c(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    if (datatype /= MPI_INTEGER) failed = failed + 1
    where (abs(a) > abs(b)) b = a
  end subroutine

  subroutine copy_attr(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    if (oldcomm == MPI_COMM_NULL .or. comm_keyval == MPI_KEYVAL_INVALID) failed = failed + 1
    state_seen = extra_state
    copied = copied + 1
    attribute_val_out = attribute_val_in + 1
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete_attr(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    if (comm == MPI_COMM_NULL .or. comm_keyval == MPI_KEYVAL_INVALID .or. attribute_val < 70) failed = failed + 1
    if (extra_state /= 1234567890123_MPI_ADDRESS_KIND) failed = failed + 1
    deleted = deleted + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine hear(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    integer :: class
    call MPI_Error_class(error_code, class)
    if (class == MPI_ERR_RANK .and. comm /= MPI_COMM_NULL) heard = heard + 1
  end subroutine

  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state))
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = 7
    status%MPI_TAG = 8
    ierror = MPI_SUCCESS
  end subroutine

  subroutine free_state(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    if (extra_state == 3) freed = freed + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine free_and_change(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    extra_state = extra_state + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    if (complete .and. extra_state == 3) failed = failed + 1
    ierror = MPI_SUCCESS
  end subroutine
end module

program f08_procedures
  use procedures
  implicit none
  integer :: rank, other
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  other = 1 - rank
  call operators()
  call attributes()
  call handlers()
  call requests()
  call large_counts()
  call strings()
  call statuses()
  call kinds()
  call sessions()
  if (is_ours()) call extensions()
  call MPI_Allreduce(MPI_IN_PLACE, failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (failed > 0) call MPI_Abort(MPI_COMM_WORLD, 1)
  call MPI_Finalize()
  if (rank == 0) print '(a)', 'procedures: all good'
contains
  subroutine operators()
    type(MPI_Op) :: op, big
    integer :: a(3), b(3)
    logical :: commutes
    call MPI_Op_create(larger, .true., op)
    call MPI_Op_commutative(op, commutes)
    call must(commutes, 'op_commutative')
    a = merge([1, -20, 3], [-10, 2, 30], rank == 0)
    call MPI_Allreduce(a, b, 3, MPI_INTEGER, op, MPI_COMM_WORLD)
    call must(all(b == [-10, -20, 30]), 'user operation')
    call MPI_Op_create_c(larger_c, .true., big)
    call MPI_Allreduce(a, b, 3_MPI_COUNT_KIND, MPI_INTEGER, big, MPI_COMM_WORLD)
    call must(all(b == [-10, -20, 30]), 'user operation with large counts')
    call MPI_Op_free(op)
    call MPI_Op_free(big)
    call must(op == MPI_OP_NULL .and. big == MPI_OP_NULL, 'op_free')
  end subroutine

  subroutine attributes()
    integer :: key
    integer(MPI_ADDRESS_KIND) :: value
    type(MPI_Comm) :: comm, dup
    logical :: flag
    call MPI_Comm_create_keyval(copy_attr, delete_attr, key, 1234567890123_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    call MPI_Comm_set_attr(comm, key, 9876543210987_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(comm, dup)
    call MPI_Comm_get_attr(dup, key, value, flag)
    call must(flag .and. value == 9876543210988_MPI_ADDRESS_KIND, 'copied attribute')
    call must(copied == 1 .and. state_seen == 1234567890123_MPI_ADDRESS_KIND, 'copy procedure')
    call MPI_Comm_free(dup)
    call MPI_Comm_delete_attr(comm, key)
    call must(deleted == 2, 'delete procedure')
    call MPI_Comm_free_keyval(key)
    call must(key == MPI_KEYVAL_INVALID, 'free_keyval')
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(comm, key, 42_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(comm, dup)
    call MPI_Comm_get_attr(dup, key, value, flag)
    call must(flag .and. value == 42, 'MPI_COMM_DUP_FN')
    call MPI_Comm_free(dup)
    call MPI_Comm_free(comm)
    call MPI_Comm_free_keyval(key)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
    call must(flag .and. value >= 32767, 'MPI_TAG_UB')
  end subroutine

  subroutine handlers()
    type(MPI_Errhandler) :: eh
    type(MPI_Comm) :: comm
    integer :: ie, x
    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    call MPI_Comm_create_errhandler(hear, eh)
    call MPI_Comm_set_errhandler(comm, eh)
    call MPI_Errhandler_free(eh)
    call MPI_Send(x, 1, MPI_INTEGER, 17, 0, comm, ie)
    call must(heard == 1, 'error handler')
    call must(ie /= MPI_SUCCESS, 'MPI_Send returns its error after an error handler')
    call MPI_Send(x, 1, MPI_INTEGER, 17, 0, comm) ! without ierror it is called too
    call must(heard == 2, 'error handler without ierror')
    call MPI_Comm_free(comm)
  end subroutine

  subroutine requests()
    type(MPI_Request) :: req
    type(MPI_Status) :: st
    integer :: n
    logical :: flag
    integer(MPI_ADDRESS_KIND), volatile :: state
    call MPI_Grequest_start(query, free_state, cancel, 3_MPI_ADDRESS_KIND, req)
    call MPI_Test(req, flag, st)
    call must(.not. flag, 'generalised request is not complete')
    call MPI_Grequest_complete(req)
    call MPI_Wait(req, st)
    call MPI_Get_elements(st, MPI_INTEGER, n)
    call must(n == 3 .and. st%MPI_SOURCE == 7 .and. st%MPI_TAG == 8 .and. freed == 1, 'generalised request')
    ! A procedure that changes its extra state: of a constant nothing comes of it, a variable follows.
    call MPI_Grequest_start(query, free_and_change, cancel, 3_MPI_ADDRESS_KIND, req)
    call MPI_Grequest_complete(req)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    state = 3
    call MPI_Grequest_start(query, free_and_change, cancel, state, req)
    call MPI_Grequest_complete(req)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call must(state == 4, 'a variable follows the extra state of its request')
    call MPI_Grequest_start(query, free_and_change, cancel, state, req)
    state = 100 ! used for something else
    call MPI_Grequest_complete(req)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call must(state == 100, 'a variable with another value stays')
  end subroutine

  subroutine large_counts()
    integer(MPI_COUNT_KIND), parameter :: many = 3000000000_MPI_COUNT_KIND
    integer(MPI_COUNT_KIND) :: size, lb, extent, n, n_int, n_addr, n_large, n_type
    integer(MPI_COUNT_KIND) :: larges(1)
    integer(MPI_ADDRESS_KIND) :: addrs(1)
    integer :: small, combiner, ints(1)
    type(MPI_Datatype) :: type, types(1)
    type(MPI_Status) :: st
    call MPI_Type_contiguous(many, MPI_REAL, type)
    call MPI_Type_commit(type)
    call MPI_Type_size(type, size)
    call must(size == 4 * many, 'size of a large datatype')
    call MPI_Type_size(type, small)
    call must(small == MPI_UNDEFINED, 'too large for an INTEGER')
    call MPI_Type_get_extent(type, lb, extent)
    call must(lb == 0 .and. extent == 4 * many, 'extent of a large datatype')
    call MPI_Type_get_envelope(type, n_int, n_addr, n_large, n_type, combiner)
    call must(combiner == MPI_COMBINER_CONTIGUOUS .and. n_large == 1, 'envelope of a large datatype')
    call MPI_Type_get_contents(type, n_int, n_addr, n_large, n_type, ints, addrs, larges, types)
    call must(larges(1) == many .and. types(1) == MPI_REAL, 'contents of a large datatype')
    call MPI_Status_set_elements(st, MPI_REAL, 2 * many)
    call MPI_Get_count(st, type, n)
    call must(n == 2, 'count of large datatypes')
    call MPI_Get_elements(st, type, n)
    call must(n == 2 * many, 'elements of large datatypes')
    call MPI_Type_free(type)
  end subroutine

  subroutine strings()
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=20) :: value
    type(MPI_Comm) :: comm
    type(MPI_Info) :: info
    integer :: n
    logical :: flag
    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    call MPI_Comm_set_name(comm, 'a name  ')
    name = '*'
    call MPI_Comm_get_name(comm, name, n)
    call must(n == 6 .and. name == 'a name', 'name')
    call MPI_Comm_free(comm)
    call MPI_Info_create(info)
    call MPI_Info_set(info, ' key ', ' some value ')
    n = len(value)
    call MPI_Info_get_string(info, 'key', n, value, flag)
    call must(flag .and. value == 'some value' .and. n == 10, 'info')
    call MPI_Info_free(info)
  end subroutine

  subroutine statuses()
    type(MPI_Status) :: st, back
    integer :: old(MPI_STATUS_SIZE), x
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, other, 5, x, 1, MPI_INTEGER, other, 5, MPI_COMM_WORLD, st)
    call MPI_Status_f082f(st, old)
    call must(old(MPI_SOURCE) == other .and. old(MPI_TAG) == 5, 'status to the older form')
    call MPI_Status_f2f08(old, back)
    call MPI_Get_count(back, MPI_INTEGER, x)
    call must(back%MPI_SOURCE == other .and. back%MPI_TAG == 5 .and. x == 1, 'status from the older form')
  end subroutine

  subroutine kinds()
    type(MPI_Datatype) :: type
    integer :: size
    call MPI_Type_create_f90_real(15, 300, type)
    call MPI_Type_size(type, size)
    call must(size == 8, 'f90_real')
    call MPI_Type_create_f90_integer(9, type)
    call MPI_Type_size(type, size)
    call must(size == 4, 'f90_integer')
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, type)
    call must(type == MPI_DOUBLE_PRECISION .or. type == MPI_REAL8, 'match_size')
  end subroutine

  subroutine sessions()
    type(MPI_Session) :: session
    type(MPI_Group) :: group
    type(MPI_Comm) :: comm
    integer :: total
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
    call MPI_Group_from_session_pset(session, 'mpi://WORLD', group)
    call MPI_Comm_create_from_group(group, 'f08', MPI_INFO_NULL, MPI_ERRORS_RETURN, comm)
    call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, comm)
    call must(total == 2, 'session')
    call MPI_Comm_free(comm)
    call MPI_Group_free(group)
    call MPI_Session_finalize(session)
  end subroutine

  ! Another library of the ABI lacks the extensions, and a first call of one would end the job.
  logical function is_ours()
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: text
    integer :: n
    call MPI_Get_library_version(text, n)
    is_ours = index(text(:n), 'Pliant') > 0
    if (.not. is_ours .and. rank == 0) print '(a)', 'left out: extensions, which are not in the ABI'
  end function

  subroutine extensions()
    type(MPI_Comm) :: eps(2)
    integer :: n, me, version
    call MPI_Comm_create_endpoints(MPI_COMM_WORLD, 2, MPI_INFO_NULL, eps)
    call MPI_Comm_size(eps(1), n)
    call MPI_Comm_rank(eps(2), me)
    call must(n == 4 .and. me == 2 * rank + 1, 'endpoints')
    call MPI_Comm_free(eps(1))
    call MPI_Comm_free(eps(2))
    call MPIX_World_version(version)
    call must(version == 0, 'version of the world')
    n = 7
    call MPIX_Comm_agree(MPI_COMM_WORLD, n)
    call must(n == 7, 'agreement')
  end subroutine
end program
