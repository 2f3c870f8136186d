! A program of mpif.h, or with -DMODULE_MPI of the module mpi, that the compiler of another MPI builds. Two ranks.
module procedures
#ifdef MODULE_MPI
  use mpi
#endif
  implicit none
#ifndef MODULE_MPI
  include 'mpif.h'
#endif
  integer :: failed = 0, n_errors = 0, last_code = 0
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
  subroutine on_error(comm, code)
    integer :: comm, code
    call check(comm == MPI_COMM_WORLD, 'communicator of an error handler')
    n_errors = n_errors + 1
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
    call check(extra == 1001 .and. (value == 77 .or. value == 78), 'arguments of a delete function')
    n_deleted = n_deleted + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine query(extra, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), ierror
    call check(extra == 2002, 'argument of a query function')
    status(MPI_SOURCE) = 5
    status(MPI_TAG) = 6
    call MPI_Status_set_elements(status, MPI_INTEGER, 3, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    n_queried = n_queried + 1
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
    n_cancelled = n_cancelled + 1
    ierror = MPI_SUCCESS
  end subroutine
end module

program foreign_fortran
  use procedures
  implicit none
  integer :: rank, n, ierror
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierror)
  call check(n == 2, 'two ranks')
  call messages
  call special_addresses
  call strings_and_logicals
  call callbacks
  call attributes
  call datatypes
  call windows_and_files
  call MPI_Allreduce(MPI_IN_PLACE, failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0 .and. failed == 0) print '(a)', 'all is well'
  call MPI_Finalize(ierror)
  if (failed /= 0) stop 1
