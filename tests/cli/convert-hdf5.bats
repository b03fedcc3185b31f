# SPDX-License-Identifier: BSD-2-Clause
# tundish convert and inspect: HDF5 files.
load lib.bash

setup_file() {
	[ -e "$TUNDISH_MODULES/hdf5.so" ] || skip "built without HDF5"
}

CASES=$SOURCE/tests/golden/cases
FILES=$SOURCE/tests/golden/formats/hdf5

# taken CODE SUMMARY FILE...: converts to out/x, the summary says so
taken() {
	run_split "$1" convert "${@:3}" -o out/x --overwrite
	holds "$output" "$2"
}

refused() {
	rm -rf out
	run_split 3 convert "$1" -o out/x
	holds "$stderr" "$2"
	[[ $stderr != *HDF5-DIAG* ]]
	[ ! -e out ]
}

@test "case 85: filters that are missing are named, those of our own work" {
	for file in blosc.h5:/images blosc.h5; do
		refused "$CASES/85-h5-missing-filter/$file" "dataset /images needs HDF5 filter 32001 (Blosc), not available; set HDF5_PLUGIN_PATH"
	done
	refused "$CASES/85-h5-missing-filter/blosc.h5:/other" "dataset /other needs HDF5 filter 32008 (bitshuffle)"
	taken 0 "6 found: 6 written, 0 bad" "$CASES/85-h5-missing-filter/lzf.h5"
	taken 0 "6 found: 6 written, 0 bad" "$CASES/85-h5-missing-filter/gzip-shuffle.h5"
	holds "$stderr" "taking /images, labels /labels"
}

@test "case 86: cut files, user blocks, and files that were left open" {
	for file in good userblock left-open-for-swmr; do
		taken 0 "6 found: 6 written, 0 bad" "$CASES/86-h5-locked-or-cut/$file.h5"
	done
	holds "$stderr" "marked as being written (SWMR)"
	refused "$CASES/86-h5-locked-or-cut/cut.h5" "cut.h5: truncated HDF5 file (2776 of 5552 bytes)"
	refused "$CASES/86-h5-locked-or-cut/not-hdf5.h5" "not-hdf5.h5: not an HDF5 file"
}

@test "a file that was left marked as open for writing" {
	cp "$CASES/86-h5-locked-or-cut/left-open-for-swmr.h5" a.h5
	printf '\1' | dd of=a.h5 bs=1 seek=11 conv=notrunc status=none
	run_split 3 convert a.h5 -o out/x
	holds "$stderr" "a.h5: marked as open for writing"
	holds "$stderr" "h5clear -s"
}

@test "case 88: encoded pictures in elements of each kind" {
	taken 1 "6 found: 5 written, 1 bad" "$CASES/88-h5-encoded-bytes/vlen.h5"
	holds "$stderr" "vlen.h5: record 4: empty element"
	taken 0 "3 found: 3 written, 0 bad" "$CASES/88-h5-encoded-bytes/one-per-name.h5" --order keep
	same "$(tundish inspect out --record 0 | grep -c 'bioscan_dataset/10.jpg')" 1
	same "$(tundish inspect out --record 2 | grep -c 'bioscan_dataset/9.jpg')" 1
	taken 0 "6 found: 6 written, 0 bad" "$CASES/88-h5-encoded-bytes/fixed-opaque.h5"
	run_split 0 inspect out --decode
	taken 1 "6 found: 5 written, 1 bad" "$CASES/88-h5-encoded-bytes/vlen.h5:/images,name=/names"
	output=$(tundish inspect out --schema --json)
	json '"name" in str(j)'
}

