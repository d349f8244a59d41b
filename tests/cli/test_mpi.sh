#!/bin/sh
# test_mpi.sh -- tests `mpirun reln fit`: any number of ranks, killed or not, gives the bits of one process; a failing rank gives one line.
# usage: test_mpi.sh RELN HELPER MAKE_DATA [KILLS]
set -u
reln=$1
helper=$2
make_data=$3
kills=${4:-${RELN_TEST_KILLS:-30}}
. "$(dirname "$0")/program.sh"
trap 'umount "$dir/disk" 2>/dev/null; rm -rf "$dir"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

have() { # have MPI: its launcher and our program for it
    command -v "mpirun.$1" >/dev/null 2>&1 && [ -x "$(dirname "$reln")/reln-$1" ]
}
have mpich || have openmpi || {
    echo "test_mpi: skipped, there is no MPI"
    exit 0
}

launch() { # launch MPI RANKS COMMAND ...: what they print in out and err, never longer than some minutes
    mpi=$1 ranks=$2
    shift 2
    call="mpirun.$mpi -n $ranks $*"
    [ "$mpi" = openmpi ] && set -- --oversubscribe -n "$ranks" "$@" || set -- -n "$ranks" "$@"
    timeout -k 5 ${RELN_TEST_PATIENCE:-240} "mpirun.$mpi" "$@" >out 2>err
}

# A rank that leaves its pid behind and may be given other arguments or limits than the others.
cat >rank.sh <<'EOF'
me=${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-0}}
echo $$ >pid.$me
[ ! -e odd.$me ] || . ./odd.$me
exec "$@"
EOF

spec() { # spec EPOCHS CHECKPOINT
    cat <<EOF
symmetry: gl:3
inputs:
  - {name: X, as: matrix}
  - {name: Y, as: matrix}
target: {name: y, as: scalar}
model: {width: 4, depth: 1, dropout: 0.1}
train: {epochs: $1, batch: 40, lr: 5e-3, schedule: cosine, clip: 1, validation: 0.2, checkpoint: $2, augment: {cond: 3}}
EOF
}

sum() { # sum KEY FILE: over the ranks of a run
    awk -v key="\"$1\":" '$1 == key { sum += $2 } END { print sum + 0 }' "$2"
}

"$make_data" gl3 200 1 data.npz || exit 1
"$make_data" gl3 200 2 other.npz || exit 1
spec 5 60 | sed 's/batch: 40/batch: 40, shuffle: blocks/' >calm.yaml
spec 40 0.02 >often.yaml
spec 1000000 60 >long.yaml
spec 1000000 60 | sed 's/width: 4/width: 1200/' >large.yaml
run 0 fit calm.yaml data.npz --out calm --threads 1 --quiet --no-check
run 0 fit often.yaml data.npz --out often --threads 1 --quiet --no-check

# sets of points, with norms over the batch
"$make_data" clouds 120 1 clouds.npz || exit 1
cat >sets.yaml <<EOF
symmetry: so:3
inputs:
  - {name: v, as: vector, points: true}
target: {name: label, as: class, classes: 3}
model: {kind: graph, width: 4, depth: 1}
train: {epochs: 2, batch: 48, lr: 5e-3, clip: 1, validation: 0.2, shuffle: blocks, augment: {cond: 1}}
EOF
run 0 fit sets.yaml clouds.npz --out sets --threads 1 --quiet --no-check
check "sets: data are read batch by batch, $(sum bytes_read sets/results.json) bytes" [ "$(sum bytes_read sets/results.json)" -gt 0 ]

equal() { # equal MPI RANKS THREADS RUN DATA: RUN.yaml on DATA has the weights of one process
    rm -rf many
    launch "$1" "$2" "$reln" fit "$4.yaml" "$5" --out many --threads "$3" --quiet --no-check
    check "$1, $2 ranks of $3 threads, $4: exit code" [ $? -eq 0 ]
    check "$1, $2 ranks of $3 threads, $4: the same bits" cmp "$4/model.safetensors" many/model.safetensors
    check "$1, $2 ranks of $3 threads, $4: each is listed" [ "$(grep -c '"shards":' many/results.json)" -eq "$2" ]
    # every shard is run, and every sample read, by one rank only
    for key in shards bytes_read; do
        check "$1, $2 ranks of $3 threads, $4: $key" [ "$(sum $key many/results.json)" -eq "$(sum $key "$4/results.json")" ]
    done
}

# ---- killed, and resumed on another number of ranks ------------------------------------------------------------------

