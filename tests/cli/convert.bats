# SPDX-License-Identifier: BSD-2-Clause
# tundish convert: what is written, under which names, and what is refused.
load lib.bash
CASES=$SOURCE/tests/golden/cases

PHOTOS=$DATA/photos

# Everything below a folder in one number; names count.
digest() {
	(cd "$1" && find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum)
}

@test "photographs: summary, file names, side-cars" {
	run_split 0 convert "$PHOTOS" -o out/photos --shards train=3,val=2 --split train=.8,val=.2
	holds "$output" "46 found: 46 written, 0 bad"
	same "$(cd out && ls -A)" "$(printf '%s\n' dataset_info.json features.json index label.labels.txt \
		photos-train.tfrecord-0000{0,1,2}-of-00003 photos-val.tfrecord-0000{0,1}-of-00002 tundish.json)"
	same "$(cat out/label.labels.txt)" $'admiral\nastronaut\ncat\ncoffee\ngalaxy\nrocket'
	same "$(ls out/index | wc -l)" 5
	run_split 0 count --verify 'out/photos-*'
	same "$output" 46
	run_split 0 count 'out/photos-val*'
	same "$output" 9
	same "$stderr" ""
}

@test "the same bytes for any number of threads, any memory and locale" {
	run_split 0 convert "$PHOTOS" -o out/photos --shards 4 -j 1
	want=$(digest out)
	for threads in 2 3 8 99; do
		rm -r out
		TUNDISH_STALL=1 run_split 0 convert "$PHOTOS" -o out/photos --shards 4 -j "$threads" --memory 1M
		same "$(digest out)" "$want"
	done
	rm -r out
	LC_ALL=tr_TR.UTF-8 run_split 0 convert "$PHOTOS" -o out/photos --shards 4
	same "$(digest out)" "$want"
	rm -r out
	run_split 0 convert "$PHOTOS" -o out/photos --shards 4 --seed 1
	[ "$(digest out)" != "$want" ]
}

@test "tundish.json holds no time, host, thread count or absolute path" {
	run_split 0 convert "$PHOTOS" -o "$PWD/out/photos" -j 3
	run -1 grep -q "$PWD" out/tundish.json
	run -1 grep -q "$(hostname)" out/tundish.json
	output=$(cat out/tundish.json)
	json 'j["found"] == j["written"] == 46 and j["bad"] == 0 and len(j["classes"]) == 6'
	json 'sum(n for s in j["shards"] for k, n in s["classes"]) == 46'
	json 'all(set(s) == {"file", "split", "records", "payload_bytes", "bytes", "crc32c", "classes"} for s in j["shards"])'
}

@test "a finished set is refused, and replaced with --overwrite" {
	run_split 0 convert "$PHOTOS" -o out/photos --shards 5
	want=$(digest out)
	run_split 2 convert "$PHOTOS" -o out/photos --shards 2
	holds "$stderr" "out holds a finished set"
	same "$(digest out)" "$want"
	run_split 2 convert "$PHOTOS" -o out/other
	same "$(digest out)" "$want"
	run_split 0 convert "$PHOTOS" -o out/other --shards 2 --overwrite
	same "$(cd out && echo *-of-*)" "other-train.tfrecord-00000-of-00002 other-train.tfrecord-00001-of-00002"
	same "$(ls out/index | wc -l)" 2
	# what fails leaves the old one alone
	want=$(digest out)
	run_split 1 convert "$CASES/34-one-bad-image/in" -o out/other --overwrite --on-error fail
	same "$(digest out)" "$want"
	same "$(find out -name '.*' -type f)" ""
}

@test "--dry-run plans, tells and writes nothing" {
	run_split 0 convert "$PHOTOS" -o out/photos --shards 3 --dry-run
	holds "$output" "46 found: 46 to write, 0 bad"
	run_split 0 convert "$PHOTOS" -o out/photos --labels none --dry-run
	holds "$output" "46 found: 46 to write, 0 bad"
	same "$(ls -A)" ""
}

