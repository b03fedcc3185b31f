# SPDX-License-Identifier: BSD-2-Clause
# tundish shard: nothing is lost, damage is told, the same bytes for any threads.
load lib.bash
CASES=$SOURCE/tests/golden/cases

digest() {
	(cd "$1" && find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum)
}

# The payloads of all record files given, sorted, in one number.
payloads() {
	python3 - "$@" <<'PY'
import hashlib, struct, sys
found = []
for name in sys.argv[1:]:
    data, at = open(name, "rb").read(), 0
    while at < len(data):
        n, = struct.unpack_from("<Q", data, at)
        found.append(hashlib.sha256(data[at + 12:at + 12 + n]).hexdigest())
        at += 16 + n
print(len(found), hashlib.sha256("".join(sorted(found)).encode()).hexdigest())
PY
}

make_set() {
	tundish convert -q "$DATA/photos" -o in/photos --shards 3
}

@test "counts and payloads are kept, names and classes carried over" {
	make_set
	run_split 0 shard in -o out/photos --shards 7
	holds "$output" "46 found: 46 written, 0 bad"
	same "$(payloads out/photos-*)" "$(payloads in/photos-*)"
	cmp in/label.labels.txt out/label.labels.txt
	run_split 0 shard out -o back/photos --shards 1 --shuffle --seed 9
	same "$(payloads back/photos-*)" "$(payloads in/photos-*)"
	output=$(cat out/tundish.json)
	# classes within one a shard
	json 'all(max(c) - min(c) <= 1 for c in [[dict(map(tuple, s["classes"])).get(k, 0) for s in j["shards"]] for k in range(6)])'
	python3 - <<'PY'
import json
a, b = (json.load(open(d + "/features.json"))["featuresDict"]["features"] for d in ("in", "out"))
assert a == b
PY
}

@test "the same bytes for any number of threads" {
	make_set
	for args in "" "--shuffle" "--stratify none" "--split a=.5,b=.5 --shuffle"; do
		run_split 0 shard in -o one/p --shards 5 -j 1 $args
		for threads in 2 3 8 99; do
			TUNDISH_STALL=1 run_split 0 shard in -o two/p --shards 5 -j $threads --memory 1M $args
			same "$(digest two)" "$(digest one)"
			rm -r two
		done
		rm -r one
	done
}

@test "without shuffle and strata the order is kept" {
	records a.tfrecord 0 20
	run_split 0 shard a.tfrecord -o out/p --shards 3 --stratify none
	cmp <(cat out/p-*) a.tfrecord
	run_split 0 shard a.tfrecord -o - --stratify none
	run_split 2 shard a.tfrecord -o new/q --stratify nothing
	holds "$stderr" 'no record has a feature "nothing"'
}

@test "streams and compressed files" {
	make_set
	cat in/photos-* | tundish shard -q - -o a/p --shards 2 --shuffle
	cat in/photos-* >all.tfrecord
	run_split 0 shard all.tfrecord -o b/p --shards 2 --shuffle
	cmp <(cat a/p-*) <(cat b/p-*)
	gzip -c all.tfrecord >all.gz
	run_split 0 shard all.gz -o c/p --shards 2 --shuffle
	cmp <(cat a/p-*) <(cat c/p-*)
	tundish shard all.gz -o - --stratify none >back.tfrecord
	cmp back.tfrecord all.tfrecord
	gzip -c all.tfrecord | tundish shard - -o - --stratify none 2>/dev/null | cmp - all.tfrecord
	same "$(find . -name '.tundish*')" ""
}

@test "106: standard input by any name, and none at all" {
	records a.tfrecord 0 7
	tundish shard -q /dev/stdin -o a/p <a.tfrecord
	gzip -c a.tfrecord | tundish shard -q - -o b/p
	cmp a/p-* b/p-*
	run -3 bash -c '"$1" shard - -o c/p <&-' - "$TUNDISH"
	[ ! -e c ]
}

@test "filters keep what they say, by number, name and comparison" {
	make_set
	run_split 0 shard in -o out/p --filter 'label in 3,5'
	holds "$output" "46 found: 14 written, 0 bad, 32 records left out"
	run_split 0 shard in -o out/p --filter 'label = cat' --overwrite
	holds "$output" "10 written"
	run_split 0 shard in -o out/p --filter 'label != cat,3' --overwrite
	holds "$output" "28 written"
	run_split 0 shard in -o out/p --filter 'width >= 1' --overwrite
	holds "$output" "46 written"
	run_split 0 shard in -o out2/p --filter 'filename=cat/cat_03.jpg'
	holds "$output" "1 written"
	run_split 3 shard in -o out3/p --filter 'label=77'
	holds "$stderr" "46 left out"
	run_split 3 shard in -o out3/p --filter 'nothing=1'
	run_split 2 shard in -o out3/p --filter 'label'
	[ ! -e out3 ]
}

