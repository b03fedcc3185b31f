# SPDX-License-Identifier: BSD-2-Clause
# tundish convert --append: splits for a set that is finished.
load lib.bash
PHOTOS=$DATA/photos

first() {
	run_split 0 convert "$PHOTOS" -o out/x --shards 2 --split train=.8,val=.2 "$@"
}

@test "--append adds a split, and the metadata are those of both" {
	first
	cp -a out before
	run_split 0 convert "$PHOTOS" -o out/x --shards 3 --split test=1 --seed 7 --append
	for file in before/x-* before/label.labels.txt before/features.json; do
		cmp "$file" "out/${file#before/}"
		same "$(stat -c %y "$file")" "$(stat -c %y "out/${file#before/}")" || [[ $file != *tfrecord* ]]
	done
	same "$(ls -A out | grep -c tfrecord)" 7
	same "$(ls -A out/index | wc -l)" 7
	run_split 0 count --verify out
	same "$output" 92
	run_split 0 convert "$PHOTOS" -o alone/x --shards 3 --split test=1 --seed 7
	for i in 0 1 2; do
		cmp alone/x-test.tfrecord-0000$i-of-00003 out/x-test.tfrecord-0000$i-of-00003
	done
	python3 - before out alone <<'PY'
import json, sys
before, out, alone = (json.load(open(f"{d}/tundish.json")) for d in sys.argv[1:])
assert out["shards"] == before["shards"] + alone["shards"]
assert out["options"] == before["options"] and out["seed"] == "0"
assert [a["options"]["split"] for a in out["appended"]] == ["test=1"] and out["appended"][0]["seed"] == "7"
assert out["found"] == out["written"] == 92
assert [c["records"] for c in out["classes"]] == [a["records"] + b["records"]
                                                  for a, b in zip(before["classes"], alone["classes"])]
splits = json.load(open("out/dataset_info.json"))["splits"]
assert [(s["name"], len(s["shardLengths"])) for s in splits] == [("train", 2), ("val", 2), ("test", 3)]
PY
	run_split 0 inspect out --verify
	holds "$output" "92 Examples"
}

@test "--append takes the classes of the set and refuses others" {
	mkdir -p in/coffee in/cat new/tea
	cp "$PHOTOS"/coffee/*_0[0-2].* in/coffee
	cp "$PHOTOS"/cat/*_0[0-2].* in/cat
	cp "$PHOTOS"/cat/*_0[0-2].* new/tea
	first
	cp -a out before
	run_split 0 convert in -o out/x --split few=1 --append
	same "$(cat out/label.labels.txt)" "$(cat before/label.labels.txt)"
	run_split 0 count out/x-few* --by label
	[[ $output == *$'\t2\n'*$'\t3\n'* ]]
	rm -r out
	cp -a before out
	for wrong in "new --split n=1" "in --split train=1" "in --split n=1 --labels none" "in --split n=1 --label-offset 1" \
		"in --split n=1 --compress gzip" "in --split n=1 --keys slim" "in --split n=1 --overwrite"; do
		# shellcheck disable=SC2086 # words
		run_split 2 convert $wrong -o out/x --append
		holds "$stderr" tundish
		diff -r before out
	done
	run_split 2 convert in -o out/y --split n=1 --append
	holds "$stderr" "the set in out is called x, not y"
	run_split 2 convert in -o none/x --split n=1 --append
	holds "$stderr" "none holds no finished set"
	[ ! -e none ]
	run_split 2 convert in -o - --split n=1 --append
	diff -r before out
}

@test "--append of a stream is checked before anything of it is read" {
	[ -e "$TUNDISH_MODULES/archive.so" ] || skip "built without libarchive"
	first
	mkfifo silent
	sleep 60 >silent &
	writer=$!
	for wrong in "--split train=1" "--split n=1 --keys slim" "--split n=1 --compress gzip" \
		"--split n=1 --label-offset 7"; do
		# shellcheck disable=SC2086
		run_split 2 convert silent -o out/x --shards 1 $wrong --append --memory 64M
		holds "$stderr" "append: "
	done
	kill $writer
	# whether there are labels shows with the first item: the rest need not come
	tar -C "$PHOTOS" -cf some.tar cat
	(cat some.tar; sleep 60) >silent &
	run timeout 20 "$TUNDISH" convert silent -o out/x --shards 1 --split n=1 --labels none --append
	same "$status" 2
	kill $! || true
	run_split 0 convert - -o out/x --shards 1 --split n=1 --append <some.tar
	run_split 0 count --by label out/x-n.*
}

@test "--append with numbers for labels" {
	printf 'file,label\ncat/cat_01.jpg,7\ncat/cat_02.jpg,3\n' >a.csv
	printf 'file,label\ncat/cat_01.jpg,5\ncat/cat_03.jpg,7\n' >b.csv
	run_split 0 convert "$PHOTOS" -o out/x --labels csv:a.csv
	run_split 0 convert "$PHOTOS" -o out/x --labels csv:b.csv --split n=1 --append
	python3 - <<'PY'
import json
j = json.load(open("out/tundish.json"))
assert [(c["label"], c["records"]) for c in j["classes"]] == [(3, 1), (5, 1), (7, 2)]
assert [s["classes"] for s in j["shards"]] == [[[0, 1], [2, 1]], [[1, 1], [2, 1]]], j["shards"]
PY
}

@test "--append that breaks off leaves the old set, and --resume ends it" {
	first
	cp -a out before
	run_split 0 convert "$PHOTOS" -o out/x --shards 40 --split test=1 --append
	mv out whole
	cp -a before out
	(ulimit -f 100 && trap '' XFSZ && run_split 3 convert "$PHOTOS" -o out/x --shards 40 --split test=1 --append)
	for file in before/*; do
		diff -r "$file" "out/${file#before/}"
	done
	run_split 0 count out
	same "$output" 46
	run_split 0 convert "$PHOTOS" -o out/x --shards 40 --split test=1 --append --resume
	holds "$stderr" "resumed: "
	diff -r whole out
	# killed at any time: nothing but dot names and the old set, or all
	rm -r out
	cp -a before out
	for i in $(seq 30); do
		TUNDISH_STALL=1 timeout -s KILL "0.0$((10 + i))" "$TUNDISH" convert "$PHOTOS" -o out/x --shards 40 --split test=1 \
			--append --resume >/dev/null 2>&1 || true
		cmp before/tundish.json out/tundish.json || grep -q appended out/tundish.json
	done
	grep -q appended out/tundish.json || run_split 0 convert "$PHOTOS" -o out/x --shards 40 --split test=1 --append --resume
	# one that was killed when all was done leaves a journal to the next run
	run_split 2 convert "$PHOTOS" -o out/x --shards 40 --split test=1 --append --resume
	diff -r whole out
	# another command behind one that died: its files go, the set's stay
	rm -r out
	cp -a before out
	(ulimit -f 100 && trap '' XFSZ && run_split 3 convert "$PHOTOS" -o out/x --shards 40 --split test=1 --append)
	run_split 0 convert "$PHOTOS" -o out/x --shards 2 --split other=1 --append
	same "$(ls -A out | grep -c tfrecord)" 6
	run_split 0 count --verify out
	same "$output" 92
}
