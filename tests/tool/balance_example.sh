# The example of load balancing: the same result with and without, less imbalance, and a picture of it.
. "$(dirname "$0")/t.bash"

mpicc -O2 -Wall -Wextra -Werror -o balance "$SOURCE_DIR/examples/balance.c" -lmpix_balance -lm
for ranks in 1 2 5; do
    mpiexec -n $ranks ./balance 60 trace.csv >out 2>&1 || fail "$ranks processes: $(cat out)"
    grep -q "bit for bit" out || fail "$ranks processes: $(cat out)"
done
python3 - <<'END' || fail "balancing does not balance: $(cat out)"
import re
without, with_it = (float(re.search(w + r" balancing: .* ([0-9.]+) times", open("out").read(), re.M).group(1))
                    for w in ("^without", "^with"))
assert 1 <= with_it < without, (with_it, without)
END
python3 "$SOURCE_DIR/examples/balance_plot.py" trace.csv picture.svg
python3 -c 'import xml.etree.ElementTree as e
lines = e.parse("picture.svg").getroot().findall("{http://www.w3.org/2000/svg}polyline")
assert [len(l.get("points").split()) for l in lines] == [60, 60]' || fail "the picture: $(head -c 300 picture.svg)"
must_fail 1 "is no trace" python3 "$SOURCE_DIR/examples/balance_plot.py" /dev/null picture.svg
must_fail 1 "usage" mpiexec -n 1 ./balance 0