@test "-o - is one plain stream without side-cars" {
	tundish convert "$PHOTOS" -o - --seed 3 >stream.tfrecord
	run_split 0 convert "$PHOTOS" -o out/photos --shards 1 --seed 3
	cmp stream.tfrecord out/photos-train.tfrecord-00000-of-00001
	same "$(ls -A)" $'out\nstream.tfrecord'
	rm -r out stream.tfrecord
	usage_error convert "$PHOTOS" -o - --shards 2
	usage_error convert "$PHOTOS" -o - --split a=.5,b=.5
}

@test "names: templates and counts" {
	run_split 0 convert "$PHOTOS" -o out/p --shards 2 --name-template '{name}.{split}.{shard}-of-{shards}.rec'
	same "$(cd out && echo p.*)" "p.train.00000-of-00002.rec p.train.00001-of-00002.rec"
	holds "$stderr" "no metadata for TensorFlow Datasets"
	run_split 0 convert "$PHOTOS" -o out/p --shards 2 --count-in-name --overwrite
	same "$(cd out && echo p*)" "p-train-00000-of-00002_00000023.tfrecord p-train-00001-of-00002_00000023.tfrecord"
	same "$(ls out/index)" $'p-train-00000-of-00002_00000023.tfrecord.idx\np-train-00001-of-00002_00000023.tfrecord.idx'
	run_split 0 convert "$PHOTOS" -o out/p --split train=.5,val=.5 --count-in-name --overwrite
	same "$(cd out && echo *.tfrecord)" "train_00000023.tfrecord val_00000023.tfrecord"
	rm -r out
	usage_error convert "$PHOTOS" -o out/p --shards 2 --name-template '{split}'
	usage_error convert "$PHOTOS" -o out/p --split a=.5,b=.5 --name-template '{shard}'
	usage_error convert "$PHOTOS" -o out/p --name-template 'a/{shard}'
	usage_error convert "$PHOTOS" -o out/p --name-template '{what}'
	for name in tundish.json label.labels.txt index '{shard}.part' '{name}~'; do
		usage_error convert "$PHOTOS" -o out/p --name-template "$name"
		holds "$stderr" "readers pass over"
	done
	usage_error convert "$PHOTOS" -o out/.p
	usage_error convert "$PHOTOS" -o out/$'p\xff'
	holds "$stderr" "no UTF-8"
}

@test "keys: slim, single names, left out" {
	run_split 0 convert "$PHOTOS" -o out/p --keys slim
	run_split 0 inspect out --record 0
	for key in image/encoded image/class/label image/class/text image/format image/height image/width image/filename; do
		holds "$output" "$key"
	done
	[ -e out/image.class.label.labels.txt ]
	run_split 0 convert "$PHOTOS" -o out/p --keys image=pixels,height=,width= --overwrite
	run_split 0 inspect out --record 0
	holds "$output" pixels
	[[ $output != *height* ]]
	rm -r out
	usage_error convert "$PHOTOS" -o out/p --keys picture=x
	usage_error convert "$PHOTOS" -o out/p --keys image=label
	usage_error convert "$PHOTOS" -o out/p --keys image=
}

@test "usage errors leave nothing behind" {
	usage_error convert "$PHOTOS" -o out/p --shards 0
	usage_error convert "$PHOTOS" -o out/p --shards x
	usage_error convert "$PHOTOS" -o out/p --split train=.9
	usage_error convert "$PHOTOS" -o out/p --split train=.999,val=.001
	usage_error convert "$PHOTOS" -o out/p --labels what
	usage_error convert "$PHOTOS" -o out/p --labels 'regex:nogroup'
	usage_error convert "$PHOTOS" -o out/p --reencode jpeg:0
	usage_error convert "$PHOTOS" -o out/p --reencode jpeg-lossless:95
	usage_error convert "$PHOTOS" -o out/p --reencode jpeg-lossless:restart=mcus
	usage_error convert "$PHOTOS" -o out/p --jpeg-index mcus:0
	usage_error convert "$PHOTOS" -o out/p --jpeg-index columns
	usage_error convert "$PHOTOS" -o out/p --max-bad many
	usage_error convert "$PHOTOS" -o out/p --stratify colour
	usage_error convert "$PHOTOS" -o out/
	run_split 3 convert nowhere "$PHOTOS" -o out/p
	same "$(ls -A)" ""
}