pick() { # pick N: a random number below N
    od -An -N2 -tu2 /dev/urandom | awk -v n="$1" '{ print $1 % n }'
}

# What a rank does when it is killed is read while it is stopped: it exchanges messages if it runs code of an MPI library, or
# sleeps between two looks for messages; it saves if it has a file of the folder open for writing.
exchanges() { # exchanges PID: of a stopped process
    read -r number _ where rest <"/proc/$1/syscall" 2>/dev/null || return 1
    case $(uname -m):$number in # clock_nanosleep() and sched_yield()
    x86_64:230 | x86_64:24 | aarch64:115 | aarch64:124) return 0 ;;
    *:-1) ;;
    *) where=${rest##* } ;;
    esac
    grep -E 'mpi|open-(pal|rte)|pmix|uc[pstm]|fabric' "/proc/$1/maps" 2>/dev/null | while IFS='- ' read -r from to _; do
        [ $((where)) -lt $((0x$from)) ] || [ $((where)) -ge $((0x$to)) ] || echo here
    done | grep -q here
}

end_rank() { # end_rank RANK: kills it, and counts; fails if it is gone
    victim=$(cat "pid.$1")
    kill -STOP "$victim" 2>/dev/null || return 1
    for _ in 1 2 3 4 5 6 7 8 9; do
        grep -q '^State:.T' "/proc/$victim/status" 2>/dev/null && break
    done
    talks=0 writes=0
    exchanges "$victim" && talks=1
    ls -l "/proc/$victim/fd" 2>/dev/null | grep -q '^l-w.*/killed/.*tmp' && writes=1
    kill -9 "$victim" 2>/dev/null || return 1
    [ "$1" -ne 0 ] || of_first=$((of_first + 1))
    in_exchange=$((in_exchange + talks)) in_saving=$((in_saving + writes)) left=$((left - 1))
}

kill_some() { # kill_some MPI KILLS
    times=$2 left=$2 ends=0 of_first=0 in_exchange=0 in_saving=0
    rm -rf killed
    while [ "$left" -gt 0 ] || [ -e killed ] || { [ $ends -eq 0 ] && [ $failures -eq 0 ]; }; do
        n=$((1 + $(pick 4)))
        rm -f pid.*
        if [ -e killed/checkpoint.safetensors ] || [ -e killed/checkpoint.safetensors.previous ]; then
            set -- "$1" fit --resume killed
        else
            rm -rf killed
            set -- "$1" fit often.yaml data.npz --out killed
        fi
        mpi=$1
        shift
        launch "$mpi" "$n" sh rank.sh "$reln" "$@" --threads 1 --quiet --no-check &
        job=$!
        if [ "$left" -gt 0 ]; then
            waited=0
            while [ ! -e "pid.$((n - 1))" ] && [ $waited -lt 100 ]; do
                sleep 0.02
                waited=$((waited + 1))
            done
            sleep "0.$(printf %02d "$(pick 40)")"
            end_rank "$(pick "$n")"
        fi
        wait $job
        code=$?
        check "$mpi: a lost rank ends the job in time" [ $code -ne 124 ]
        if [ $code -eq 0 ]; then
            check "$mpi, killed and resumed: the same bits" cmp often/model.safetensors killed/model.safetensors
            rm -rf killed
            ends=$((ends + 1))
        elif [ "$left" -le 0 ] && [ -e err ] && [ $failures -gt 0 ]; then
            break
        fi
        set -- "$mpi" "$left"
    done
    check "$mpi: killed runs end" [ "$ends" -gt 0 ]
    echo "$mpi: killed $times times: $of_first times rank 0, $in_exchange times in an exchange, $in_saving times while it saved; $ends runs ended"
}

# ---- faults ------------------------------------------------------------------------------------------------------------

line() { # line WHAT PATTERN: one line of ours says what happened
    check "$1: '$(grep '^reln: ' err)', wanted '$2'" grep -q "^reln: .*$2" err
    check "$1: one line" [ "$(grep '^reln: ' err | grep -vc '^reln: note: ')" -eq 1 ]
}

fault() { # fault MPI WHAT PATTERN [FOLDER]: a run of three ranks fails, in time
    rm -rf faulty
    launch "$1" 3 sh rank.sh "$reln" fit long.yaml data.npz --out "${4:-faulty}" --threads 1 --quiet --no-check
    code=$?
    check "$1, $2: fails, in time (code $code)" [ $code -ne 0 ] && check "$2" [ $code -ne 124 ]
    line "$1, $2" "$3"
    rm -f odd.*
}

