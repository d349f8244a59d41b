#!/bin/sh
# requeue.sh -- trains with several processes in slices of time, as under a scheduler: each slice receives SIGUSR1 when its time is
# over and writes a checkpoint, from which the next slice continues. The given numbers of ranks are used in turn.
# usage: requeue.sh SECONDS "RANKS ..." SPEC DATA FOLDER; MPIRUN and RELN may name other programs
set -u
seconds=$1 all_ranks=$2 spec=$3 data=$4 folder=$5

while :; do
    for ranks in $all_ranks; do
        if [ -e "$folder/checkpoint.safetensors" ] || [ -e "$folder/checkpoint.safetensors.previous" ]; then
            set -- --resume "$folder"
        else
            set -- "$spec" "$data" --out "$folder"
        fi
        timeout --preserve-status -s USR1 "$seconds" ${MPIRUN:-mpirun} -n "$ranks" "${RELN:-reln}" fit "$@" --quiet
        code=$?
        # the folder says how it ended; not every mpirun passes the code of a run that was stopped on
        if [ "$code" -ne 0 ] && [ "$code" -ne 138 ]; then
            exit "$code"
        fi
        if [ -e "$folder/results.json" ] && ! grep -q '"end": "\(stopped;\|running\)' "$folder/results.json"; then
            exit 0
        fi
    done
done
