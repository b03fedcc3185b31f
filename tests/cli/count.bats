# SPDX-License-Identifier: BSD-2-Clause
# tundish count: totals, lines a file, values, JSON, standard input.
load lib.bash

make_set() {
	mkdir set
	records set/a-00000-of-00002 0 7
	records set/a-00001-of-00002 7 6
}

@test "the total stands alone on a line of stdout, nothing on stderr" {
	make_set
	run_split 0 count set
	same "$output" 13
	same "$stderr" ""
	run_split 0 count 'set/a-*-of-00002'
	same "$output" 13
}

@test "--per-file: number, tab, path; then the total" {
	make_set
	run_split 0 count --per-file set
	same "$output" $'7\tset/a-00000-of-00002\n6\tset/a-00001-of-00002\n13'
}

@test "--by counts values, ascending, and tells of records without" {
	make_set
	run_split 0 count --by label set
	same "$output" $'5\t0\n4\t1\n4\t2\n13'
	run_split 0 count --by nothing set
	same "$output" 13
	holds "$stderr" "13 records have no feature nothing"
}

@test "--json says what was checked" {
	make_set
	run_split 0 count --json set
	json 'j["records"] == 13 and j["faults"] == 0 and j["checked"] == "length"'
	run_split 0 count --json --verify --per-file --by label set
	json 'j["checked"] == "full" and [f["records"] for f in j["files"]] == [7, 6]'
	json '[(v["value"], v["records"]) for v in j["by"]["values"]] == [("0", 5), ("1", 4), ("2", 4)]'
	run_split 0 count --json --crc off set
	json 'j["checked"] == "off"'
}

@test "damaged data is exit 1 with --verify; the rest is counted" {
	records a.tfrecord 0 5
	printf X | dd of=a.tfrecord bs=1 seek=300 conv=notrunc status=none
	run_split 0 count a.tfrecord
	same "$output" 5
	run_split 1 count --verify a.tfrecord
	same "$output" 4
	holds "$stderr" "a.tfrecord: record "
	same "${#stderr_lines[@]}" 1
	run_split 1 count --verify --on-error fail a.tfrecord
	holds "$stderr" "a.tfrecord: record "
}

@test "the error log holds a JSON line for each fault" {
	records $'a-\xe9.tfrecord' 0 5
	printf X | dd of=$'a-\xe9.tfrecord' bs=1 seek=300 conv=notrunc status=none
	run_split 1 count --verify --error-log log.json $'a-\xe9.tfrecord'
	holds "$stderr" 'a-\xe9.tfrecord: record '
	output=$(cat log.json)
	json 'j["path"] == "a-\\xe9.tfrecord" and j["kind"] == "corrupt" and j["record"] >= 0 and j["offset"] > 0'
	json '"checksum" in j["reason"]'
}

@test "-q leaves faults and takes notes away" {
	: >empty.tfrecord
	run_split 0 count --verify empty.tfrecord
	holds "$stderr" "note: empty.tfrecord"
	run_split 0 count -q --verify empty.tfrecord
	same "$output" 0
	same "$stderr" ""
}

@test "standard input, as - and /dev/stdin, as file and as pipe" {
	records a.tfrecord 0 100
	same "$(tundish count - <a.tfrecord)" 100
	same "$(cat a.tfrecord | tundish count -)" 100
	same "$(cat a.tfrecord | tundish count /dev/stdin)" 100
	same "$(head -c 500 a.tfrecord | tundish count --verify - 2>/dev/null)" "$(head -c 500 a.tfrecord >b; tundish count --verify b 2>/dev/null || true)"
}

@test "a file named twice is counted once, an empty path is named" {
	records a.tfrecord 0 9
	records b.tfrecord 9 5
	run_split 0 count a.tfrecord ./a.tfrecord b.tfrecord
	same "$output" 14
	same "$stderr" "note: ./a.tfrecord: named more than once, read once"
	run_split 0 count . '*.tfrecord' b.tfrecord -q
	same "$output" 14
	run_split 3 count a.tfrecord ""
	holds "$stderr" '"": an empty path'
}

@test "a file that only says that it is empty is read" {
	[ -r /proc/self/status ] || skip "no /proc"
	run_split 1 count /proc/self/status
	holds "$stderr" "/proc/self/status: record 0 at byte 0: not a TFRecord file"
}

@test "the same for any number of threads and any memory" {
	mkdir set
	for i in 0 1 2 3 4 5 6; do
		records set/a-0000$i-of-00007 $((9 * i)) 9
	done
	printf X | dd of=set/a-00003-of-00007 bs=1 seek=200 conv=notrunc status=none
	for options in "-j 1" "-j 2" "-j 3" "-j 8" "-j 99" "--memory 1M"; do
		# shellcheck disable=SC2086
		tundish count --verify --per-file --by label $options set >out 2>&1 || true
		sha256sum <out >>sums
	done
	same "$(sort -u sums | wc -l)" 1
	holds "$(cat out)" "set/a-00003-of-00007: record "
}

@test "progress: a line a second away from a terminal, only when asked" {
	records a.tfrecord 0 10
	run_split 0 count --progress a.tfrecord
	same "$output" 10
}

@test "--steps counts the batches of an epoch" {
	records a.tfrecord 0 23
	same "$(tundish count --steps batch=4 a.tfrecord)" 6
	same "$(tundish count --steps batch=4,drop a.tfrecord)" 5
	same "$(tundish count --steps batch=2,world=4 a.tfrecord)" 3
	same "$(tundish count --steps batch=2,world=4,drop a.tfrecord)" 2
	run_split 0 count --json --steps batch=23 a.tfrecord
	json 'j["steps"] == 1 and j["records"] == 23'
	for wrong in batch=0 4 batch world=2 batch=4,world=0 batch=4,drip batch=-1; do
		run_split 2 count --steps $wrong a.tfrecord
		holds "$stderr" "--steps $wrong: must be"
	done
}
