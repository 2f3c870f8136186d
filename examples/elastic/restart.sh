#!/bin/sh
# A long job is killed and goes on, with another number of ranks, to the same answer.
#
#     ./restart.sh [STEPS]
#
# Needs CRIU and the right to use it (root); see mpiexec(1), --checkpoint-dir.
set -eu
steps=${1:-6000}
mpiexec=${MPIEXEC:-mpiexec}
folder=$(cd "$(dirname "$0")" && pwd)
solver=${SOLVER:-$folder/resize}
saved=$(mktemp -d)
trap 'rm -rf "$saved"' EXIT

echo "undisturbed:"
"$mpiexec" -n 2 "$solver" "$steps" | tee "$saved/whole"

echo "killed after its first checkpoint:"
"$mpiexec" --checkpoint-dir "$saved/ckpt" --checkpoint-interval 200ms -n 2 "$solver" "$steps" >"$saved/killed" &
job=$!
while [ ! -e "$saved/ckpt/1/manifest" ] && kill -0 $job 2>/dev/null; do
    sleep 0.05
done
if [ ! -e "$saved/ckpt/1/manifest" ]; then
    wait $job && echo "the job ended before its first checkpoint: give it more steps" >&2 ||
        echo "no checkpoint could be made: mpiexec says above why" >&2
    exit 1
fi
kill -9 $job || echo "(it had ended already)"
wait $job || true

echo "restarted with 3 ranks:"
"$mpiexec" --restart "$saved/ckpt" --checkpoint-interval 0 -n 3 | tee "$saved/again"

answer() {
    sed -n 's/.*\(sum .*\)/\1/p' "$1"
}
if [ -n "$(answer "$saved/whole")" ] && [ "$(answer "$saved/whole")" = "$(answer "$saved/again")" ]; then
    echo "the answers are the same"
else
    echo "the answers differ" >&2
    exit 1
fi
