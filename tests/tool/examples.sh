# The tour runs from beginning to end and prints what it should.
. "$(dirname "$0")/t.bash"

"$SOURCE_DIR/examples/tour" "$BUILD_DIR" >out 2>&1 || fail "the tour: $(tail -20 out)"
for pattern in "Hello from a world of 4 ranks" "rank 3 is process" "1000 laps around 4 ranks: .*as it should be" \
    "1000 laps around 16 ranks: .*as it should be" "on 4 ranks, [0-9]+ ms" \
    "rank 8 leads a team of 2, one of 3 teams; the sum over all 10 ranks is 55, as it should be" '@@@@@@@@' \
    "17984 primes below 200000 in 100 ranges by 5 workers, right" "pi is about 3.14159265" \
    "8 ranks, +256 x +256 cells" "the error fell as it should" "10 queens: 724 ways, as it should be" \
    "MPI_Send.*dest"; do
    grep -qE -- "$pattern" out || fail "the tour lacks '$pattern': $(cat out)"
done
if command -v gfortran >/dev/null; then
    grep -qE 'strip 3: from +[0-9.]+ to +[0-9.]+$' out || fail "the tour lacks the Fortran program: $(cat out)"
fi