@test "sources: files, several folders, skip and limit" {
	run_split 0 convert "$PHOTOS"/cat/cat_0{1,2}.jpg -o out/p
	holds "$output" "2 found: 2 written"
	run_split 0 convert "$PHOTOS/cat" "$PHOTOS/rocket" -o out/p --overwrite
	holds "$output" "16 found: 16 written"
	run_split 0 inspect out --record 0
	[[ $output == *cat/cat_* || $output == *rocket/rocket_* ]]
	run_split 0 convert "$PHOTOS" -o out/p --skip 3 --limit 5 --overwrite --order keep
	holds "$output" "5 found: 5 written"
	run_split 0 inspect out --record 0
	holds "$output" astronaut/astronaut_00.jpg
}

@test "labels: regex, csv, offset, none" {
	run_split 0 convert "$PHOTOS" -o out/p --labels 'regex:/([a-z])'
	same "$(cat out/label.labels.txt)" $'a\nc\ng\nr'
	printf 'cat/cat_00.jpg,7\nrocket/rocket_01.jpg,3\n' >t.csv
	run_split 0 convert "$PHOTOS" -o out/p --labels csv:t.csv --overwrite
	holds "$output" "46 found: 2 written, 0 bad, 44 other files left out"
	run_split 0 count out --by label
	same "$output" $'1\t3\n1\t7\n2'
	[ ! -e out/label.labels.txt ]
	run_split 0 convert "$PHOTOS" -o out/p --label-offset 1 --overwrite
	same "$(head -2 out/label.labels.txt)" $'0\nadmiral'
	run_split 0 count out --by label
	same "${lines[0]}" $'3\t1'
	run_split 0 convert "$PHOTOS" -o out/p --labels none --overwrite
	run -1 grep -q '"label"' out/features.json
	[ ! -e out/label.labels.txt ]
}

@test "a CSV of blank lines takes no longer than its size" {
	{
		printf 'path,label\n'
		head -c 4000000 /dev/zero | tr '\0' '\n'
		printf 'cat_00.jpg,3\n'
	} >labels.csv
	run timeout 20 "$TUNDISH" convert "$PHOTOS/cat" -o out/p --labels csv:labels.csv
	same "$status" 0
	holds "$output" " 1 written, 0 bad"
}

@test "--reencode makes each picture a JPEG" {
	run_split 0 convert "$PHOTOS/coffee" -o out/p --reencode jpeg:90 --keys slim
	run_split 0 count out --by image/format
	same "$output" $'8\tjpeg\n8'
}

# The same pictures from every form of the records.
same_pixels() {
	for set in "$@"; do
		for ops in 'central_crop:0.875 resize:32' 'random_resized_crop:24 hflip normalize'; do
			tundish feed "$set" --ops "$ops" --epochs 2 --seed 7 --to hash 2>/dev/null
		done >"$set.sums"
		same "$(cat "$set.sums")" "$(cat "$1.sums")"
	done
}

payload_sum() {
	cat "$1"/p-* | sha256sum
}

@test "--jpeg-index: other readers see the same, crops come out the same" {
	tundish convert -q "$PHOTOS" -o plain/p --shards 2
	tundish convert -q "$PHOTOS" -o rows/p --shards 2 --jpeg-index rows
	tundish convert -q "$PHOTOS" -o four/p --shards 2 --jpeg-index mcus:4
	tundish convert -q "$PHOTOS" -o rows1/p --shards 2 --jpeg-index rows -j 1
	same "$(digest rows)" "$(digest rows1)"
	same_pixels plain rows four
	same "$(cat plain/features.json)" "$(cat rows/features.json)"
	# baseline pictures have one, progressive ones and PNGs do not
	run_split 0 inspect rows --json
	holds "$output" '"image/jpeg_index"'
	run_split 0 bench rows --ops 'random_resized_crop:24' --json
	holds "$output" '"jpeg_index_refused": 0'
}

