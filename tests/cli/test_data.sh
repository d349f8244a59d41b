#!/bin/sh
# test_data.sh -- tests `reln data`: the list of arrays of a file, and drafts of SPECs that can be trained without changes.
# usage: test_data.sh RELN HELPER MAKE_DATA [FILE ...]
set -u
reln=$1
helper=$2
make_data=$3
. "$(dirname "$0")/program.sh"

"$make_data" gl3 60 1 pairs.npz || exit 1
"$make_data" so3 60 1 bodies.npz
"$make_data" clouds 60 1 clouds.npz

run 0 data clouds.npz
check "points: $(cat out)" grep -q '^v  *(60, 12, 3)  *f8 .* vector, points$' out
check "classes: $(cat out)" grep -q '^label  *(60,)  *i8  *0 .* target, class (3)$' out
check "numbers of samples" grep -q '^fold .* numbers samples$' out
check "80 columns" sh -c '! grep -q "^.\{81\}" out'
run 0 data clouds.npz --json
json 'file="clouds.npz"' samples=60 arrays

drafts() { # drafts FILE [PATTERN ...]: its draft has these lines and trains
    file=$1
    shift
    run 0 data "$file" --spec
    cp out draft.yaml
    for pattern; do
        check "$file: '$pattern' in $(cat draft.yaml)" grep -q "$pattern" draft.yaml
    done
    rm -rf run
    run 0 fit draft.yaml "$file" --out run --set train.steps=2 --no-check --quiet
}
drafts pairs.npz '^symmetry: gl:3 ' '^# symmetry: so:3 ' 'name: X, as: matrix' 'target: {name: y, as: scalar}'
run 0 predict run pairs.npz --out y.npz --quiet
refused 3 'y.npz: no array looks like' data y.npz --spec
drafts bodies.npz '^symmetry: o:3 ' 'name: C, as: covariance' 'name: v, as: vector}' 'target: {name: y, as: vector}'
drafts clouds.npz '^symmetry: o:3 ' 'name: v, as: vector, points: true' '^# - fold is not used' 'as: class, classes: 3' 'kind: set' 'average: 0.99'
run 0 data bodies.npz --spec --symmetry so:3
check "the symmetry that is given" grep -q '^symmetry: so:3$' out

# tables of text: columns that are components are one array; rows with times are a recording
awk 'BEGIN {
    print "#timestamp [s], p_x [m], p_y [m], p_z [m], q_w, q_x, q_y, q_z, v_x, v_y, v_z"
    for (i = 0; i < 400; i++) {
        t = i * 0.02
        printf "%.4f,%.6f,%.6f,%.6f,%.4f,%.4f,0,0,%.6f,%.6f,1\n", t, sin(t), -cos(t), t, cos(t), sin(t), cos(t), sin(t)
    }
}' >flight.csv
run 0 data flight.csv
check "vectors: $(cat out)" grep -q '^p  *(400, 3) .* target, vector$' out
check "quaternions: $(cat out)" grep -q '^q  *(400, 4) .* quaternion$' out
check "no components" sh -c '! grep -q "^p_x" out'
check "times" grep -q '^timestamp .* times of a recording$' out
drafts flight.csv '^symmetry: so:3 ' 'name: v, as: vector, sequence: true' 'name: p, as: vector}' '  time: timestamp' 'target: change' \
    '# estimate: v ' 'kind: sequence'
tr -d '#' <flight.csv | cut -d, -f1-8 | awk -F, 'NR > 1 { print $1 + 100, $2, $3, $4, $6, $7, $8, $5 }' >flight.txt # as TUM writes them
drafts flight.txt 'name: q, as: quaternion, sequence: true' 'name: t, as: vector}'
awk 'BEGIN {
    srand(1); print "E1,px1,py1,pz1,mass"
    for (i = 0; i < 60; i++) { x = rand(); y = rand(); z = rand(); print sqrt(1 + x*x + y*y + z*z), x, y, z, 1 + i / 60 }
}' >pairs.csv
drafts pairs.csv '^symmetry: lorentz ' 'name: p1, as: fourvector}' 'target: {name: mass, as: scalar}'
sed 's/E1,px1,py1,pz1/u0,x,y,z/' pairs.csv >bare.csv
drafts bare.csv 'name: xyz, as: vector}' 'name: u0, as: scalar}'

# a mesh: triangles
awk 'BEGIN {
    print "OFF\n202 100 0"
    for (i = 0; i < 101; i++) print i, i % 7, 0; for (i = 0; i < 101; i++) print i, i % 5, 1
    for (i = 0; i < 100; i++) print 3, i, i + 1, i + 101
}' >strip.off
drafts strip.off 'name: centre, as: vector}' 'name: edge2, as: vector}' 'target: {name: area, as: scalar}'

# every file of arrays that is at hand: text, splats and meshes in full, large sets for a batch
shared=$(dirname "$0")/../../../shared/data
[ ! -e "$shared/jets/toptag_val.h5" ] || drafts "$shared/jets/toptag_val.h5" 'points: true, count: Nobj' \
    '^# - jet_pt is not used: boosts change it' 'kind: messages, beside: \[set, messages\]'
[ ! -e "$shared/splats/modelnet10_train.npz" ] || drafts "$shared/splats/modelnet10_train.npz" 'most: 256, draw: true' 'groups: 32'
for file in "$shared"/splats/*.ply "$shared"/splats/*.splat; do
    [ ! -e "$file" ] || drafts "$file" 'name: covariance, as: covariance}' 'name: colour, as: scalar}' 'target: {name: opacity'
done
for file in "$shared"/splats/*.off; do
    [ ! -e "$file" ] || drafts "$file" 'target: {name: area'
done
for file in "$shared"/trajectories/*.csv "$shared"/trajectories/*.txt; do
    [ ! -e "$file" ] || drafts "$file" 'as: quaternion, sequence: true' 'target: change'
done

refused 2 'data: wanted a FILE of arrays' data
refused 2 'symmetry is for --spec' data pairs.npz --symmetry so:3
refused 4 'absent.npz: cannot open' data absent.npz

finish data
