# The benchmark of UPC works: every program is right, and table and plots are written.
. "$(dirname "$0")/t.bash"

[ -x "$BUILD_DIR/bin/upcc" ] || { echo "this build has no UPC compiler"; exit 77; }
is_sanitized && { echo "OpenMP beside a sanitizer says nothing"; exit 77; }
must_say 'upc.md and plots are written' \
    python3 "$SOURCE_DIR/bench/upc.py" --build "$BUILD_DIR" --smoke --out out
virtual=yes
grep -q '(no virtual hosts on this machine)' out/upc.md && virtual=
for name in ${virtual:+paper} random random_far random_local nbody nbody_far nbody_local; do
    grep -q '<polyline' "out/upc_$name.svg" || fail "no curve in upc_$name.svg"
done
must_say '^\| random \| 2 \| 4 \| groups of 2 \|' cat out/upc.md
must_say '^\| 8-byte get, 4 threads \|' cat out/upc.md
must_say '^\| own elements through a cast pointer, 2 threads, beside private C \|' cat out/upc.md
must_say '^\| plain C through upcc beside cc: crc \|' cat out/upc.md
must_say '^\| toposort \| 4 \|' cat out/upc.md
must_say '^\| far random updates, collected beside one by one \|' cat out/upc.md
# Groups that span hosts, with a rank each and with one for each thread.
for model in flat 'funneled, groups of 2' 'multiple, groups of 2'; do
    [ -z "$virtual" ] || must_say "^\\| nbody \\| 4 \\| 4 \\| $model \\|" cat out/upc.md
done
