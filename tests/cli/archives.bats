# SPDX-License-Identifier: BSD-2-Clause
# tundish convert from tar and zip archives; a number is that of a case.
load lib.bash
CASES=$SOURCE/tests/golden/cases

setup() {
	[ -e "$TUNDISH_MODULES/archive.so" ] || skip "built without libarchive"
	T=$BATS_TEST_TMPDIR/t
	mkdir "$T"
	cd "$T" || return 1
}

case_in() {
	echo "$CASES"/"$1"-*/in/"$2"
}

make() {
	python3 "$BATS_TEST_DIRNAME/mkarchives.py" "$@"
}

# names FILE...: the feature `filename` of all records, sorted
names() {
	run_split 0 count --by filename "$@"
	printf '%s\n' "$output" | sed -n 's/^.*\t//p' | LC_ALL=C sort
}

@test "43: a tar that ends early keeps what stands before the cut" {
	run_split 0 convert "$(case_in 43 full.tar)" -o full/x
	holds "$output" "6 found: 6 written, 0 bad"
	run_split 1 convert "$(case_in 43 cut-in-member.tar)" -o a/x
	holds "$output" "5 found: 4 written, 1 bad"
	holds "$stderr" "cut-in-member.tar/cat/4.png: byte 4608: the archive ends within it"
	run_split 1 convert "$(case_in 43 cut-in-header.tar)" -o b/x
	holds "$output" "5 found: 4 written, 1 bad"
	holds "$stderr" "cut-in-header.tar: byte 4096: Truncated tar archive"
	run_split 0 convert "$(case_in 43 no-end-blocks.tar)" -o c/x
	holds "$output" "6 found: 6 written, 0 bad"
	holds "$stderr" "no end mark"
	run_split 1 convert "$(case_in 43 bad-header-sum.tar)" -o d/x
	holds "$output" "4 found: 3 written, 1 bad"
	holds "$stderr" "bad-header-sum.tar: byte 3072: Damaged tar archive"
	run_split 1 convert "$(case_in 43 cut-in-member.tar)" -o e/x --on-error fail
	[ ! -e e ]
}

@test "44: members of one name are all kept, and named" {
	run_split 0 convert "$(case_in 44 dup.tar)" -o out/x
	holds "$output" "5 found: 4 written, 0 bad, 1 other file left out (.txt)"
	holds "$stderr" "2 members have a name that another one has, first c/a.png"
	same "$(names out)" $'c/a.png\nc/b.png'
}

@test "46: names and methods of zip under any locale" {
	for locale in C en_US.UTF-8; do
		rm -rf out
		export LC_ALL=$locale
		run_split 0 convert "$(case_in 46 utf8.zip)" -o out/utf8/x
		same "$(names out/utf8)" $'cat/café.png\ncat/猫.png'
		run_split 0 convert "$(case_in 46 cp437.zip)" -o out/cp437/x
		same "$(names out/cp437)" cat/café.png
		run_split 0 convert "$(case_in 46 backslash.zip)" -o out/back/x
		same "$(cat out/back/label.labels.txt)" $'cat\ndog'
	done
	run_split 1 convert "$(case_in 46 deflate64.zip)" -o a/x
	holds "$output" "1 written, 1 bad"
	holds "$stderr" "b.png: Deflate64 is not supported"
	run_split 1 convert "$(case_in 46 encrypted.zip)" -o b/x
	holds "$output" "1 written, 1 bad"
	holds "$stderr" "secret.png: byte 0: it is encrypted"
	run_split 1 convert "$(case_in 46 crc-bad.zip)" -o c/x
	holds "$output" "1 written, 1 bad"
	holds "$stderr" "a.png: ZIP bad CRC"
	run_split 3 convert "$(case_in 46 no-directory.zip)" -o d/x
	holds "$stderr" "no-directory.zip"
	run_split 0 convert "$(case_in 46 prefix-junk.zip)" -o e/x
	holds "$output" "4 written"
	same "$(ls)" $'a\nb\nc\ne\nout'
}

@test "110: a zip of more than 65535 members" {
	make many many.zip 66000
	run_split 0 convert many.zip -o out/x --shards 2
	holds "$output" "66000 found: 66000 written, 0 bad"
	run_split 0 count out
	same "$output" 66000
}