@test "case 112: a file that another program writes" {
	cp "$CASES/86-h5-locked-or-cut/good.h5" .
	python3 -c 'import fcntl, time
f = open("good.h5", "r+")
fcntl.flock(f, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)' >held &
	holder=$!
	until [ -s held ]; do sleep 0.05; done
	run_split 3 convert good.h5 -o out/x
	free=$(HDF5_USE_FILE_LOCKING=FALSE "$TUNDISH" convert good.h5 -o out/x 2>&1 | grep found)
	kill "$holder"
	holds "$stderr" "good.h5: in use by another process (locked); HDF5_USE_FILE_LOCKING=FALSE reads it all the same"
	holds "$free" "6 found: 6 written"
}

@test "case 113: the same bytes for any number of threads and any memory" {
	for file in 85-h5-missing-filter/gzip-shuffle.h5 88-h5-encoded-bytes/vlen.h5 88-h5-encoded-bytes/fixed-opaque.h5; do
		for run in 1 2 3 4 5; do
			for j in 1 2 3 8 99; do
				rm -rf out
				tundish convert "$CASES/$file" -o out/x --shards 2 -j "$j" --memory "${run}M" >/dev/null 2>&1 || :
				cat out/* | sha256sum >>sums
			done
		done
	done
	same "$(sort -u sums | wc -l)" 3
	for j in 1 2 3 8 99; do
		rm -rf out
		TUNDISH_STALL=1 tundish convert "$FILES/kinds.h5:/images,label=/enum,columns=/lists:/text:/rows/bbox" -o out/x -j "$j" \
			>/dev/null 2>&1
		cat out/* | sha256sum >>more
	done
	same "$(sort -u more | wc -l)" 1
}

@test "other files: only when asked for, only below the file, never zeros" {
	for what in "outer:/outer is an external link to sub/other.h5" "raw:dataset /raw has its numbers in sub/raw.bin" \
		"virtual:virtual dataset /virtual needs sub/other.h5"; do
		run_split 3 convert "$FILES/kinds.h5:/${what%%:*}" -o out/x
		holds "$stderr" "${what#*:}: other files are read with --follow-external only"
		taken 0 " written, 0 bad" "$FILES/kinds.h5:/${what%%:*}" --follow-external
		rm -r out
	done
	mkdir deep
	cp -r "$FILES" deep/in
	cp "$FILES/kinds.h5" deep
	for what in "above:external link to ../kinds.h5: not below the file's folder" "absent:absent.h5: No such file" \
		"raw_absent:sub/absent.bin: No such file" "raw_short:140 bytes, 160 are needed" \
		"virtual_absent:sub/absent.h5: No such file" "virtual_nothing:needs nothing in sub/other.h5" \
		"ring:more than 16 links one after another"; do
		run_split 3 convert "deep/in/kinds.h5:/${what%%:*}" -o out/x --follow-external
		holds "$stderr" "${what#*:}"
		[ ! -e out ]
	done
	mkdir in
	cp "$FILES/kinds.h5" in
	ln -s "$FILES/sub" in/sub
	run_split 3 convert in/kinds.h5:/outer -o out/x --follow-external
	holds "$stderr" "not below the file's folder"
}

@test "which dataset: the only one, or all that it may be" {
	refused "$FILES/nhwc_layouts.h5" "which dataset? /fill_never_written, /gray_f32_be, /images_contig, "
	refused "$FILES/nhwc_layouts.h5:/nothing" "no /nothing in it"
	refused "$FILES/nhwc_layouts.h5:/g/broken" "/g/broken is a link to /nope, which is not there"
	refused "$FILES/nhwc_layouts.h5:/scalar" "dataset /scalar is a single value"
	refused "$FILES/nhwc_layouts.h5:/empty" "dataset /empty is empty"
	refused "$FILES/nhwc_layouts.h5:/images_gzip,label=/f16" "dataset /f16 has 8 rows"
	refused "$FILES/kinds.h5:/short" "holds texts, no pictures"
	refused "$FILES/kinds.h5:/rows" "holds compound"
	run_split 2 convert "$FILES/nhwc_layouts.h5:/images_gzip,what=/f16" -o out2/x
	holds "$stderr" "\"what=/f16\" is none of label=PATH"
	run_split 2 convert "$FILES/kinds.h5:/images,columns=" -o out2/x
	holds "$stderr" "columns: no PATH"
	taken 0 "10 found: 10 written" "$FILES/nhwc_layouts.h5:/images_gzip,label=/labels"
	run_split 0 convert "$FILES/nhwc_layouts.h5:/images_gzip,label=/labels" -o out/x --split train=.5,val=.5 --overwrite
	holds "$output" "val          5"
	run_split 2 convert "$FILES/kinds.h5:/images,columns=image=/float64" -o out2/x
	holds "$stderr" "records have a feature \"image\" already"
}

@test "feed and bench read it in place" {
	convert_first=$(tundish convert "$FILES/nhwc_layouts.h5:/images_gzip,label=/labels" -o set/x --order keep --shards 1 2>&1 | grep -c found)
	same "$convert_first" 1
	want=$(tundish feed set --to npy --batch 4 2>/dev/null | sha256sum)
	for j in 1 2 3 8 99; do
		same "$(tundish feed "$FILES/nhwc_layouts.h5:/images_gzip,label=/labels" --to npy --batch 4 -j "$j" 2>/dev/null | sha256sum)" "$want"
	done
	run_split 0 bench "$CASES/88-h5-encoded-bytes/fixed-opaque.h5" --ops 'resize:16' --batch 2 --warmup 0 --repeat 1 --seconds 1
	run_split 0 bench "$FILES/nhwc_layouts.h5:/images_gzip,label=/labels" --ops 'resize:16' --batch 2 --warmup 0 --repeat 1 --seconds 1
}

@test "several files below a folder, and in an archive" {
	mkdir -p in
	cp "$DATA/hdf5/shapes.h5" in/a.h5
	cp in/a.h5 in/b.h5
	taken 0 "96 found: 96 written, 0 bad" in
	[ -e "$TUNDISH_MODULES/archive.so" ] || skip "built without libarchive"
	tar cf in.tar in
	taken 0 "96 found: 96 written, 0 bad" in.tar
	tar cf one.tar -C in a.h5
	taken 0 "48 found: 48 written, 0 bad" one.tar
}

@test "inspect shows the tree" {
	run_split 0 inspect "$FILES/nhwc_layouts.h5" --json
	json 'j["sources"][0]["kind"] == "HDF5"'
	json 'j["sources"][0]["datasets"]["/images_gzip"] == {"shape": [10, 32, 32, 3], "dtype": "uint8", "layout": "chunked", "chunks": [3, 32, 32, 3], "filters": ["shuffle", "deflate", "fletcher32"]}'
	json 'j["sources"][0]["datasets"]["/images_contig"]["attributes"]["CLASS"] == "IMAGE"'
	json 'j["sources"][0]["links"]["/g/ext"] == "external link to nhwc_ext.h5:/x"'
	run_split 0 inspect "$FILES/kinds.h5"
	holds "$output" "dtype: enumeration in int16, big-endian"
	run_split 1 inspect "$CASES/86-h5-locked-or-cut/cut.h5"
	holds "$stderr" "truncated HDF5 file"
}

@test "a missing module is named with its package" {
	TUNDISH_MODULES=$T run_split 3 convert "$FILES/userblock512.h5" -o out/x
	holds "$stderr" "the hdf5 module is missing"
	holds "$stderr" "install"
}

@test "--to gives each picture of a file its own name" {
	run_split 1 convert "$CASES/88-h5-encoded-bytes/vlen.h5" --to jpg:out
	same "$(ls out)" "$(printf 'vlen.h5.00000%s.jpg\n' 0 1 2 3 5)"
}

@test "words behind a file's name that say nothing are wrong usage" {
	for words in /images,columns= /images,label= /images,what=1; do
		run_split 2 convert "$DATA/hdf5/shapes.h5:$words" -o out/x
		holds "$stderr" "shapes.h5: "
	done
	[ ! -e out ]
}
