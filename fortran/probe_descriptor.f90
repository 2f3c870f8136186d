! Whether a compiler can call a procedure that takes any array by its descriptor.
module probe_descriptor
  implicit none
  interface
    subroutine take(buf) bind(C, name="pliant_probe_take")
      type(*), dimension(..), intent(in) :: buf
    end subroutine
  end interface
contains
  subroutine give(a)
    real, intent(in) :: a(:, :)
    call take(a(::2, :))
  end subroutine
end module
