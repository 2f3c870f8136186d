! A program of the module mpi_f08 that the compiler of another MPI builds. Two ranks.
module procedures
  use mpi_f08
  implicit none
  integer :: failed = 0, n_errors = 0, n_copied = 0, n_deleted = 0, n_queried = 0, n_freed = 0
contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (.not. ok) then
      failed = failed + 1
      print '(2a)', 'failed: ', what
    end if
  end subroutine
  subroutine take_first(a, b, n, type)
    use, intrinsic :: iso_c_binding
    type(c_ptr), value :: a, b
    integer :: n
    type(MPI_Datatype) :: type
    integer, pointer :: first(:), second(:)
    call check(type == MPI_INTEGER, 'datatype of an operation')
    call c_f_pointer(a, first, [n])
    call c_f_pointer(b, second, [n])
    second = first
  end subroutine
  subroutine on_error(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    call check(comm == MPI_COMM_WORLD .and. code /= MPI_SUCCESS, 'arguments of an error handler')
    n_errors = n_errors + 1
  end subroutine
  subroutine copy_attribute(comm, key, extra, value_in, value_out, flag, ierror)
    type(MPI_Comm) :: comm
    integer :: key, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra, value_in, value_out
    logical :: flag
    call check(comm == MPI_COMM_WORLD .and. extra == 1001, 'arguments of a copy function')
    value_out = value_in + 1
    flag = .true.
    n_copied = n_copied + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete_attribute(comm, key, value, extra, ierror)
    type(MPI_Comm) :: comm
    integer :: key, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    call check(extra == 1001 .and. (value == 77 .or. value == 78), 'arguments of a delete function')
    n_deleted = n_deleted + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine query(extra, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    type(MPI_Status) :: status
    integer :: ierror
    call check(extra == 2002, 'argument of a query function')
    status%MPI_SOURCE = 5
    status%MPI_TAG = 6
    call MPI_Status_set_elements(status, MPI_INTEGER, 3)
    call MPI_Status_set_cancelled(status, .false.)
    n_queried = n_queried + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine release(extra, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    call check(extra == 2002, 'argument of a free function')
    n_freed = n_freed + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    call check(extra == 2002 .and. .not. complete, 'arguments of a cancel function')
    ierror = MPI_SUCCESS
  end subroutine
end module

program foreign_f08
  use procedures
  implicit none
  integer :: rank, n
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  call check(n == 2, 'two ranks')
  call messages
  call collectives
  call callbacks
  call attributes
  call MPI_Allreduce(MPI_IN_PLACE, failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. failed == 0) print '(a)', 'all is well'
  call MPI_Finalize()
  if (failed /= 0) stop 1
contains
  subroutine messages
    type(MPI_Status) :: status, statuses(2)
    type(MPI_Request) :: requests(2)
    integer :: numbers(4), got(4), count, i
    numbers = [(10 * rank + i, i = 1, 4)]
    got = 0
    call MPI_Sendrecv(numbers, 3, MPI_INTEGER, 1 - rank, 9, got, 4, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(count == 3 .and. status%MPI_SOURCE == 1 - rank .and. status%MPI_TAG == 9, 'status of a message')
    call check(got(1) == 10 * (1 - rank) + 1 .and. got(4) == 0, 'contents of a message')
    call MPI_Irecv(got, 4, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(numbers, 2, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, statuses)
    call MPI_Get_count(statuses(1), MPI_INTEGER, count)
    call check(count == 2 .and. statuses(1)%MPI_SOURCE == 1 - rank .and. requests(1) == MPI_REQUEST_NULL, 'statuses')
    call MPI_Irecv(got, 4, MPI_INTEGER, 1 - rank, 2, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(numbers, 4, MPI_INTEGER, 1 - rank, 2, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_Sendrecv_replace(numbers, 4, MPI_INTEGER, 1 - rank, 3, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(numbers == got), 'messages without status')
  end subroutine

  subroutine collectives
    integer :: numbers(2), length, sources(1)
    integer(kind=MPI_ADDRESS_KIND) :: places(1)
    type(MPI_Datatype) :: type
    type(MPI_Comm) :: comm
    type(MPI_Info) :: info
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=12) :: value
    logical :: flag, truth(1)
    numbers = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, numbers, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(numbers == 3), 'MPI_IN_PLACE')
    call MPI_Get_address(numbers, places(1))
    call MPI_Type_create_struct(1, [2], places, [MPI_INTEGER], type)
    call MPI_Type_commit(type)
    if (rank == 0) numbers = [41, 42]
    call MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD)
    call check(all(numbers == [41, 42]), 'MPI_BOTTOM')
    call MPI_Type_free(type)
    sources = 1 - rank
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, sources, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., comm)
    call MPI_Comm_set_name(comm, 'a name of mine   ')
    call MPI_Comm_get_name(comm, name, length)
    call check(name == 'a name of mine' .and. length == 14, 'a name')
    call MPI_Comm_free(comm)
    call check(comm == MPI_COMM_NULL, 'a freed communicator')
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'key', 'value')
    call MPI_Info_get(info, 'key', 12, value, flag)
    call check(flag .and. value == 'value', 'a value of an info')
    call MPI_Info_free(info)
    truth = [rank == 1]
    call MPI_Allreduce(MPI_IN_PLACE, truth, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD)
    call check(truth(1), 'or of LOGICALs')
    call MPI_Initialized(flag)
    call check(flag, 'initialised')
  end subroutine

  subroutine callbacks
    type(MPI_Op) :: op
    type(MPI_Errhandler) :: handler
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer(kind=MPI_ADDRESS_KIND), save :: extra = 2002
    integer :: ierror, class, numbers(3), got(3), count
    call MPI_Op_create(take_first, .false., op)
    numbers = rank + 50
    call MPI_Allreduce(numbers, got, 3, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(all(got == 50), 'an operation')
    call MPI_Op_free(op)
    call MPI_Comm_create_errhandler(on_error, handler)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
    call MPI_Send(numbers, 1, MPI_INTEGER, 99, 0, MPI_COMM_WORLD, ierror)
    call MPI_Error_class(ierror, class)
    call check(n_errors == 1 .and. class == MPI_ERR_RANK, 'an error handler')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    call MPI_Errhandler_free(handler)
    call MPI_Grequest_start(query, release, cancel, extra, request)
    call MPI_Grequest_complete(request)
    call MPI_Wait(request, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(n_queried == 1 .and. n_freed == 1 .and. count == 3 .and. status%MPI_SOURCE == 5, 'a generalised request')
  end subroutine

  subroutine attributes
    integer :: key
    integer(kind=MPI_ADDRESS_KIND) :: value
    integer(kind=MPI_ADDRESS_KIND), save :: extra = 1001
    type(MPI_Comm) :: comm
    type(MPI_Win) :: win
    integer, asynchronous :: memory(4)
    logical :: flag
    call MPI_Comm_create_keyval(copy_attribute, delete_attribute, key, extra)
    value = 77
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, value)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_get_attr(comm, key, value, flag)
    call check(flag .and. value == 78 .and. n_copied == 1, 'a copied attribute')
    call MPI_Comm_free(comm)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key)
    call check(n_deleted == 2, 'deleted attributes')
    call MPI_Comm_free_keyval(key)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
    call check(flag .and. value >= 32767, 'MPI_TAG_UB')
    call MPI_Win_create(memory, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag)
    call check(flag .and. value == 16, 'MPI_WIN_SIZE')
    call MPI_Win_free(win)
  end subroutine
end program
