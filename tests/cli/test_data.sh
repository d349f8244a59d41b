#!/bin/sh
# test_data.sh -- `reln data`: what is in files, and SPECs for them that train as they are.
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
printf 't,v_x [m],v_y [m],v_z [m],y\n0,1,2,3,1\n1,4,5,6,0\n2,7,8,9,1\n' >steps.csv
run 0 data steps.csv
check "components are a vector: $(cat out)" grep -q '^v  *(3, 3) .* vector$' out
check "and columns of their own: $(cat out)" grep -q '^v_y  *(3,) ' out
run 0 data steps.csv --spec
check "a draft has the vector, not its components: $(cat out)" grep -q '^# - v_y is not used' out

drafts pairs.npz '^symmetry: gl:3 ' '^# symmetry: so:3 ' 'name: X, as: matrix' 'target: {name: y, as: scalar}'
run 0 predict run pairs.npz --out y.npz --quiet
refused 3 'y.npz: no array looks like' data y.npz --spec
drafts bodies.npz '^symmetry: o:3 ' 'name: C, as: covariance' 'name: v, as: vector}' 'target: {name: y, as: vector}'
drafts clouds.npz '^symmetry: o:3 ' 'name: v, as: vector, points: true' '^# - fold is not used' 'as: class, classes: 3' 'kind: set' 'average: 0.99'
run 0 data bodies.npz --spec --symmetry so:3
check "the symmetry that is given" grep -q '^symmetry: so:3$' out

# every file of arrays that is at hand
shared=$(dirname "$0")/../../../shared/data
[ ! -e "$shared/jets/toptag_val.h5" ] || drafts "$shared/jets/toptag_val.h5" 'points: true, count: Nobj'
[ ! -e "$shared/splats/modelnet10_train.npz" ] || drafts "$shared/splats/modelnet10_train.npz" 'most: 256, draw: true' 'groups: 32'

refused 2 'data: wanted a FILE of arrays' data
refused 2 'symmetry is for --spec' data pairs.npz --symmetry so:3
refused 4 'absent.npz: cannot open' data absent.npz

finish data