contains
  subroutine messages
    integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), requests(2), got(4), numbers(4), count, i
    logical :: flag
    numbers = [(10 * rank + i, i = 1, 4)]
    got = 0
    call MPI_Sendrecv(numbers, 3, MPI_INTEGER, 1 - rank, 9, got, 4, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, count, ierror)
    call check(count == 3 .and. status(MPI_SOURCE) == 1 - rank .and. status(MPI_TAG) == 9, 'status of a message')
    call check(got(1) == 10 * (1 - rank) + 1 .and. got(4) == 0, 'contents of a message')
    call MPI_Irecv(got, 4, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Isend(numbers, 2, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Waitall(2, requests, statuses, ierror)
    call MPI_Get_count(statuses(:, 1), MPI_INTEGER, count, ierror)
    call check(count == 2 .and. statuses(MPI_SOURCE, 1) == 1 - rank .and. all(requests == MPI_REQUEST_NULL), 'statuses')
    call MPI_Irecv(got, 4, MPI_INTEGER, 1 - rank, 2, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Isend(numbers, 4, MPI_INTEGER, 1 - rank, 2, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Waitany(2, requests, i, MPI_STATUS_IGNORE, ierror)
    call check(i == 1 .or. i == 2, 'an index counts from 1')
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, ierror)
    call check(.not. flag, 'nothing is there')
    call MPI_Recv(got, 1, MPI_INTEGER, MPI_PROC_NULL, 2, MPI_COMM_WORLD, status, ierror)
    call check(status(MPI_SOURCE) == MPI_PROC_NULL, 'status of nobody')
    call MPI_Test_cancelled(status, flag, ierror)
    call check(.not. flag, 'not cancelled')
  end subroutine

  subroutine special_addresses
    integer :: numbers(2), type, graph, lengths(1), types(1), sources(1), weights(1), out_weights(1), in_degree, out_degree
    integer :: comm
    integer(kind=MPI_ADDRESS_KIND) :: places(1)
    logical :: weighted
    numbers = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, numbers, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(all(numbers == 3), 'MPI_IN_PLACE')
    call MPI_Get_address(numbers, places(1), ierror)
    lengths = 2
    types = MPI_INTEGER
    call MPI_Type_create_struct(1, lengths, places, types, type, ierror)
    call MPI_Type_commit(type, ierror)
    if (rank == 0) numbers = [41, 42]
    call MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, ierror)
    call check(all(numbers == [41, 42]), 'MPI_BOTTOM')
    call MPI_Type_free(type, ierror)
    call check(type == MPI_DATATYPE_NULL, 'a null datatype')
    sources = 1 - rank
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, sources, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, ierror)
    call MPI_Dist_graph_neighbors_count(graph, in_degree, out_degree, weighted, ierror)
    call check(in_degree == 1 .and. out_degree == 1 .and. .not. weighted, 'MPI_UNWEIGHTED')
    call MPI_Dist_graph_neighbors(graph, 1, sources, MPI_UNWEIGHTED, 1, sources, MPI_UNWEIGHTED, ierror)
    call check(sources(1) == 1 - rank, 'neighbours')
    call MPI_Comm_free(graph, ierror)
    weights = 5
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, weights, 1, sources, weights, MPI_INFO_NULL, .false., graph, ierror)
    call MPI_Dist_graph_neighbors(graph, 1, sources, weights, 1, sources, out_weights, ierror)
    call check(weights(1) == 5 .and. out_weights(1) == 5, 'weights')
    call MPI_Comm_free(graph, ierror)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierror)
    call MPI_Comm_spawn('/no/such/program', MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, comm, MPI_ERRCODES_IGNORE, ierror)
    call check(ierror /= MPI_SUCCESS, 'a program that is not there')
  end subroutine

  subroutine strings_and_logicals
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=MPI_MAX_ERROR_STRING) :: text
    character(len=12) :: value
    integer :: length, info, comm, class, dims(1), coords(1), keys
    logical :: flag, periods(1), remain(1)
    call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, ierror)
    call check(name == 'MPI_COMM_WORLD' .and. length == 14, 'a name')
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_set_name(comm, 'a name of mine   ', ierror)
    call MPI_Comm_get_name(comm, name, length, ierror)
    call check(name == 'a name of mine' .and. length == 14, 'my name')
    call MPI_Comm_free(comm, ierror)
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, ' key ', ' value ', ierror)
    value = 'xxxxxxxxxxxx'
    call MPI_Info_get(info, 'key', 12, value, flag, ierror)
    call check(flag .and. value == 'value', 'a value of an info')
    call MPI_Info_get(info, 'other', 12, value, flag, ierror)
    call check(.not. flag, 'no value')
    call MPI_Info_get_nkeys(info, keys, ierror)
    call check(keys == 1, 'one key')
    call MPI_Info_free(info, ierror)
    call MPI_Error_class(MPI_ERR_RANK, class, ierror)
    call MPI_Error_string(MPI_ERR_RANK, text, length, ierror)
    call check(class == MPI_ERR_RANK .and. length == len_trim(text) .and. length > 0, 'text of an error')
    call MPI_Get_processor_name(name, length, ierror)
    call check(length == len_trim(name), 'name of the host')
    dims = 2
    periods = .true.
    call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, .false., comm, ierror)
    periods = .false.
    call MPI_Cart_get(comm, 1, dims, periods, coords, ierror)
    call check(periods(1) .and. dims(1) == 2 .and. coords(1) == rank, 'a grid')
    call MPI_Comm_free(comm, ierror)
    remain = [rank == 1]
    call MPI_Allreduce(MPI_IN_PLACE, remain, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierror)
    call check(remain(1), 'or of LOGICALs')
    call MPI_Allreduce(MPI_IN_PLACE, remain, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierror)
    call check(remain(1), 'and of LOGICALs')
    call MPI_Initialized(flag, ierror)
    call check(flag, 'initialised')
    call check(MPI_Wtime() > 0d0 .and. MPI_Wtick() > 0d0, 'times')
  end subroutine

  subroutine callbacks
    integer :: op, handler, request, status(MPI_STATUS_SIZE), count
    integer(kind=MPI_ADDRESS_KIND), save :: extra = 2002
    double precision :: a(2, 2), b(2, 2)
    a = reshape([1d0, 0d0, merge(1d0, 0d0, rank == 0), 1d0], [2, 2])
    if (rank == 1) a(2, 1) = 1d0
    call MPI_Op_create(multiply, .false., op, ierror)
    call MPI_Type_contiguous(4, MPI_DOUBLE_PRECISION, count, ierror)
    call MPI_Type_commit(count, ierror)
    call MPI_Allreduce(a, b, 1, count, op, MPI_COMM_WORLD, ierror)
    call check(all(b == reshape([2d0, 1d0, 1d0, 1d0], [2, 2])), 'an operation')
    call MPI_Type_free(count, ierror)
    call MPI_Op_free(op, ierror)
    call MPI_Comm_create_errhandler(on_error, handler, ierror)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, ierror)
    call MPI_Send(rank, 1, MPI_INTEGER, 99, 0, MPI_COMM_WORLD, ierror)
    call check(n_errors == 1 .and. last_code == ierror .and. ierror /= MPI_SUCCESS, 'an error handler')
    call MPI_Error_class(ierror, count, ierror)
    call check(count == MPI_ERR_RANK, 'the class of the error')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierror)
    call MPI_Errhandler_free(handler, ierror)
    call MPI_Grequest_start(query, release, cancel, extra, request, ierror)
    call MPI_Cancel(request, ierror)
    call MPI_Grequest_complete(request, ierror)
    call MPI_Wait(request, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, count, ierror)
    call check(n_queried == 1 .and. n_freed == 1 .and. n_cancelled == 1, 'a generalised request')
    call check(count == 3 .and. status(MPI_SOURCE) == 5 .and. status(MPI_TAG) == 6, 'its status')
  end subroutine

  subroutine attributes
    integer :: key, comm, old_key, number, type
    integer(kind=MPI_ADDRESS_KIND) :: value
    integer(kind=MPI_ADDRESS_KIND), save :: extra = 1001
    logical :: flag
    call MPI_Comm_create_keyval(copy_attribute, delete_attribute, key, extra, ierror)
    value = 77
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, value, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_get_attr(comm, key, value, flag, ierror)
    call check(flag .and. value == 78 .and. n_copied == 1, 'a copied attribute')
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierror)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, key, value, flag, ierror)
    call check(.not. flag .and. n_deleted == 1, 'a deleted attribute')
    call MPI_Comm_free(comm, ierror)
    call check(n_deleted == 2, 'attributes of a freed communicator')
    call MPI_Comm_free_keyval(key, ierror)
    call check(key == MPI_KEYVAL_INVALID, 'a freed key')
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, extra, ierror)
    value = -12345678901_MPI_ADDRESS_KIND
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, value, ierror)
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierror)
    value = 0
    call MPI_Comm_get_attr(comm, key, value, flag, ierror)
    call check(flag .and. value == -12345678901_MPI_ADDRESS_KIND, 'MPI_COMM_DUP_FN')
    call MPI_Comm_free(comm, ierror)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, key, ierror)
    call MPI_Comm_free_keyval(key, ierror)
    call MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, old_key, number, ierror)
    call MPI_Attr_put(MPI_COMM_SELF, old_key, -4, ierror)
    call MPI_Attr_get(MPI_COMM_SELF, old_key, number, flag, ierror)
    call check(flag .and. number == -4, 'an attribute of the first standard')
    call MPI_Attr_delete(MPI_COMM_SELF, old_key, ierror)
    call MPI_Keyval_free(old_key, ierror)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
    call check(flag .and. value >= 32767, 'MPI_TAG_UB')
    call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, number, flag, ierror)
    call check(flag .and. number == value, 'MPI_TAG_UB of the first standard')
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, value, flag, ierror)
    call check(flag .and. (value == 0 .or. value == 1), 'MPI_WTIME_IS_GLOBAL')
    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, key, extra, ierror)
    value = 9
    call MPI_Type_set_attr(MPI_REAL, key, value, ierror)
    call MPI_Type_dup(MPI_REAL, type, ierror)
    value = 0
    call MPI_Type_get_attr(type, key, value, flag, ierror)
    call check(flag .and. value == 9, 'an attribute of a datatype')
    call MPI_Type_free(type, ierror)
    call MPI_Type_delete_attr(MPI_REAL, key, ierror)
    call MPI_Type_free_keyval(key, ierror)
  end subroutine

  subroutine datatypes
    integer :: type, size, pairs(2), best(2), place
    real(kind=selected_real_kind(6)) :: reals(2)
    double complex :: numbers(2)
    character(len=5) :: word
    character(len=64) :: packed
    call MPI_Type_size(MPI_INTEGER, size, ierror)
    call check(size == 4, 'MPI_INTEGER')
    call MPI_Type_size(MPI_LOGICAL, size, ierror)
    call check(size == 4, 'MPI_LOGICAL')
    call MPI_Type_size(MPI_REAL, size, ierror)
    call check(size == 4, 'MPI_REAL')
    call MPI_Type_size(MPI_INTEGER8, size, ierror)
    call check(size == 8, 'MPI_INTEGER8')
    call MPI_Type_size(MPI_2INTEGER, size, ierror)
    call check(size == 8, 'MPI_2INTEGER')
    call MPI_Type_create_f90_real(6, MPI_UNDEFINED, type, ierror)
    call MPI_Type_size(type, size, ierror)
    call check(size == 4, 'MPI_Type_create_f90_real')
    reals = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, reals, 2, type, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(all(reals == 3), 'a sum of reals')
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, type, ierror)
    call check(type /= MPI_DATATYPE_NULL, 'MPI_Type_match_size')
    numbers = cmplx(1, rank, kind(1d0))
    call MPI_Allreduce(MPI_IN_PLACE, numbers, 2, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(all(numbers == (2d0, 1d0)), 'a sum of complex numbers')
    pairs = [5 + rank, rank]
    call MPI_Allreduce(pairs, best, 1, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, ierror)
    call check(all(best == [6, 1]), 'MPI_MAXLOC')
    word = merge('hello', '     ', rank == 0)
    call MPI_Bcast(word, 5, MPI_CHARACTER, 0, MPI_COMM_WORLD, ierror)
    call check(word == 'hello', 'characters')
    place = 0
    call MPI_Pack(pairs, 2, MPI_INTEGER, packed, 64, place, MPI_COMM_WORLD, ierror)
    size = place
    place = 0
    call MPI_Unpack(packed, 64, place, best, 2, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call check(place == size .and. all(best == pairs), 'packed integers')
  end subroutine

  subroutine windows_and_files
    integer :: win, memory(4), got, file, numbers(3), status(MPI_STATUS_SIZE), count
    integer(kind=MPI_ADDRESS_KIND) :: bytes, value, place
    integer(kind=MPI_OFFSET_KIND) :: offset, size
    character(len=256) :: name
    logical :: flag
    bytes = 16
    memory = rank + 7
    call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, ierror)
    call check(flag .and. value == 16, 'MPI_WIN_SIZE')
    call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag, ierror)
    call check(flag .and. value == 4, 'MPI_WIN_DISP_UNIT')
    call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag, ierror)
    call MPI_Get_address(memory, place, ierror)
    call check(flag .and. value == place, 'MPI_WIN_BASE')
    call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, value, flag, ierror)
    call check(flag .and. value == MPI_WIN_FLAVOR_CREATE, 'MPI_WIN_CREATE_FLAVOR')
    got = 0
    place = 2
    call MPI_Win_fence(0, win, ierror)
    call MPI_Get(got, 1, MPI_INTEGER, 1 - rank, place, 1, MPI_INTEGER, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    call check(got == 8 - rank, 'what was read from a window')
    call MPI_Win_free(win, ierror)
    call get_command_argument(1, name)
    call MPI_File_open(MPI_COMM_WORLD, trim(name)//'   ', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierror)
    call check(ierror == MPI_SUCCESS, 'a file is opened')
    offset = 12 * rank
    numbers = rank
    call MPI_File_write_at_all(file, offset, numbers, 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call MPI_File_sync(file, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    offset = 12 * (1 - rank)
    call MPI_File_read_at(file, offset, numbers, 3, MPI_INTEGER, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, count, ierror)
    call MPI_File_get_size(file, size, ierror)
    call check(all(numbers == 1 - rank) .and. count == 3 .and. size == 24, 'what a file has')
    call MPI_File_close(file, ierror)
    call check(file == MPI_FILE_NULL, 'a closed file')
    if (rank == 0) call MPI_File_delete(name, MPI_INFO_NULL, ierror)
  end subroutine
end program
