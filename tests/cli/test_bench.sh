#!/bin/sh
# test_bench.sh -- `reln bench` from outside: every row is there, numbers are positive and finite. No time is asserted.
# usage: test_bench.sh RELN HELPER [SANITIZER]: with a sanitizer, which is slow, everything is run once and little measured
set -u
reln=$1
helper=$2
sanitizer=${3:-}
. "$(dirname "$0")/program.sh"

has() {
    grep -F -e "$1" out >/dev/null || problem "'$1' is not on stdout"
}

# One JSON object, one line; every row on a line of its own for awk.
rows() {
    [ "$(wc -l <out)" -eq 1 ] || problem "not one line of JSON"
    "$helper" json machine rows scaling processes setups version <out || problem "JSON"
    tr '{' '\n' <out | grep '"pass":' >rows
}

# number FIELD: its value in the rows, one a line
number() {
    sed -n "s/.*\"$1\": *\\([^,}]*\\).*/\\1/p" rows
}
positive() {
    number "$1" | awk -v rows="$(wc -l <rows)" '
        { n++; if (!($1 ~ /^[0-9.]+(e[-+]?[0-9]+)?$/) || $1 <= 0) bad++ }
        END { exit bad > 0 || n != rows || n == 0 }' || problem "'$1' is not positive in every row"
}
row() { # NAME PASS BATCH THREADS
    grep -F "\"name\": \"$1\", \"pass\": \"$2\", \"batch\": $3, \"threads\": $4," rows >/dev/null ||
        problem "no row $1 $2 $3 $4"
}

whole_run() {
    run 0 bench --quick --threads 2 --json
    rows
    for field in seconds p10 p90 gflops share sgemm_gflops build_seconds; do positive "$field"; done
    for pass in forward gradient train; do
        for threads in 1 2; do
            for batch in 1 10 100; do row sp4 "$pass" "$batch" "$threads"; done
            for width in 16 32 64 128 256 512; do row "gl3/$width" "$pass" 100 "$threads"; done
            for n in 2 3 4 5 6 7 8; do row "gln/$n" "$pass" 100 "$threads"; done
            row platonic "$pass" 10 "$threads"
            row mlp "$pass" 100 "$threads"
            row hnn "$pass" 1 "$threads"
            row rollout "$pass" 10 "$threads"
            for name in mp50 set64-24 set64-64 transformer64 resnet1d splats-mae splats-reln drone-reln drone-resnet; do row "$name" "$pass" 1 "$threads"; done
        done
        for layer in linear relu bracket attention conv; do
            grep -F "\"name\": \"layer/$layer/" rows | grep -F "\"$pass\"" >/dev/null || problem "no layer $layer $pass"
        done
    done
    for kernel in bracket/sp:4 bracket/gl:3 relu/gl:3 invariant/gl:3 pool/sl:3 softmax/so:3 conv/gl:3 mix/gl:3; do
        grep -F "\"name\": \"kernel/$kernel/" rows >/dev/null || problem "no kernel $kernel"
    done
    # Traffic for each sample is known where a batch fills a shard: for kernels at 100 it is.
    grep '"kernel/mix/gl:3/256"' rows | grep '"flops_per_byte": [1-9]' >/dev/null || problem "no flops_per_byte"
    # A run allocates nothing, whatever it is.
    [ -z "$(number allocations | grep -v '^0\(\.0*\)\?$')" ] || problem "a run allocates"
    # p10 <= median <= p90
    number p10 >p10 && number seconds >median && number p90 >p90
    paste p10 median p90 | awk '$1 > $2 || $2 > $3 { exit 1 }' || problem "percentiles out of order"
    # A share is of as many threads of sgemm.
    number gflops >gflops && number share >share && number sgemm_gflops >sgemm && number threads >threads
    paste gflops share sgemm threads | awk '{ d = $1 - $2 * $3 * $4; if (d < 0) d = -d; if (d > 1e-6 * $1) exit 1 }' ||
        problem "a share is not gflops / (threads sgemm)"
    has '"name": "sp4/forward/1"'
    has '"name": "sp4/train/100"'
    has '"theory_linear"'
}