@test "a JPEG index of another picture is ignored and counted" {
	tundish convert -q "$PHOTOS/coffee" -o rows/p --shards 1 --jpeg-index rows
	tundish convert -q "$PHOTOS/coffee" -o plain/p --shards 1
	mkdir wrong
	PYTHONPATH=$BATS_TEST_DIRNAME/.. python3 - rows/p-train.tfrecord-00000-of-00001 >wrong/w.tfrecord <<'PY'
import sys
from records import frame, frames
for data in frames(open(sys.argv[1], "rb").read()):
    record = bytearray(data)
    place = record.find(b"TDJ1")
    if place >= 0:
        record[place + 12] ^= 1  # its checksum of the picture
    sys.stdout.buffer.write(frame(bytes(record)))
PY
	run_split 0 count --verify wrong
	same_pixels plain wrong
	run_split 0 bench wrong --ops 'random_resized_crop:24' --json
	refused=$(echo "$output" | grep -o '"jpeg_index_refused": [0-9]*' | head -n 1)
	[ "${refused##* }" -gt 0 ]
}

@test "--reencode jpeg-lossless: another form of the same pixels" {
	tundish convert -q "$PHOTOS" -o plain/p --shards 2
	tundish convert -q "$PHOTOS" -o again/p --shards 2 --reencode jpeg-lossless
	same_pixels plain again
	! cmp -s plain/p-train.tfrecord-00000-of-00002 again/p-train.tfrecord-00000-of-00002
	# that is the form with restart markers, which need no index
	tundish convert -q "$PHOTOS" -o both/p --shards 2 --reencode jpeg-lossless:restart=rows --jpeg-index rows
	same "$(payload_sum again)" "$(payload_sum both)"
	# and without them an index can be made
	tundish convert -q "$PHOTOS" -o off/p --shards 2 --reencode jpeg-lossless:restart=off --jpeg-index rows
	same_pixels plain off
	run_split 0 bench off --ops 'random_resized_crop:24' --json
	holds "$output" '"jpeg_index_refused": 0'
	for set in plain again off; do
		cat $set/p-* | grep -c -a TDJ1 >$set.indexed || true
	done
	same "$(cat plain.indexed again.indexed)" $'0\n0'
	[ "$(cat off.indexed)" -gt 20 ]
}

@test "bad items: kept apart, or the end, or allowed for" {
	bad=$CASES/34-one-bad-image/in
	run_split 1 convert "$bad" -o out/p
	run_split 0 convert "$bad" -o out/p --max-bad 3 --overwrite
	run_split 0 convert "$bad" -o out/p --max-bad 34% --overwrite
	rm -r out
	run_split 1 convert "$bad" -o out/p --max-bad 2
	holds "$stderr" "more than the 2"
	run_split 1 convert "$bad" -o out/p --max-bad 33%
	same "$(ls -A)" ""
}