@test "damage: every good record is kept and the loss told" {
	records good.tfrecord 0 9
	python3 - <<'PY'
data = bytearray(open("good.tfrecord", "rb").read())
data[len(data) // 2] ^= 1
open("flip.tfrecord", "wb").write(data)
open("cut.tfrecord", "wb").write(data[:-3])
PY
	run_split 1 shard flip.tfrecord -o out/p
	holds "$output" "9 found: 8 written, 1 bad"
	holds "$stderr" "flip.tfrecord: record 4 at byte"
	run_split 1 shard cut.tfrecord -o out/p --overwrite
	holds "$output" "9 found: 7 written, 2 bad"
	output=$(cat out/tundish.json)
	json 'len(j["faults"]) == 2 and j["faults"][0]["name"] == "cut.tfrecord" and j["faults"][0]["record"] == 4'
	run_split 0 shard cut.tfrecord -o out/p --overwrite --max-bad 2
	rm -r out
	run_split 1 shard cut.tfrecord -o out/p --on-error fail
	run_split 1 shard cut.tfrecord -o out/p --max-bad 1
	[ ! -e out ]
	printf 'not a record at all' >text.tfrecord
	run_split 3 shard text.tfrecord -o out/p
	[ ! -e out ]
}

@test "14: --crc off takes wrong checksums and writes right ones" {
	for name in crc-unmasked crc-zero crc-zlib-masked only-data-crc-zero; do
		run_split 3 shard "$CASES/14-wrong-crc-kind/$name.tfrecord" -o out/p
		holds "$stderr" "checksum is "
		run_split 0 shard --crc off "$CASES/14-wrong-crc-kind/$name.tfrecord" -o out/p
		run_split 0 count --verify out
		same "$output" 3
		rm -r out
	done
	# a payload that rotted is kept too where only lengths are checked
	run_split 0 shard --crc length "$CASES/03-payload-bitflip/flip.tfrecord" -o out/p
	holds "$output" "5 found: 5 written"
}

@test "19, 26: odd values and keys come through unchanged" {
	for case in 19-several-bytes 26-odd-bytes-values; do
		run_split 0 shard "$CASES/$case/a.tfrecord" -o "$case/p" --shards 1
		cmp "$CASES/$case/a.tfrecord" "$case"/p-train.tfrecord-*
	done
}

@test "53: a split divides, never overlaps, and does so again" {
	for threads in 1 3 8; do
		run_split 0 shard "$CASES"/53-*/all.tfrecord -o out/p --split train=.8,val=.2 -j $threads --overwrite
		[ -e want ] || cp -r out want
		same "$(digest out)" "$(digest want)"
	done
	run_split 0 count 'out/p-train*'
	same "$output" 32
	run_split 0 count 'out/p-val*'
	same "$output" 8
	same "$(payloads out/p-*)" "$(payloads "$CASES"/53-*/all.tfrecord)"
}

@test "53: --group-by: no group is in two splits" {
	for more in "" --shuffle; do
		for threads in 1 3 8; do
			run_split 0 shard "$CASES"/53-*/all.tfrecord -o out/p --split train=.8,val=.2 --group-by group \
				-j $threads --overwrite $more
			holds "$stderr" "the split is by group: 8 groups"
			[ -e "want$more" ] || cp -r out "want$more"
			same "$(digest out)" "$(digest "want$more")"
		done
		run_split 0 count 'out/p-val*' --by group
		same "$output" "$(grep -v '^ *0' <<<"$output")"
		run_split 0 count 'out/p-train*' --by group --json
		json 'len(j["by"]["values"]) == 6 and all(v["records"] == 5 for v in j["by"]["values"])'
		run_split 0 count 'out/p-val*' --by group --json
		json 'len(j["by"]["values"]) == 2 and j["records"] == 10'
	done
	run_split 2 shard "$CASES"/53-*/all.tfrecord -o out2/p --group-by nothing
	holds "$stderr" "no record has a feature nothing"
}

@test "usage errors leave nothing behind" {
	records a.tfrecord 0 2
	cd "$T" && mkdir x && cd x
	T=$PWD
	usage_error shard ../a.tfrecord -o out/p --shards 0
	usage_error shard ../a.tfrecord -o out/p --split a=.9,b=.1
	usage_error shard ../a.tfrecord -o out/p --labels none
	usage_error shard ../a.tfrecord -o out/
	run_split 3 shard nowhere -o out/p
	same "$(ls -A)" ""
}

@test "51: --resume of a reshard" {
	make_set
	run_split 0 shard in -o want/p --shards 40
	(ulimit -f 100 && trap '' XFSZ && run_split 3 shard in -o out/p --shards 40)
	run_split 0 shard in -o out/p --shards 40 --resume
	holds "$stderr" "shards were whole"
	same "$(digest out)" "$(digest want)"
}

@test "--jpeg-index makes, renews and takes out what convert makes" {
	make_set
	tundish convert -q "$DATA/photos" -o rows/photos --shards 3 --jpeg-index rows
	tundish convert -q "$DATA/photos" -o four/photos --shards 3 --jpeg-index mcus:4
	for wish in rows:rows four:mcus:4 in:off; do
		for from in in rows four; do
			tundish shard -q $from -o - --stratify none --jpeg-index "${wish#*:}" >made
			tundish shard -q "${wish%%:*}" -o - --stratify none >want
			cmp made want
		done
	done
	# without the option records stay as they are
	same "$(payloads rows/photos-*)" "$(tundish shard -q rows -o - >all; payloads all)"
	run_split 0 shard in -o out/p --shards 2 --jpeg-index rows
	run_split 0 shard in -o one/p --shards 2 --jpeg-index rows -j 1
	same "$(digest out)" "$(digest one)"
	diff <(python3 -m json.tool --sort-keys in/features.json) <(python3 -m json.tool --sort-keys out/features.json)
	run_split 0 bench out --ops random_resized_crop:24 --json
	json 'j["points"][0]["jpeg_index_refused"] == 0 if "points" in j else "\"jpeg_index_refused\": 0" in json.dumps(j)'
	run_split 2 shard in -o new/p --jpeg-index columns
	[ ! -e new ]
}

@test "--jpeg-index leaves alone what has no picture" {
	records a.tfrecord 0 5
	tundish shard -q a.tfrecord -o - --stratify none --jpeg-index rows | cmp - a.tfrecord
	sequence=$SOURCE/tests/golden/cases/24-sequence-example
	for file in "$sequence"/*; do
		tundish shard -q "$file" -o - --stratify none >plain
		tundish shard -q "$file" -o - --stratify none --jpeg-index rows | cmp - plain
	done
}
