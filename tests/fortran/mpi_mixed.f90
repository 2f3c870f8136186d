! Attributes and handles that C and Fortran share. One rank.
module c_variables
  use, intrinsic :: iso_c_binding, only: c_ptr
  implicit none
  type(c_ptr), bind(C, name="MPI_F_STATUS_IGNORE") :: c_ignore
  type(c_ptr), bind(C, name="MPI_F_STATUSES_IGNORE") :: c_ignore_all
  type(c_ptr), bind(C, name="MPI_F08_STATUS_IGNORE") :: c_ignore_f08
end module

program mpi_mixed
  use mpi
  use c_variables
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    function c_comm(comm) bind(C, name="MPI_Comm_fromint") result(handle)
      import :: c_int, c_ptr
      integer(c_int), value :: comm
      type(c_ptr) :: handle
    end function
    function fortran_comm(comm) bind(C, name="MPI_Comm_c2f") result(handle)
      import :: c_int, c_ptr
      type(c_ptr), value :: comm
      integer(c_int) :: handle
    end function
    function c_get_attr(comm, key, value, flag) bind(C, name="MPI_Comm_get_attr") result(err)
      import :: c_int, c_ptr
      type(c_ptr), value :: comm
      integer(c_int), value :: key
      type(c_ptr) :: value
      integer(c_int) :: flag, err
    end function
    function c_set_attr(comm, key, value) bind(C, name="MPI_Comm_set_attr") result(err)
      import :: c_int, c_ptr
      type(c_ptr), value :: comm
      integer(c_int), value :: key
      type(c_ptr), value :: value
      integer(c_int) :: err
    end function
  end interface
  integer :: failed, ierror, key, comm, flag, n
  integer, target :: theirs
  integer(kind=MPI_ADDRESS_KIND) :: value, address
  integer(kind=MPI_ADDRESS_KIND), pointer :: wide
  integer, pointer :: narrow
  type(c_ptr) :: seen
  logical :: found
  failed = 0
  call MPI_Init(ierror)
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierror)
  call check(fortran_comm(c_comm(comm)) == comm, 'a handle of C')
  value = 0
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, value, ierror)

  value = 2_8**40 + 7
  call MPI_Comm_set_attr(comm, key, value, ierror)
  call check(c_get_attr(c_comm(comm), key, seen, flag) == MPI_SUCCESS .and. flag /= 0, 'C finds an attribute of Fortran')
  call c_f_pointer(seen, wide)
  call check(wide == 2_8**40 + 7, 'C finds the address of its value')
  call MPI_Attr_put(comm, key, -12, ierror)
  call check(c_get_attr(c_comm(comm), key, seen, flag) == MPI_SUCCESS .and. flag /= 0, 'C finds an old attribute')
  call c_f_pointer(seen, narrow)
  call check(narrow == -12, 'C finds the address of its integer')

  theirs = 5
  call check(c_set_attr(c_comm(comm), key, c_loc(theirs)) == MPI_SUCCESS, 'C sets an attribute')
  call MPI_Comm_get_attr(comm, key, value, found, ierror)
  call MPI_Get_address(theirs, address, ierror)
  call check(found .and. value == address, 'Fortran finds the address that C set')
  call MPI_Comm_dup(comm, n, ierror)
  call MPI_Comm_get_attr(n, key, value, found, ierror)
  call check(found .and. value == address, 'it is copied as it is')
  call MPI_Comm_free(n, ierror)
  call MPI_Comm_free_keyval(key, ierror)
  call MPI_Comm_free(comm, ierror)
  call statuses()
  call MPI_Finalize(ierror)
  if (failed > 0) stop 1
  print '(a)', 'all good'
contains
  ! The types of mpi_f08 are in the module mpi too, and C has the addresses of Fortran's MPI_STATUS_IGNORE.
  subroutine statuses()
    type(MPI_Status) :: new
    type(MPI_Comm) :: a, b
    integer :: old(MPI_STATUS_SIZE), back(MPI_STATUS_SIZE), got
    integer(c_intptr_t) :: here
    call MPI_Sendrecv(7, 1, MPI_INTEGER, 0, 9, got, 1, MPI_INTEGER, 0, 9, MPI_COMM_SELF, old, ierror)
    call MPI_Status_f2f08(old, new, ierror)
    call check(ierror == MPI_SUCCESS .and. new%MPI_TAG == 9 .and. new%MPI_SOURCE == 0, 'a status for mpi_f08')
    back = 0
    call PMPI_Status_f082f(new, back)
    call check(all(back == old), 'and back')
    a%MPI_VAL = MPI_COMM_SELF
    b%MPI_VAL = MPI_COMM_WORLD
    call check(a /= b .and. .not. a == b, 'handles of mpi_f08 are compared')
    call MPI_Get_address(MPI_STATUS_IGNORE, here, ierror)
    call check(transfer(c_ignore, here) == here .and. transfer(c_ignore_f08, here) == here, 'MPI_F_STATUS_IGNORE of C')
    call MPI_Get_address(MPI_STATUSES_IGNORE, here, ierror)
    call check(transfer(c_ignore_all, here) == here, 'MPI_F_STATUSES_IGNORE of C')
  end subroutine

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (.not. ok) then
      failed = failed + 1
      print '(2a)', 'failed: ', what
    end if
  end subroutine
end program