faults() { # faults MPI
    echo 'shift 4; set -- "$reln_here" fit long.yaml no.npz "$@"' >odd.1
    reln_here=$reln
    export reln_here
    fault "$1" "a rank without data" "no.npz"
    echo 'shift 4; set -- "$reln_here" fit long.yaml other.npz "$@"' >odd.2
    fault "$1" "a rank with other data" "the ranks have different"
    if ! nm "$reln" 2>/dev/null | grep -q '__[at]san_init'; then # sanitizers take all the addresses there are
        echo 'ulimit -v 600000' >odd.1
        echo 'shift 4; set -- "$reln_here" fit large.yaml data.npz "$@"' >>odd.1
        echo 'shift 4; set -- "$reln_here" fit large.yaml data.npz "$@"' >odd.0
        cp odd.0 odd.2
        fault "$1" "a rank without memory" "out of memory"
    fi
    mkdir -p disk
    if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=32k tmpfs disk 2>/dev/null; then
        fault "$1" "no room on the disk" "No space left on device" disk/run
        umount disk
    fi
    if command -v flock >/dev/null; then # the lock of a node that is gone
        mkdir -p held
        echo "77 node-of-no-machine" >held/.reln-lock
        exec 9<>held/.reln-lock
        flock 9
        fault "$1" "a stale lock" "process 77 on node-of-no-machine" held
        exec 9>&-
    fi
}

stop_by() { # stop_by MPI SIGNAL: sent to one rank, all stop with a checkpoint
    rm -rf stopped pid.*
    launch "$1" 3 sh rank.sh "$reln" fit long.yaml data.npz --out stopped --threads 1 --quiet --no-check &
    job=$!
    waited=0
    until [ -e stopped/metrics.csv ] || [ $waited -ge 500 ]; do
        sleep 0.02
        waited=$((waited + 1))
    done
    sleep 0.2
    began=$(date +%s)
    kill "-$2" "$(cat "pid.$(pick 3)")"
    wait $job
    check "$1: stopped by $2, in time" [ $? -ne 124 ]
    took=$(($(date +%s) - began)) # less than a second, where the machine has nothing else to do
    check "$1: stopped by $2, took $took s" [ $took -le 20 ]
    run 0 info stopped --json
    # it goes on alone, and with others
    "$reln" fit --resume stopped --until 100000 --quiet --no-check >/dev/null 2>&1 &
    alone=$!
    sleep 0.3
    kill -TERM $alone
    wait $alone
    check "$1: a run of ranks goes on alone" [ $? -eq 143 ]
}

for mpi in mpich openmpi; do
    if ! have $mpi; then
        echo "test_mpi: $mpi is not here: skipped"
        continue
    fi
    if [ $mpi = mpich ]; then
        for ranks in 1 2 3 4 7; do # both numbers of threads, where time does not matter; graph/test_ranks has all of them
            if [ "$kills" -gt 30 ]; then
                for threads in 1 2; do
                    equal $mpi $ranks $threads calm data.npz
                    equal $mpi $ranks $threads sets clouds.npz
                done
            else
                equal $mpi $ranks $((1 + (ranks + 1) % 2)) calm data.npz
            fi
        done
        equal $mpi 3 1 sets clouds.npz
        kill_some $mpi $((kills * 5 / 6))
    else
        equal $mpi 2 1 sets clouds.npz
        equal $mpi 3 2 calm data.npz
        kill_some $mpi $((kills / 6))
    fi
    faults $mpi
    [ $mpi = openmpi ] || stop_by $mpi TERM
    stop_by $mpi USR1
done

# ---- slices of time, as a scheduler gives them -----------------------------------------------------------------------

if have mpich; then
    slice=${RELN_TEST_SLICE:-1} # seconds: a program that starts slowly needs longer ones to get ahead
    MPIRUN=mpirun.mpich RELN=$reln timeout -k 5 $((100 * slice)) sh "$(dirname "$0")/../../examples/requeue.sh" "$slice" \
        "2 1 3" often.yaml data.npz sliced >out 2>err
    check "slices of $slice s: exit code" [ $? -eq 0 ]
    check "slices of $slice s: the same bits" cmp often/model.safetensors sliced/model.safetensors
fi

# ---- packed arrays ---------------------------------------------------------------------------------------------------