@test "kill -9 leaves dot names only, and the same command then succeeds" {
	run_split 0 convert "$PHOTOS" -o want/p --shards 40
	for ms in 002 005 010 020 040; do
		TUNDISH_STALL=1 timeout -s KILL "0.$ms" "$TUNDISH" convert "$PHOTOS" -o out/p --shards 40 >/dev/null 2>&1 || true
		[ -d out ] || continue
		if [ ! -e out/tundish.json ] && ! ls out/*-of-* >/dev/null 2>&1; then
			same "$(ls out)" ""
		fi
	done
	run_split 0 convert "$PHOTOS" -o out/p --shards 40 --overwrite
	same "$(digest out)" "$(digest want)"
	same "$(find out -name '.*' -type f)" ""
}

@test "SIGTERM removes the temporaries" {
	TUNDISH_STALL=1 "$TUNDISH" convert "$PHOTOS" "$PHOTOS" "$PHOTOS" "$PHOTOS" -o out/p --shards 180 --check decode >/dev/null 2>&1 &
	pid=$!
	sleep 0.05
	kill -TERM $pid
	wait $pid || code=$?
	[ "${code:-0}" = 143 ] || [ -e out/tundish.json ]
	[ -e out/tundish.json ] || same "$(ls -A)" ""
}

@test "two runs at once: the second is refused" {
	mkdir out
	(flock 9 && run_split 2 convert "$PHOTOS" -o out/p && holds "$stderr" "another run") 9>out/.p.journal
}

# Fails at the shard with the largest picture (146 kB), the others being whole before it.
fail_midway() {
	(ulimit -f 100 && trap '' XFSZ && run_split 3 convert "$PHOTOS" -o "$1" --shards 40 "${@:2}" && holds "$stderr" "--resume goes on there")
}

@test "51: --resume keeps whole shards and ends in the same bytes" {
	run_split 0 convert "$PHOTOS" -o want/p --shards 40
	fail_midway out/p
	same "$(ls out)" ""
	kept=$(cd out && stat -c '%n %Y %i' .p-*-of-00040.part)
	[ "$(wc -l <<<"$kept")" -ge 2 ]
	run_split 0 convert "$PHOTOS" -o out/p --shards 40 --resume
	holds "$stderr" "of 40 shards were whole"
	holds "$output" "46 found: 46 written"
	same "$(digest out)" "$(digest want)"
	same "$(find out -name '.*' -type f)" ""
	while read -r name time inode; do
		same "$(stat -c '%Y %i' "out/$(sed 's/^.//; s/.part$//' <<<"$name")")" "$time $inode"
	done <<<"$kept"
	run_split 2 convert "$PHOTOS" -o out/p --shards 40 --resume
}

@test "51: --resume of a compressed set; tundish.json tells where its members start" {
	run_split 0 convert "$PHOTOS" -o want/p --shards 40 --compress gzip
	fail_midway out/p --compress gzip
	run_split 0 convert "$PHOTOS" -o out/p --shards 40 --compress gzip --resume
	holds "$stderr" "of 40 shards were whole"
	same "$(digest out)" "$(digest want)"
	output=$(cat out/tundish.json)
	json 'all(s["members"] == [[0, 0, 0]] for s in j["shards"])'
}

@test "51: --resume refuses other options and other inputs, naming the difference" {
	cp -r "$PHOTOS" in
	chmod -R u+w in
	PHOTOS=in
	fail_midway out/p
	run_split 2 convert in -o out/p --shards 39 --resume
	holds "$stderr" 'had shards "40", this one has "39"'
	run_split 2 convert in -o out/p --shards 40 --seed 5 --resume
	holds "$stderr" 'had seed "0", this one has "5"'
	rm in/cat/cat_00.jpg
	run_split 2 convert in -o out/p --shards 40 --resume
	holds "$stderr" "items 46, this one has 45"
	cp in/cat/cat_01.jpg in/cat/cat_00.jpg
	run_split 2 convert in -o out/p --shards 40 --resume
	holds "$stderr" "inputs"
	[ "$(ls -A out | grep -c 'of-00040.part')" -ge 2 ]
	# the plain command starts over
	run_split 0 convert in -o out/p --shards 40
	same "$(find out -name '.*' -type f)" ""
}

@test "51: killed again and again, resumed to the same bytes, with bad items" {
	mkdir in
	cp -r "$PHOTOS" in/a
	cp -r "$CASES/34-one-bad-image/in" in/b
	chmod -R u+w in
	run_split 1 convert in -o want/p --shards 50
	for i in $(seq 60); do
		TUNDISH_STALL=1 timeout -s KILL "0.0$((10 + i))" "$TUNDISH" convert in -o out/p --shards 50 --resume >/dev/null 2>&1 || true
		[ ! -e out/tundish.json ] || break
	done
	[ -e out/tundish.json ] || run_split 1 convert in -o out/p --shards 50 --resume
	# killed behind the last rename, only the journal is left
	rm -f out/.p.journal
	same "$(digest out)" "$(digest want)"
}

@test "51: a damaged part is made again" {
	run_split 0 convert "$PHOTOS" -o want/p --shards 40
	fail_midway out/p
	printf x | dd of=out/.p-train.tfrecord-00001-of-00040.part bs=1 seek=100 conv=notrunc status=none
	run_split 0 convert "$PHOTOS" -o out/p --shards 40 --resume
	holds "$stderr" "resumed: 1 of 40"
	same "$(digest out)" "$(digest want)"
}

@test "compressed sets: read back, the same for any threads, no side-cars of TFDS" {
	run_split 0 convert "$PHOTOS" -o plain/p --shards 2
	for kind in gzip zlib snappy; do
		run_split 0 convert "$PHOTOS" -o one/p --shards 2 --compress $kind -j 1
		holds "$stderr" "it cannot open compressed shards"
		index=
		[ $kind != gzip ] || index=$'index\n'
		same "$(ls one)" "$index"$'label.labels.txt\np-train.tfrecord-00000-of-00002\np-train.tfrecord-00001-of-00002\ntundish.json'
		run_split 0 count --verify one
		same "$output" 46
		TUNDISH_STALL=1 run_split 0 convert "$PHOTOS" -o two/p --shards 2 --compress $kind -j 8 --memory 1M
		same "$(digest one)" "$(digest two)"
		run_split 0 shard 'one/p-*' -o back/p --shards 1 --stratify none
		run_split 0 shard 'plain/p-*' -o back2/p --shards 1 --stratify none
		cmp back/p-* back2/p-*
		rm -r one two back back2
	done
	run_split 0 convert "$PHOTOS/cat/cat_00.jpg" "$PHOTOS/cat/cat_01.jpg" -o one/p --shards 4 --compress gzip
	gzip -t <one/p-train.tfrecord-00003-of-00004
	run_split 0 count one
	same "$output" 2
	tundish convert "$PHOTOS" -o - --compress gzip 2>/dev/null | gzip -dc | tundish count - | grep -qx 46
}

# features FILE: each record as a JSON object of its features on a line, sorted
features() {
	for f in "$@"; do
		for i in $(seq 0 $(($(tundish count "$f") - 1))); do
			tundish inspect "$f" --record "$i" --json | python3 -c 'import json, sys
r = {f["name"]: f["values"] for f in json.load(sys.stdin)["features"]}
r.pop("image")
print(json.dumps(r, sort_keys=True))'
		done
	done | sort
}

@test "columns of a table become features, their kinds found or given" {
	mkdir in
	for i in 0 1 2 3; do
		cp "$PHOTOS/cat/cat_0$i.jpg" in
	done
	printf '%s\r\n' 'file,label,age,weight,note,code' 'cat_00.jpg,a,3,0.5,"x, y",007' 'cat_01.jpg,b,-4,2,,008' \
		'cat_02.jpg,a,5,1e3,z,009' 'cat_03.jpg,b,,.25,w,010' >t.csv
	run_split 0 convert in -o out/p --labels csv:t.csv --columns age,weight,note,code:text --keys height=,width=
	same "$(features out/*-of-*)" '{"age": [-4], "code": ["008"], "filename": ["cat_01.jpg"], "label": [1], "note": [""], "weight": [2.0]}
{"age": [3], "code": ["007"], "filename": ["cat_00.jpg"], "label": [0], "note": ["x, y"], "weight": [0.5]}
{"age": [5], "code": ["009"], "filename": ["cat_02.jpg"], "image/colorspace": ["grey"], "label": [0], "note": ["z"], "weight": [1000.0]}
{"code": ["010"], "filename": ["cat_03.jpg"], "label": [1], "note": ["w"], "weight": [0.25]}'
	output=$(cat out/features.json)
	json 'sorted(j["featuresDict"]["features"]) == ["code", "filename", "image", "label", "note", "weight"]'
	# a value of another kind than was asked for
	run_split 1 convert in -o out/p --labels csv:t.csv --columns weight:int --overwrite
	holds "$stderr" 'cat_00.jpg: column weight: "0.5" is no whole number'
	holds "$output" "1 written, 3 bad"
	# no labels at all; columns by number
	run_split 0 convert in -o out/p --labels csv:t.csv,label=none --columns weight --overwrite
	run -1 grep -q '"label":' out/features.json
	tail -n +2 t.csv >plain.csv
	run_split 0 convert in -o out/p --labels csv:plain.csv --columns 3:text --overwrite
	holds "$(features out/*-of-*)" '"3": ["-4"]'
	# a changed table is another input
	run_split 2 convert in -o out2/p --labels csv:t.csv --columns nothing
	holds "$stderr" 'no column "nothing" in t.csv'
	run_split 2 convert in -o out2/p --labels csv:t.csv --columns label
	holds "$stderr" 'records have a feature "label" already'
	for wrong in a,a "" a,,b; do
		run_split 2 convert in -o out2/p --labels csv:t.csv --columns "$wrong"
	done
	run_split 2 convert in -o out2/p --columns age
	head -n 1 t.csv >header.csv
	run_split 3 convert in -o out2/p --labels csv:header.csv --columns age
	[ ! -e out2 ]
}

@test "columns: groups of a table, the same bytes for any threads" {
	printf 'file,label,patient\n' >t.csv
	(cd "$PHOTOS" && ls -d */*) | awk '{ print $0 ",c" NR % 2 ",p" NR % 7 }' >>t.csv
	run_split 0 convert "$PHOTOS" -o one/p --labels csv:t.csv --group-by patient --columns patient --split a=.7,b=.3 -j 1
	holds "$stderr" "the split is by group: 7 groups"
	run_split 0 count one/p-a.* --by group
	same "${#lines[@]}" 6
	same "$output" "$(tundish count one/p-a.* --by patient)"
	for threads in 2 8 99; do
		run_split 0 convert "$PHOTOS" -o "j$threads/p" --labels csv:t.csv --group-by patient --columns patient \
			--split a=.7,b=.3 -j $threads --memory 1M
		diff -r one "j$threads"
	done
}

