# SPDX-License-Identifier: BSD-2-Clause
# tundish feed on raw data in place: the same batches as from the records that convert makes.
load lib.bash

# both OPS SOURCE... [-- OPTION...]: feeds the sources, and a set that convert makes of them
both() {
	local ops=$1 sources=() threads
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		sources+=("$1")
		shift
	done
	shift || true
	rm -rf set
	tundish convert -q "${sources[@]}" -o set/s --shards 1 --order keep --keys height= "$@" 2>/dev/null
	for more in "-j 1" "-j 5 --memory 20M" "--shuffle full --epochs 2 --rank 1 --world 2 --uneven keep"; do
		same "$(tundish feed "${sources[@]}" "$@" --ops "$ops" --batch 3 --to hash -q $more)" \
			"$(tundish feed set --ops "$ops" --batch 3 --to hash -q $more)"
	done
}

# Two cubes in class folders: 10 lines, 12 samples, 5 bands of uint16.
make_cubes() {
	python3 - <<'PY'
import os, struct
for k, name in enumerate("ab"):
    os.makedirs("cubes/" + name)
    with open(f"cubes/{name}/c.img", "wb") as f:
        f.write(struct.pack("<600H", *(i * 7 + 1000 * k for i in range(600))))
    with open(f"cubes/{name}/c.hdr", "w") as f:
        f.write("ENVI\nsamples = 12\nlines = 10\nbands = 5\ndata type = 12\ninterleave = bsq\nbyte order = 0\n")
PY
}

@test "pictures: class folders, single files, a table, no labels" {
	photos=("$DATA"/photos/*/*)
	both "random_resized_crop:24 hflip normalize select:image,label,filename" "$DATA/photos"
	both "resize:16" "${photos[@]:0:7}"
	both "resize:16" "$DATA/photos" -- --labels none
	cp -r "$DATA/photos" in
	(cd in && ls -d */* | sed 's/$/,x/;1s/,x$/,y/') >rows.csv
	both "resize:16" in -- --labels csv:rows.csv,path=1,label=2 --label-offset 4
	run_split 0 feed in --labels csv:rows.csv,path=1,label=2 --batch 5 --ops "select:label,text" --to hash
}

@test "cubes: whole, in tiles with bands, at their edges, smaller ones" {
	make_cubes
	both decode cubes
	both "random_crop:3 hflip" cubes -- --tile 4x4
	both "normalize:mean=1,std=2" cubes -- --tile 4x6:2 --bands 2-3,5 --edge pad
	both "center_crop:2" cubes -- --tile 4x5 --edge keep
	both decode cubes/a/c.hdr -- --region 1:2:3:4
	both decode "$SOURCE/tests/golden/formats/radiance/flat.hdr"
	tundish feed cubes --tile 4x4 --to npy -q --batch 6 >out.npy
	head -c 128 out.npy | grep -aq "'<u2'.*(6, 4, 4, 5)"
}

@test "archives are read in place" {
	tar -cf photos.tar -C "$DATA" photos
	run tundish inspect photos.tar
	[[ $output != *tundish-archive* ]] || skip "no module for archives"
	both "resize:16 hflip" photos.tar
}

@test "samplers, caches, cursors and ranks are the same" {
	both "resize:16 hflip" "$DATA/photos"
	for more in "--sampler stratified:label" "--sampler weighted:label --epochs 2" "--cache memory:raw --epochs 2" \
		"--cache kept --epochs 2" "--cache kept --epochs 2" "--cache kept:raw" "--cache kept:raw"; do
		same "$(tundish feed "$DATA/photos" --ops "resize:16 hflip" --batch 4 --to hash -q $more)" \
			"$(tundish feed set --ops "resize:16 hflip" --batch 4 --to hash -q ${more/--cache kept/--cache other})"
	done
	tundish feed "$DATA/photos" --ops "resize:16 hflip" --batch 4 --to raw -q >whole
	tundish feed "$DATA/photos" --ops "resize:16 hflip" --batch 4 --to raw -q --start 0:0:8 >rest
	cmp rest <(tail -c "$(stat -c %s rest)" whole)
	[ -s rest ]
}

