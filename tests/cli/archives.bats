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

# a set's classes in a shard differ by one at most from shard to shard: OUT SPLIT
even() {
	python3 - "$@" <<'PY'
import collections, json, sys
shards = [s for s in json.load(open(sys.argv[1] + "/tundish.json"))["shards"] if s["split"] == sys.argv[2]]
counts = collections.defaultdict(lambda: [0] * len(shards))
for i, s in enumerate(shards):
    for c, n in s["classes"]:
        counts[c][i] = n
assert counts and all(max(n) - min(n) <= 1 for n in counts.values()), counts
assert sum(map(sum, counts.values())) == sum(s["records"] for s in shards)
PY
}

@test "a stream is dealt to its shards class by class, the same for any threads" {
	make groups g.tar 400
	gzip -k g.tar
	for threads in 1 2 3 8 99; do
		run_split 0 convert g.tar.gz -o t$threads/x --shards 4 --split train=.8,val=.2 --memory 64M -j $threads
		holds "$output" "shuffled in a window of 16.0 MiB"
		diff -r t1 t$threads
	done
	grep -q '"shuffle_window": 16777216' t1/tundish.json
	even t1 train
	even t1 val
	run_split 0 count t1/x-train* --by label
	holds "$output" $'\n320'
	# no other source than the stream's bytes counts
	run_split 0 convert - -o pipe/x --shards 4 --split train=.8,val=.2 --memory 64M <g.tar.gz
	diff -r t1 pipe
	mkfifo p
	cat g.tar >p &
	run_split 0 convert p -o fifo/x --shards 4 --split train=.8,val=.2 --memory 64M
	diff -r t1 fifo
	# what is said of it is what a listing would say
	run_split 0 convert g.tar -o listed/x --shards 4 --split train=.8,val=.2
	cmp t1/features.json listed/features.json
	# another seed, another order
	run_split 0 convert g.tar.gz -o seed/x --shards 4 --memory 64M --seed 1
	even seed train
	for how in gzip zlib snappy; do
		for threads in 1 8; do
			run_split 0 convert g.tar.gz -o $how$threads/x --shards 4 --memory 64M --compress $how -j $threads
			cmp $how$threads/x-train.tfrecord-00003-of-00004 ${how}1/x-train.tfrecord-00003-of-00004
		done
		run_split 0 count --verify ${how}8
		same "$output" 400
	done
}

@test "records leave a stream's window in a drawn order, or as they came" {
	make groups g.tar 3000
	"$TUNDISH" convert - -o - --order keep <g.tar >kept 2>/dev/null
	"$TUNDISH" convert g.tar -o - --order keep >listed 2>/dev/null
	cmp kept listed
	"$TUNDISH" convert - -o - --memory 1M -j 1 <g.tar >a 2>/dev/null
	"$TUNDISH" convert - -o - --memory 1M -j 8 <g.tar >b 2>/dev/null
	cmp a b
	run ! cmp -s a kept
	same "$(stat -c %s a)" "$(stat -c %s kept)"
	run_split 0 count --verify a
	same "$output" 3000
}

@test "a stream's labels are numbers or of a list" {
	make tar a.tar
	gzip a.tar
	run_split 2 convert a.tar.gz -o out/x
	holds "$stderr" "--shards N"
	run_split 2 convert a.tar.gz -o out/x --shards 2
	holds "$stderr" 'cat/0.png: a stream'"'"'s labels must be whole numbers, not "cat": give --class-list'
	printf 'dog\ncat\n' >list
	run_split 0 convert a.tar.gz -o out/x --shards 2 --class-list list
	same "$(cat out/label.labels.txt)" $'dog\ncat'
	even out train
	printf 'dog\n' >short
	run_split 2 convert a.tar.gz -o no/x --shards 2 --class-list short
	holds "$stderr" 'class "cat" of cat/0.png is not in the class list short'
	run_split 0 convert a.tar.gz -o re/x --shards 2 --labels 'regex:/([0-9])[.]'
	run_split 0 count re --by label
	same "$output" $'2\t0\n2\t1\n2\t2\n6'
	run_split 0 convert a.tar.gz -o none/x --shards 2 --labels none
	run_split 2 convert a.tar.gz -o no/x --shards 2 --labels csv:list
	run_split 2 convert a.tar.gz -o no/x --shards 2 --labels none --dry-run
	run_split 2 convert a.tar.gz -o no/x --shards 2 --labels none --split a=.999,b=.001
	holds "$stderr" "split b would get no record of 6"
	[ ! -e no ]
	# with listed sources in one call
	make tar b.tar
	run_split 0 convert a.tar.gz b.tar -o mixed/x --shards 3 --class-list list
	holds "$output" "12 found: 12 written"
	even mixed train
	run_split 0 convert a.tar.gz -o out/x --shards 2 --class-list list --overwrite --resume
	holds "$stderr" "a stream starts anew"
}