@test "side-cars: labels and features from a JSON file beside each picture" {
	mkdir -p in/sub
	for i in 0 1 2 3 4; do
		cp "$PHOTOS/cat/cat_0$i.jpg" in/sub
	done
	echo '{"label": "tabby", "box": [1, 2.5], "age": 3, "tags": ["a", "b"], "indoor": true}' >in/sub/cat_00.json
	echo '{"label": "black", "box": [0, 1], "age": null, "tags": [], "indoor": false}' >in/sub/cat_01.json
	echo '{"label": {"x": 1}}' >in/sub/cat_02.json
	echo '{"label": "tabby", ' >in/sub/cat_03.json
	run_split 1 convert in -o out/p --labels json --columns box,age,tags,indoor --keys height=,width=
	holds "$stderr" 'cat_02.jpg: cat_02.json: no class in "label"'
	holds "$stderr" "cat_03.jpg: cat_03.json: line"
	holds "$stderr" "cat_04.jpg: no cat_04.json beside it"
	holds "$output" "5 found: 2 written, 3 bad"
	same "$(features out/*-of-*)" '{"age": [3], "box": [1.0, 2.5], "filename": ["sub/cat_00.jpg"], "indoor": [1], "label": [1], "tags": ["a", "b"]}
{"box": [0.0, 1.0], "filename": ["sub/cat_01.jpg"], "indoor": [0], "label": [0], "tags": []}'
	same "$(cat out/label.labels.txt)" $'black\ntabby'
	run_split 1 convert in -o out/p --labels json:label=age --overwrite
	holds "$output" "1 written, 4 bad"
	run_split 1 convert in -o out/p --labels json:label=none --columns box --overwrite
	holds "$output" "3 written, 2 bad"
	echo '[]' >in/sub/cat_02.json
	run_split 1 convert in -o out/p --labels json --columns box --overwrite
	holds "$stderr" "cat_02.jpg: cat_02.json: no JSON object"
	run_split 2 convert in -o out2/p --labels json --columns nothing
	holds "$stderr" 'no column "nothing" in side-cars or headers'
	run_split 2 convert in -o out2/p --labels json:key=age
}

@test "side-cars are read in parallel: the same records and complaints for any threads" {
	python3 - "$PHOTOS/cat/cat_00.jpg" <<'PY'
import json, os, sys
os.makedirs("in")
for i in range(500):
    os.link(sys.argv[1], f"in/{i}.jpg") if os.stat(sys.argv[1]).st_dev == os.stat("in").st_dev else os.symlink(sys.argv[1], f"in/{i}.jpg")
    with open(f"in/{i}.json", "w") as f:
        # lists of 300 KB: fewer than a job's are read ahead
        f.write("{" if i % 50 == 7 else json.dumps({"label": f"c{i * 7 % 31}", "n": i, "more": [0] * (100000 if i % 9 == 0 else 1)}))
PY
	for j in 1 2 3 8 99; do
		run_split 1 convert in -o $j/p --labels json --columns n -j $j
		holds "$output" "490 written, 10 bad"
		same "$(grep -c ': line' <<<"$stderr")" 10
		grep ': line' <<<"$stderr" >$j.said
		[ $j = 1 ] || { diff -r 1 $j && cmp 1.said $j.said; }
	done
}