every_case_once() {
    for name in sp4 platonic mlp hnn rollout mp50 set64-24 set64-64 transformer64 resnet1d splats-mae splats-reln drone-reln drone-resnet gl3/32 gln/5 layer/linear/256 layer/relu/256 layer/rms/256 layer/project/256 \
        layer/bracket/256 layer/product/256 layer/linear-invariant/256 layer/linear-norm/256 layer/linear-pool-max/64 \
        layer/pool-softmax/64 layer/attention/64 layer/conv/64; do
        run 0 bench once "$name/train/2"
    done
    for name in bracket/so:1,3/256 form/sp:4/256 invariant/gl:3/16 relu/gl:3/16 pool/sl:3/256 softmax/so:3/256 \
        tanh/so:3/256 exp/so:3/256 conv/gl:3/64 mix/gl:3/16; do
        run 0 bench once "kernel/$name/gradient/2" --threads 2
    done
}

if [ -z "$sanitizer" ]; then whole_run; else every_case_once; fi

# The nominal operations of the dense network, from its dimensions: with C = 256, K = 10 and two inputs, forward is
# 2 K (2 C + 4 C C) + 2 C for a sample.
run 0 bench --quick --threads 1 --only sp4 --json
rows
grep -v '"sp4"' rows && problem "--only sp4 measured something else"
grep '"forward", "batch": 100,' rows >one
seconds=$(sed 's/.*"seconds": *\([^,]*\),.*/\1/' one)
gflops=$(sed 's/.*"gflops": *\([^,]*\),.*/\1/' one)
awk -v s="$seconds" -v g="$gflops" 'BEGIN {
    want = 100 * (2 * 10 * (2 * 256 + 4 * 256 * 256) + 2 * 256)
    got = s * g * 1e9
    exit !(got > want * (1 - 1e-9) && got < want * (1 + 1e-9)) }' || problem "gflops x seconds is not the nominal count"

# For people.
run 0 bench --quick --threads 1 --only gln/2,gln/3,kernel/exp
has 'GFLOP/s'
has 'theory 4/n^2'
has 'kernel/exp/so:3/256'
[ ! -s err ] || problem "something on stderr, which is no terminal"

# The page: one file, nothing fetched, with the roofline and every row.
run 0 bench --quick --threads 1 --only gl3/16,kernel/mix --quiet --report page.html
[ ! -s out ] || problem "--quiet printed something"
for text in '<svg' Roofline 'kernel/mix/gl:3/256' gl3/16; do
    grep -F -e "$text" page.html >/dev/null || problem "the page has no '$text'"
done
grep -E '(src|href)="(https?:)?//' page.html && problem "the page fetches something"
refused 4 'none/page.html: cannot be written' bench --quick --threads 1 --only kernel/exp --quiet --report none/page.html

run 0 bench once sp4/train/10
awk 'NF != 2 || !($1 > 1e6) || !($2 > 0) { exit 1 } END { exit NR != 1 }' out || problem "once: not memory and time"
# With --out: inputs, weights and gradients, by their names.
run 0 bench once mp50/gradient/2 --out kept.npz
for name in in.s in.p in.label w.embed.W w.block1.edge.W3 g.embed.W g.block1.edge.W3 g.out.b loss; do
    grep -a -F "$name.npy" kept.npz >/dev/null || problem "once --out: no array $name"
done
refused 4 'none/kept.npz' bench once sp4/gradient/2 --out none/kept.npz
refused 2 'wanted NAME/PASS/BATCH' bench once sp4/train
refused 2 'wanted NAME/PASS/BATCH' bench once kernel/exp/so:3/256/train/10
refused 2 "'twice' is not understood" bench twice
refused 2 "no measurement has 'nothing-like-it' in its name" bench --only nothing-like-it --quick

finish bench