@test "a stream that breaks keeps what came before; what is no archive is refused" {
	make groups g.tar 100
	gzip -k g.tar
	head -c 10000 g.tar.gz >cut.tar.gz
	run_split 1 convert cut.tar.gz -o cut/x --shards 2
	holds "$stderr" "cut.tar.gz: byte 10000: compressed data ends early"
	even cut train
	head -c 100000 g.tar >cut.tar
	run_split 1 convert - -o plain/x --shards 2 <cut.tar
	holds "$stderr" "-: byte 100000: Truncated"
	run_split 3 convert - -o no/x --shards 2 <"$BATS_TEST_DIRNAME/lib.bash"
	holds "$stderr" "-: only a tar or zip archive can be read from a stream"
	run_split 3 convert - -o no/x --shards 2 </dev/null
	run timeout 5 bash -c '"$TUNDISH" convert - -o no/x --shards 2 <&-'
	same "$status" 3
	run_split 3 convert "$(case_in 43 cut.tar.gz)" -o no/x --shards 1
	holds "$stderr" "cut.tar.gz/cat/0.png: compressed data ends early"
	[ ! -e no ]
	run_split 1 convert cut.tar.gz -o no/x --shards 2 --on-error fail
	run_split 1 convert cut.tar.gz -o no/x --shards 2 --max-bad 0%
	holds "$stderr" "more than the 0 that were allowed"
	[ ! -e no ]
}

@test "a full disk under a stream leaves nothing" {
	make groups g.tar 3000
	(ulimit -f 100 && trap '' XFSZ && run_split 3 convert - -o out/x --shards 2 --memory 1M <g.tar)
	[ ! -e out ]
	run_split 0 convert - -o out/x --shards 2 <g.tar
	cp -a out before
	(ulimit -f 100 && trap '' XFSZ && run_split 3 convert - -o out/x --shards 2 --memory 1M --overwrite <g.tar)
	diff -r before out
}

@test "a signal ends the wait for a pipe, and nothing is left" {
	mkfifo p
	sleep 30 >p &
	writer=$!
	"$TUNDISH" convert p -o out/x --shards 2 2>err &
	sleep 0.5
	kill -TERM $!
	status=0
	wait $! || status=$?
	kill $writer
	same "$status" 143
	[ ! -e out ]
}

@test "a named pipe without a writer ends by a signal as well" {
	mkfifo p
	"$TUNDISH" convert p -o out/x --shards 2 2>err &
	sleep 0.5
	kill -TERM $!
	status=0
	wait $! || status=$?
	same "$status" 143
}

@test "what the archives of libarchive's tests and of WebDataset hold" {
	needs_shared
	run_split 0 convert "$SHARED/fixtures/formats/tar/wds_sample.tgz" -o out/x --shards 3
	holds "$output" "90 found: 90 written, 0 bad"
	even out train
	python3 - "$SHARED/fixtures/formats/tar/wds_sample.tgz" out <<'PY'
import pathlib, sys, tarfile
shards = b"".join(p.read_bytes() for p in sorted(pathlib.Path(sys.argv[2]).glob("x-*")))
for member in tarfile.open(sys.argv[1]):
    if member.name.endswith(".png"):
        assert tarfile.open(sys.argv[1]).extractfile(member).read() in shards, member.name
PY
	for archive in "$SHARED"/fixtures/formats/tar/la_*; do
		rm -rf out
		run timeout 10 "$TUNDISH" convert "$archive" -o out/x --shards 1
		same "$status" 3
		[ ! -e out ]
	done
}

# frames FILE...: the records in all files, sorted, as a checksum
frames() {
	python3 - "$@" <<'PY'
import hashlib, struct, sys
records = []
for path in sys.argv[1:]:
    data, at = open(path, "rb").read(), 0
    while at < len(data):
        n = struct.unpack("<Q", data[at:at + 8])[0]
        records.append(data[at + 12:at + 12 + n])
        at += 16 + n
print(len(records), hashlib.sha256(b"".join(sorted(records))).hexdigest())
PY
}