@test "mixes of raw data, of records, and of both are the same" {
	local mixed= set
	mkdir A B
	cp -r "$DATA/photos/cat" "$DATA/photos/coffee" A
	cp -r "$DATA/photos/coffee" "$DATA/photos/rocket" B
	for set in A B; do
		tundish convert -q $set -o r$set/s --shards 1 --order keep
	done
	for more in "-j 1" "-j 7 --memory 32M --shuffle full --min-per-source 1" "--rank 1 --world 2 --uneven keep" \
		"--cache memory:decoded" "--cache kept" "--cache kept"; do
		mixed=
		for set in "A B" "rA rB" "A rB" "rA B"; do
			local got=$(tundish feed --mix "a=${set% *}:0.7" --mix "b=${set#* }:0.3" --epochs 2 \
				--ops "resize:16 hflip" --batch 5 --to hash -q ${more/--cache kept/--cache kept${set// /}})
			same "$got" "${mixed:=$got}"
		done
		[ -n "$mixed" ]
	done
	run_split 0 feed --mix a=A:1 --mix b=B:1 --ops resize:8 --to null
	holds "$stderr" "label 0 is cat in one source of the mix and coffee in another"
	printf 'cat\ncoffee\nrocket\n' >names
	run_split 0 feed --mix a=A:1 --mix b=B:1 --ops resize:8 --to null --class-list names
	[[ $stderr != *"one source"* ]]
}

@test "mixes of cubes and of pictures" {
	make_cubes
	tundish convert -q cubes/b/c.hdr --tile 4x4 -o set/s --shards 1 --order keep 2>/dev/null
	for b in cubes/b/c.hdr set; do
		tundish feed --mix a=cubes/a/c.hdr:2 --mix "b=$b:1" --tile 4x4 --ops "random_crop:3 hflip" --batch 4 \
			--shuffle full --to hash -q
	done | sort -u >sums
	same "$(wc -l <sums)" 1
	run_split 2 feed --mix "a=$DATA/photos:1" --mix b=cubes:1 --tile 4x4 --ops resize:8 --to null
	holds "$stderr" "uint8 with 3 channels and uint16 with 5"
	run_split 0 feed --mix "a=$DATA/photos:1" --mix b=cubes:1 --ops select:label --to null
	# arrays of the kind that pictures are
	head -c 240 /dev/zero | tr '\0' '\7' >rgb.img
	sed 's/samples = 12/samples = 8/;s/bands = 5/bands = 3/;s/type = 12/type = 1/' cubes/a/c.hdr >rgb.hdr
	run_split 0 feed --mix "a=$DATA/photos:1" --mix b=rgb.hdr:1 --ops "resize:8" --batch 6 --last drop --to null
}

@test "clips: frames of one file, frames by their names, rows of a table" {
	both "clip:2,stride=2 resize:8 select:image,label,group" "$DATA/arrays/lamp.spe" -- --labels none
	run_split 1 feed "$DATA/arrays/lamp.spe" --ops "clip:9" --to null
	holds "$stderr" "lamp.spe: its group has 4 frames, too few for a clip of 9"
	make_cubes
	both "clip:2 hflip" cubes -- --tile 4x4
	# two videos of 5 and 3 frames, in files of their own, and a bad frame
	mkdir -p in/x in/y
	photos=("$DATA"/photos/*/*.jpg)
	for i in 0 1 2 3 4; do
		cp "${photos[i]}" in/x/v.mp4.00000$i.t0.${i}00000000.jpg
	done
	for i in 0 1 2; do
		cp "${photos[i + 9]}" in/y/w.mp4.00000$i.t0.${i}00000000.jpg
	done
	both "clip:2 resize:16 hflip" in
	both "clip:3,start=0 random_resized_crop:16 normalize layout:nchw" in
	tundish feed in --ops "clip:3,stride=2,start=0 resize:8" --to npy -q >out.npy 2>err || true
	head -c 128 out.npy | grep -aq "(1, 3, 8, 8, 3)"
	holds "$(cat err)" "in/y/w.mp4.000000.t0.000000000.jpg: its group has 3 frames, too few for a clip of 5"
	head -c 300 in/x/v.mp4.000001.t0.100000000.jpg >cut
	cp cut in/x/v.mp4.000001.t0.100000000.jpg
	run_split 1 feed in --ops "clip:2,start=0 resize:8" --to null
	holds "$stderr" "in/x/v.mp4.000000.t0.000000000.jpg: in/x/v.mp4.000001.t0.100000000.jpg of its clip: "
	run_split 2 feed "$DATA/photos" --ops "clip:2 resize:8" --to null
	holds "$stderr" "clips need frames that belong together"
	# a table says what belongs together; samplers go by clips
	cp -r "$DATA/photos" p
	(cd p && echo file,kind,who && ls -d */* | awk -F/ '{ print $0 "," $1 "," "p" $1 }') >rows.csv
	for more in "" "--sampler stratified:label" "--shuffle full --skip 1 --limit 3"; do
		same "$(tundish feed p --labels csv:rows.csv,path=file,label=kind --group-by who --ops "clip:3 resize:8" \
			--batch 2 --to hash -q $more)" "$(
			[ -e c ] || tundish convert -q p -o c/s --shards 1 --order keep --labels csv:rows.csv,path=file,label=kind \
				--group-by who 2>/dev/null
			tundish feed c --ops "clip:3 resize:8" --batch 2 --to hash -q $more)"
	done
	same "$(tundish feed p --labels csv:rows.csv,path=file,label=kind --group-by who --ops "clip:3 resize:8" --batch 9 \
		--to null 2>&1 | cut -d' ' -f1)" "$(ls p | wc -l)"
	# with records in one mix
	for b in c p; do
		tundish feed --mix a=p:1 --mix b=$b:2 --labels csv:rows.csv,path=file,label=kind --group-by who \
			--ops "clip:2 resize:8 hflip" --batch 3 --shuffle full --to hash -q
	done | sort -u >sums
	same "$(wc -l <sums)" 1
}

@test "clips of videos, by their module" {
	run tundish inspect "$DATA/video/clip.mp4"
	[[ $output != *tundish-video* ]] || skip "no module for videos"
	tundish convert -q "$DATA/video/clip.mp4" -o frames/f --frames every:5 --reencode png --order keep --shards 1 2>/dev/null
	for more in "--ops clip:2,stride=2 -j 1" "--ops clip:2 -j 5 --epochs 3" "--ops clip:5,start=0"; do
		same "$(tundish feed "$DATA/video/clip.mp4" --frames every:5 --batch 3 --to hash -q $more)" \
			"$(tundish feed frames --batch 3 --to hash -q $more)"
	done
}

@test "patterns that the shell did not expand" {
	cp -r "$DATA/photos" in
	same "$(tundish feed 'in/*' --ops resize:8 --to hash -q)" "$(tundish feed in/* --ops resize:8 --to hash -q)"
	same "$(tundish feed 'in/c*/*.jpg' --ops resize:8 --to hash -q)" "$(LC_ALL=C && tundish feed in/c*/*.jpg --ops resize:8 --to hash -q)"
	tundish convert -q 'in/c*/*_0[0-4].jpg' -o a/s --shards 1 --order keep 2>/dev/null
	tundish convert -q in/c*/*_0[0-4].jpg -o b/s --shards 1 --order keep 2>/dev/null
	cmp a/s-train* b/s-train*
	mkdir cat cup
	cp -r in/cat cat/
	cp -r in/coffee cup/
	for mix in "c*t" "cat"; do
		tundish feed --mix "a=$mix:2" --mix "b=cu?/*/*.jpg:1" --ops resize:8 --batch 6 --shuffle full --to hash -q
	done | sort -u >sums
	same "$(wc -l <sums)" 1
	run_split 3 feed 'in/*.nothing' --to null
	holds "$stderr" "in/*.nothing"
	run_split 3 convert 'in/*.nothing' -o c/s
	holds "$stderr" "in/*.nothing: No such file or directory"
}

@test "samplers on what raw data hold beside their class" {
	both "resize:16" "$DATA/photos"
	for more in "stratified:label,equal" "stratified:filename" "weighted:filename"; do
		same "$(tundish feed "$DATA/photos" --ops resize:16 --batch 12 --to hash -q --sampler $more)" \
			"$(tundish feed set --ops resize:16 --batch 12 --to hash -q --sampler $more)"
	done
	same "$(tundish feed "$DATA/photos" --ops resize:16 --batch 12 --to hash -q --sampler stratified:text)" \
		"$(tundish feed "$DATA/photos" --ops resize:16 --batch 12 --to hash -q --sampler stratified:label)"
	run_split 2 feed "$DATA/photos" --labels none --sampler stratified:label --to null
	holds "$stderr" "the items have no label to sample by"
}

@test "bad items are named and left out; what cannot be read in place is refused" {
	cp -r "$DATA/photos" in
	first=$(find in -type f | sort | head -n 1)
	head -c 300 "$first" >"$first.jpg"
	n=$(find in -type f | wc -l)
	run_split 1 feed in --ops resize:8 --to null
	holds "$stderr" "$first.jpg"
	holds "$stderr" "$((n - 1)) images"
	records r 0 5
	usage_in() { run_split 2 "$@"; same "$output" ""; }
	usage_in feed "$first" r
	usage_in feed --mix "a=r:1" --labels none
	holds "$stderr" "all sources of the mix are records"
	usage_in feed in --tile 4y4
	run_split 1 feed r --labels folder --to null # no good item
	tar -czf in.tar.gz in
	usage_in feed in.tar.gz --to null
	holds "$stderr" "in.tar.gz: only a stream, which cannot be read in place"
}

@test "HDF5 files and videos, by their modules" {
	needs_shared
	local hdf5=$SHARED/fixtures/formats/hdf5/made/userblock512.h5 video=$SHARED/fixtures/formats/video/tc_nasa_13013.mp4
	run tundish inspect "$hdf5"
	[[ $output != *tundish-hdf5* ]] || skip "no module for HDF5"
	both decode "$hdf5"
	run tundish inspect "$video"
	[[ $output != *tundish-video* ]] || skip "no module for videos"
	tundish convert -q "$video" -o frames/f --frames every:40 --reencode png --order keep --shards 1 2>/dev/null
	same "$(tundish feed "$video" --frames every:40 --ops 'resize:24 hflip' --batch 3 --to hash -q)" \
		"$(tundish feed frames --ops 'resize:24 hflip' --batch 3 --to hash -q)"
}