@test "names of every kind are only names" {
	for format in pax gnu; do
		make $format $format.tar
		run_split 0 convert $format.tar -o $format/x
		holds "$output" "8 found: 6 written, 0 bad, 2 other files left out (.png .xml)"
		holds "$stderr" "dog/soft.png: a link, passed over"
		same "$(cat $format/label.labels.txt)" $'cat\ndog'
		long=cat/$(printf 'a%.0s' {1..150})/$(printf 'b%.0s' {1..120}).png
		grep -q "$long" $format/x-train*
		same "$(names $format | tail -n +2)" $'cat/root.png\ndog/link.png\ndog/picture\ndog/x.png\ndog/猫.png'
	done
	cmp pax/x-train.tfrecord-00000-of-00001 gnu/x-train.tfrecord-00000-of-00001
	same "$(ls)" $'gnu\ngnu.tar\npax\npax.tar'
}

@test "folders, tar and zip give the same records, also mixed in one call" {
	make tar a.tar
	make zip a.zip
	mkdir folder
	tar -C folder -xf a.tar
	for source in folder a.tar a.zip; do
		for threads in 1 2 3 8 99; do
			run_split 0 convert $source -o out-$source-$threads/x --shards 2 -j $threads
			cmp out-folder-1/x-train.tfrecord-00001-of-00002 out-$source-$threads/x-train.tfrecord-00001-of-00002
		done
	done
	run_split 0 convert a.zip folder a.tar -o mixed/x --shards 3
	holds "$output" "18 found: 18 written, 0 bad"
	same "$(names mixed | head -n 1)" a.tar/cat/0.png
	same "$(cat mixed/label.labels.txt)" $'cat\ndog'
}

@test "labels of members by expression, table, or none" {
	make tar a.tar
	run_split 0 convert a.tar -o re/x --labels 'regex:/([0-9])'
	same "$(cat re/label.labels.txt)" $'0\n1\n2'
	printf 'file,label\ncat/1.png,one\ndog/2.png,two\n' >t.csv
	run_split 0 convert a.tar -o table/x --labels csv:t.csv
	holds "$output" "2 written"
	same "$(cat table/label.labels.txt)" $'one\ntwo'
	run_split 0 convert a.tar -o none/x --labels none
	[ ! -e none/label.labels.txt ]
}

@test "groups of WebDataset are one record each" {
	make groups g.tar 12
	run_split 0 convert g.tar -o out/x --shards 1 --order keep
	holds "$output" "24 found: 12 written, 0 bad, 12 other files left out (.log)"
	run_split 0 count out --by label
	same "$output" $'3\t0\n3\t1\n2\t2\n2\t3\n2\t4\n12'
	run_split 0 inspect out/x-train* --record 7 --json
	json 'all(k in str(j) for k in ("mask.png", "score", "tags", "text"))'
	run_split 0 inspect out --schema
	for line in 'id +int64' 'score +float' 'who +bytes' 'good +int64' 'txt +bytes'; do
		[[ $output =~ $line ]]
	done
	python3 - out/features.json <<'PY'
import json, sys
features = json.load(open(sys.argv[1]))["featuresDict"]["features"]
assert {"id", "score", "who", "tags", "good", "box", "txt", "mask.png", "label", "image"} <= set(features), features
assert "none" not in features
PY
	# other labels go first
	run_split 0 convert g.tar -o none/x --labels none
	run_split 0 count none --by label
	holds "$output" "12"
	[ ! -e none/label.labels.txt ]
	printf '%s\n' a b c d e >list
	run_split 0 convert g.tar -o named/x --class-list list
	same "$(cat named/label.labels.txt)" "$(cat list)"
	run_split 0 count named --by label
	same "$output" $'3\t0\n3\t1\n2\t2\n2\t3\n2\t4\n12'
	printf '%s\n' a b >list
	usage_dir=$(ls)
	run_split 2 convert g.tar -o short/x --class-list list
	holds "$stderr" 'class "2" of 000002.cls is not in the class list'
}

@test "arrays in an archive" {
	needs_shared
	cp "$SHARED/fixtures/formats/spe/v2_spestack_test.spe" "$SHARED/fixtures/formats/radiance/imagers_old-rle.hdr" .
	tar cf a.tar v2_spestack_test.spe imagers_old-rle.hdr
	run_split 0 convert v2_spestack_test.spe imagers_old-rle.hdr -o files/x
	run_split 0 convert a.tar -o tar/x
	cmp files/x-train.tfrecord-00000-of-00001 tar/x-train.tfrecord-00000-of-00001
}

@test "a missing module is named" {
	make tar a.tar
	TUNDISH_MODULES=$T run_split 3 convert a.tar -o out/x
	holds "$stderr" "the archive module is missing"
	holds "$stderr" "install tundish-archive"
	[ ! -e out ]
}