@test "records into tar shards and back are equal records" {
	make groups g.tar 100
	run_split 0 convert g.tar -o a/x --shards 3
	run_split 0 convert "$DATA/photos" -o b/x --shards 3 --jpeg-index rows
	for set in a b; do
		for threads in 1 2 8; do
			run_split 0 shard $set -o $set$threads/t --to tar --shards 2 -j $threads
			holds "$stderr" "no metadata for TensorFlow Datasets: it opens no tar"
			diff -r ${set}1 $set$threads
		done
		same "$(ls ${set}1 | grep tar$)" $'t-train-00000.tar\nt-train-00001.tar'
		run_split 0 convert ${set}1/t-*.tar -o back$set/x --shards 1
		same "$(frames back$set/x-*)" "$(frames $set/x-*)"
	done
	same "$(cat b1/label.labels.txt)" "$(cat b/label.labels.txt)"
	python3 - a1/t-train-*.tar <<'PY'
import json, sys, tarfile
keys = []
for path in sys.argv[1:]:
    for m in tarfile.open(path):
        assert (m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode) == (0, 0, 0, "", "", 0o644), m
        keys.append(m.name)
assert len(set(keys)) == len(keys) == 400, len(keys)
assert {k.split(".", 1)[1] for k in keys} == {"png", "cls", "json", "mask.png"}
PY
	run_split 0 shard a -o - --to tar
	usage_dir=$(ls)
	run_split 2 shard a -o z/t --to tar --compress gzip
	same "$(ls)" "$usage_dir"
	# --resume of nothing
	run_split 0 shard b -o resume/t --to tar --shards 2 --resume
	diff -r b1 resume
}

@test "WebDataset reads our tar shards" {
	python=${TUNDISH_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/tundish/peers}/pt/bin/python
	[ -x "$python" ] || python=python3
	"$python" -c 'import webdataset, PIL' 2>/dev/null || skip "no webdataset here (scripts/peers/setup pt)"
	run_split 0 convert "$DATA/photos" -o b/x
	run_split 0 shard b -o t/t --to tar --shards 3
	"$python" - "$DATA/photos" t <<'PY'
import pathlib, sys, webdataset
shards = sorted(map(str, pathlib.Path(sys.argv[2]).glob("*.tar")))
classes = (pathlib.Path(sys.argv[2]) / "label.labels.txt").read_text().split()
seen = set()
for sample in webdataset.WebDataset(shards, shardshuffle=False):
    import json
    name = json.loads(sample["json"])["filename"]
    data = (pathlib.Path(sys.argv[1]) / name).read_bytes()
    assert sample.get("jpg", sample.get("png")) == data, name
    assert classes[int(sample["cls"])] == name.split("/")[0]
    seen.add(name)
assert len(seen) == 46, len(seen)
PY
}

@test "a group with broken JSON is bad, and the others keep their features" {
	make groups g.tar 5
	mkdir g
	tar -C g -xf g.tar
	echo '{"id": ' >g/000002.json
	(cd g && tar cf ../bad.tar -- *)
	run_split 0 convert g.tar -o a/x
	run_split 1 convert bad.tar -o b/x
	holds "$stderr" "bad.tar/000002.png: its .json is"
	run_split 1 convert - -o c/x --shards 1 <bad.tar
	holds "$output" "4 written, 1 bad"
	diff <(jq -S . a/features.json) <(jq -S . b/features.json)
	cmp b/features.json c/features.json
}

@test "inspect tells what an archive holds" {
	run_split 0 inspect "$DATA/archive/stripes.tar" "$(case_in 46 encrypted.zip)"
	holds "$output" "stripes.tar: tar archive"
	holds "$output" "members: 36"
	holds "$output" "    cls: 12"
	holds "$output" "encrypted: 1"
	run_split 1 inspect --json "$(case_in 43 bad-header-sum.tar)"
	json 'j["sources"][0]["members"] == 3 and j["sources"][0]["extensions"] == {"png": 3}'
	holds "$stderr" "bad-header-sum.tar: Damaged tar archive"
	run_split 1 inspect "$(case_in 46 no-directory.zip)"
	run_split 0 convert "$DATA/archive/stripes.tar" --list
	holds "$output" "000000.png"
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

@test "the sample archive: as it lies there, and piped" {
	run_split 0 convert "$DATA/archive/stripes.tar" -o a/x --shards 2
	same "$(cat a/label.labels.txt)" $'checks\ncolumns\nrows'
	cp a/label.labels.txt classes
	gzip -c "$DATA/archive/stripes.tar" >again.tar.gz
	run_split 0 convert - -o c/x --shards 2 --class-list classes <again.tar.gz
	same "$(frames c/x-*)" "$(frames a/x-*)"
}

@test "the sample zip, and its pictures fed in place" {
	run_split 0 convert "$DATA/archive/stripes.zip" -o a/x
	examples 'len(r) == 12 and sorted(x["label"][0] for x in r) == [0] * 4 + [1] * 4 + [2] * 4' a/x-train*
	run_split 0 feed "$DATA/archive/stripes.zip" --ops select:label --to hash
	tundish convert "$DATA/archive/stripes.zip" -o b/x --order keep 2>/dev/null >&2
	fed=$output
	run_split 0 feed b --ops select:label --to hash
	[ "$output" = "$fed" ]
}
