# The tests of objects also pass without a launcher, as a world of one.
. "$(dirname "$0")/t.bash"
for name in attr errors group env badargs; do
    "$BUILD_DIR/tests/bin/mpi.obj_$name" || fail "obj_$name alone"
done
"$BUILD_DIR/tests/bin/mpi.obj_info" first second || fail "obj_info alone"
