#!/bin/sh
# ranks.sh BUILD [ROUNDS] -- two ranks of one thread against one process of two threads, on an idle machine of two cores.
#
# Trains the same network in turns with two threads, and with two ranks of each MPI that is installed, and prints for each
# the seconds of training of every round, the median and how much longer it is than with threads. All runs end in the same
# weights, which is checked. `reln fit` of one process loads the same kernels, so that only the division of lanes (threads
# take the next lane when they are free, a rank has its own half), exchanges, waiting and the work that each rank repeats
# (the optimiser) make a difference.
set -eu

build=$(cd "$1" && pwd)
rounds=${2:-5}
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd "$room"
"$build/examples/example_make_data" gl3 6000 1 data.npz >/dev/null
cat > spec.yaml <<'END'
symmetry: gl:3
inputs: [{name: X, as: matrix}, {name: Y, as: matrix}]
target: {name: y, as: scalar}
model: {width: 96, depth: 2}
train: {epochs: 5, batch: 256, validation: 0.05}
END

once() # NAME THREADS COMMAND...: train, and add the seconds to NAME.times
{
    name=$1 threads=$2
    shift 2
    rm -rf run
    "$@" fit spec.yaml data.npz --out run --no-check --threads "$threads" >log 2>&1 || { cat log; exit 1; }
    sed -n 's/.*"seconds": *\([0-9.e+-]*\).*/\1/p' run/results.json | head -n 1 >>"$name.times"
    cksum <run/model.safetensors >>weights
}

kinds=threads
for mpi in openmpi mpich; do
    if [ -x "$build/reln-$mpi" ] && command -v "mpirun.$mpi" >/dev/null; then kinds="$kinds $mpi"; fi
done
round=0
while [ "$round" -lt "$rounds" ]; do
    for kind in $kinds; do
        case $kind in
        threads) once threads 2 "$build/reln" ;;
        *) once "$kind" 1 "mpirun.$kind" -n 2 "$build/reln-$kind" ;;
        esac
    done
    round=$((round + 1))
done
[ "$(sort -u weights | wc -l)" -eq 1 ] || { echo "the weights differ"; exit 1; }
for kind in $kinds; do
    median=$(sort -g "$kind.times" | sed -n "$(((rounds + 1) / 2))p")
    [ "$kind" = threads ] && base=$median
    echo "$kind $(sort -g "$kind.times" | tr '\n' ' ')" | awk -v m="$median" -v b="$base" \
        '{printf "%-8s", $1; for (i = 2; i <= NF; i++) printf " %6.2f", $i; printf "   median %.2f s, %+.1f %%\n", m, 100 * (m / b - 1)}'
done
