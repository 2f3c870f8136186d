! SPDX-License-Identifier: BSD-3-Clause
! An MPI program in Fortran that uses a library in UPC. mpifort compiles it, upcc -extern-main links.
program fortran_and_upc
    use, intrinsic :: iso_c_binding
    use mpi_f08
    implicit none
    interface
        subroutine bupc_init(argc, argv) bind(C, name="bupc_init")
            import :: c_ptr
            type(c_ptr), value :: argc, argv
        end subroutine
        subroutine histogram_begin() bind(C, name="histogram_begin")
        end subroutine
        subroutine histogram_add(bin) bind(C, name="histogram_add")
            import :: c_long
            integer(c_long), value :: bin
        end subroutine
        function histogram_total() result(n) bind(C, name="histogram_total")
            import :: c_long
            integer(c_long) :: n
        end function
        function histogram_bins() result(n) bind(C, name="histogram_bins")
            import :: c_long
            integer(c_long) :: n
        end function
    end interface
    integer, parameter :: added = 1000
    integer :: rank, size, i
    integer(c_long) :: total

    call MPI_Init()
    call bupc_init(c_null_ptr, c_null_ptr) ! each rank becomes a UPC thread
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    call histogram_begin()
    do i = 0, added - 1
        call histogram_add(mod(int(i * 7 + rank, c_long), histogram_bins()))
    end do
    total = histogram_total()
    if (rank == 0) then
        if (total == int(added, c_long) * size) then
            print '(a, i0, a, i0, a)', "Fortran and UPC, ", size, " ranks: ", total, " added, as it should be"
        else
            print '(a, i0, a, i0, a)', "Fortran and UPC, ", size, " ranks: ", total, " added, WRONG"
        end if
    end if
    call MPI_Finalize()
end program
