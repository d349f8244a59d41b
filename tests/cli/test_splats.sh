#!/bin/sh
# test_splats.sh -- tests `reln splats`: descriptions of files of splats, and arrays made from files and folders.
# usage: test_splats.sh RELN HELPER
set -u
reln=$1
helper=$2
. "$(dirname "$0")/program.sh"

# 32 bytes a splat: position (1, 2, 3) and scales 0.5 as f32, RGBA, quaternion
one='\0\0\200\077\0\0\0\100\0\0\100\100\0\0\0\077\0\0\0\077\0\0\0\077\100\200\300\377\377\200\200\200'
{ printf "$one"; printf "$one"; } > two.splat
run 0 splats info two.splat
check "counts: $(cat out)" grep -q 'splat, 2 splats' out
check "extents: $(cat out)" grep -q '^x  *1.00 ' out
run 0 splats info two.splat --json
json splats=2 'format="splat"'
run 0 splats info two.splat --report page.html
check "a page" grep -q '<svg' page.html

printf 'OFF8 6 0\n-1 -1 -1\n1 -1 -1\n1 1 -1\n-1 1 -1\n-1 -1 1\n1 -1 1\n1 1 1\n-1 1 1\n4 0 1 2 3\n4 4 5 6 7\n4 0 1 5 4\n4 1 2 6 5\n4 2 3 7 6\n4 3 0 4 7\n' > cube.off
run 0 splats info cube.off --report cube.html
check "a mesh has vertices, triangles, an area" grep -q '^cube.off: off, mesh, 8 vertices, 12 triangles of area 24$' out
check "and extents" grep -q '^z  *-1.00  *1.00$' out
check "and a page" grep -q 'points of the surface' cube.html
run 0 splats info cube.off --json
check "as JSON" grep -q '"area": 24' out
run 0 splats convert cube.off --splats 64 --out cube.npz
run 0 data cube.npz
check "sets: $(cat out)" grep -q '^position  *(1, 64, 3) ' out
mkdir -p shapes/cube/train shapes/cube/test shapes/wedge/train
cp cube.off shapes/cube/train/a.off
cp cube.off shapes/cube/test/b.off
sed 's/^1 1 1$/0 0 0/' cube.off > shapes/wedge/train/c.off
run 0 splats convert shapes --splats 64 --out sets.npz
run 0 data sets.npz
check "two objects: $(cat out)" grep -q '^label  *(2,)' out
run 0 data sets-test.npz
check "one for testing: $(cat out)" grep -q '^label  *(1,)' out

# vertices without a triangle: they have extents, and no surface that could be drawn
printf 'OFF\n2 0 0\n0 0 0\n1 2 3\n' > points.off
run 0 splats info points.off --report points.html
check "no triangles" grep -q '^points.off: off, mesh, 2 vertices, 0 triangles of area 0$' out
check "and extents" grep -q '^z  *0  *3.00$' out
run 0 splats info points.off --json
json vertices=2 triangles=0 area=0
refused 3 'a mesh of 0 triangles has the area 0' splats convert points.off --splats 64 --out a.npz

# what is refused, in one line
printf 'x' >> two.splat
refused 3 'multiple of 32' splats info two.splat
printf 'OFF\n1 1 0\n0 0 0\n3 0 0 7\n' > far.off
refused 3 'number of a vertex' splats convert far.off --out a.npz
refused 3 'no .off, .ply or .splat' splats convert shapes/cube/train --out a.npz
refused 2 'wants --out' splats convert cube.off
refused 2 'wanted .info FILE' splats look cube.off
refused 4 'cannot open' splats info nothing.ply

finish splats
