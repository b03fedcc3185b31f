# SPDX-License-Identifier: BSD-2-Clause
# tundish inspect: text, JSON, one record, exit codes.
load lib.bash

@test "text for people and JSON for machines" {
	records a.tfrecord 0 9
	run_split 0 inspect a.tfrecord
	holds "$output" "label"
	same "$stderr" ""
	run_split 0 inspect --json a.tfrecord
	json 'isinstance(j, dict)'
}

@test "--record prints one record" {
	records a.tfrecord 0 9
	run_split 0 inspect --record 4 a.tfrecord
	holds "$output" "label"
	run_split 0 inspect --record 4 --json a.tfrecord
	json 'isinstance(j, dict)'
}

@test "a record that is not there is told" {
	records a.tfrecord 0 9
	run --separate-stderr tundish inspect --record 9 a.tfrecord
	[ "$status" -ne 0 ]
	holds "$stderr" "no record 9"
}

@test "damage is exit 1, the good records are surveyed" {
	records a.tfrecord 0 9
	printf X | dd of=a.tfrecord bs=1 seek=300 conv=notrunc status=none
	run_split 1 inspect a.tfrecord
	holds "$stderr" "a.tfrecord: record "
	holds "$output" "label"
}

@test "standard input" {
	records a.tfrecord 0 9
	tundish inspect --json a.tfrecord | sed '/"bytes"/d; s/"a.tfrecord"/"-"/' >file
	cat a.tfrecord | tundish inspect --json - | sed '/"bytes"/d' >stream
	diff file stream
}

@test "parts of the text" {
	records a.tfrecord 0 9
	run_split 0 inspect --schema a.tfrecord
	holds "$output" "int64"
	[[ $output != *"classes in"* ]]
	records b.tfrecord 9 9
	run_split 0 inspect --classes --per-file a.tfrecord b.tfrecord
	holds "$output" "classes in label: 3"
	holds "$output" "b.tfrecord"
	[[ $output != *"int64"* ]]
}

@test "sections without a line, and more features than are listed" {
	python3 - "$BATS_TEST_DIRNAME" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from mkrecords import example, field, frame, integers
features = {b"a%05d" % i: integers(1) for i in range(10001)}
features[b"label"] = integers(7)
open("many.tfrecord", "wb").write(frame(example(features)))
open("none.tfrecord", "wb").write(frame(b""))
PY
	for section in --schema --classes --order --per-file; do
		run_split 0 inspect $section none.tfrecord
		same "$output" ""
	done
	run_split 0 inspect --classes many.tfrecord
	holds "$output" "classes in label: 1"
	tundish inspect --json many.tfrecord >many.json
	grep -q '"feature": "label"' many.json
}