# The reader of HDF5 is started once for each array on this machine, by whichever rank: a script counts.
pack=$(dirname "$helper")/h5_pack
programs=$(dirname "$reln")
mkdir bin
cat >bin/reln-h5 <<EOF
#!/bin/sh
echo "\$1" >>"$dir/started"
exec "$programs/reln-h5" "\$@"
EOF
chmod +x bin/reln-h5
for mpi in mpich openmpi; do
    [ -x "$pack" ] && [ -x "$programs/reln-h5" ] && have $mpi || continue
    cp "$reln" "$programs/reln-$mpi" bin
    "$pack" data.npz 0 90 part-0.h5 && "$pack" data.npz 90 200 part-1.h5
    check "$mpi: files of HDF5" [ $? -eq 0 ]
    rm -rf started packed
    launch $mpi 3 "$dir/bin/reln" fit calm.yaml 'part-*.h5' --out packed --threads 1 --quiet --no-check
    check "$mpi, HDF5: exit code" [ $? -eq 0 ]
    check "$mpi, HDF5: the same bits" cmp calm/model.safetensors packed/model.safetensors
    check "$mpi, HDF5: 3 arrays of 2 files, $(grep -c cat started) were unpacked" [ "$(grep -c cat started)" -eq 6 ]
done

# ---- tasks and measurements ------------------------------------------------------------------------------------------

if have mpich; then
    run 0 reproduce sp4 --scale smoke --models reln,mlp-256 --seeds 1 --out task --threads 1 --quiet
    launch mpich 3 "$reln" reproduce sp4 --scale smoke --models reln,mlp-256 --seeds 1 --out task-3 --quiet
    check "a task of three ranks" [ $? -eq 0 ]
    check "a task of three ranks: nobody stopped it" [ "$(grep -c stopped err)" -eq 0 ]
    launch mpich 4 "$reln" reproduce sp4 --scale smoke --models reln,mlp-256 --seeds 1 --jobs 2 --out task-4 --quiet
    check "a task of four ranks, two runs at a time" [ $? -eq 0 ]
    check "a task of four ranks, two runs at a time: nobody stopped it" [ "$(grep -c stopped err)" -eq 0 ]
    for file in task/models/*; do
        check "$file: the same bits of three ranks" cmp "$file" "task-3/models/$(basename "$file")"
        check "$file: the same bits of two times two" cmp "$file" "task-4/models/$(basename "$file")"
    done
    check "the table has all runs" grep -q mlp-256 task-4/metrics.csv
    for ranks in 1 2 3 4 7; do
        for threads in 1 2; do
            [ "$kills" -gt 30 ] || continue
            rm -rf task-n
            launch mpich $ranks "$reln" reproduce sp4 --scale smoke --models reln --seeds 1 --threads $threads --out task-n --quiet
            for file in task-n/models/*; do
                check "sp4: $ranks ranks of $threads threads" cmp "$file" "task/models/$(basename "$file")"
            done
        done
    done
    launch mpich 2 "$reln" bench scale sp4
    check "scaling is measured" [ $? -eq 0 ]
    check "scaling is projected" grep -q '1,000' out
    # two ranks: the sums once up and once back, and agreements
    check "what is sent: $(grep 'times the sums' out)" awk '/times the sums/ {
        n++; if ($(NF - 3) < 2 || $(NF - 3) > 2.1) exit 1 } END { exit n != 1 }' out
fi

# ---- launchers and programs that do not fit --------------------------------------------------------------------------

mkdir alone && cp "$reln" alone/reln
if [ ! -x "$("$reln" --libexec 2>/dev/null)/reln-openmpi" ]; then
    (
        export OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0
        alone/reln fit calm.yaml data.npz >out 2>err
        echo $? >code
    )
    if [ "$(cat code)" -eq 2 ]; then
        line "no program for the launcher" "OMPI_COMM_WORLD_SIZE announces 2 processes"
    fi
fi
if have mpich && have openmpi; then
    launch mpich 2 "$(dirname "$reln")/reln-openmpi" fit calm.yaml data.npz --out wrong
    check "the wrong MPI is refused" [ $? -ne 0 ]
    check "the wrong MPI is named" grep -q "they are of different MPIs" err
fi
if have mpich; then
    launch mpich 7 "$reln" fit calm.yaml data.npz --out idle --threads 2 --no-check
    check "threads without work are told" grep -q '^reln: note: 14 threads in 7 processes, and work for 2' err
    launch mpich 2 "$reln" predict calm data.npz
    check "a command for one process" [ $? -ne 0 ]
    line "a command for one process" "predict runs as one process"
fi
finish test_mpi
