# SPDX-License-Identifier: BSD-2-Clause
# tundish bench: tables, JSON, sweeps; never how fast it is.
load lib.bash

make_set() {
	tundish convert -q "$DATA/photos" -o set/photos --shards 2 2>/dev/null
}

# A run that is short.
bench() {
	"$TUNDISH" bench set --ops resize:16 --batch 4 --warmup 0 --repeat 2 --seconds 1 "$@"
}

@test "rates, stages and the closing line" {
	make_set
	run -0 --separate-stderr bench
	holds "$output" "images/s"
	holds "$output" "stage"
	holds "$output" "consumer waited"
	[[ ${stderr_lines[-1]} =~ ^[0-9]+\ images\ [0-9.]+\ s\ [0-9.]+\ /s$ ]]
}

@test "--json holds every sample" {
	make_set
	run -0 --separate-stderr bench --json --repeat 3 --explain
	json 'j["repeat"] == 3 and len(j["points"]) == 1'
	json 'len(j["points"][0]["images_per_s"]["samples"]) == 3'
	json 'min(j["points"][0]["images_per_s"]["samples"]) == j["points"][0]["images_per_s"]["min"]'
	json 'all(s["busy_s"] >= 0 for s in j["points"][0]["stages"])'
	json 'j["points"][0]["batches"] > 0'
	json 'j["points"][0]["explain"]["kind"] in ("cpu", "input", "machine", "consumer")'
}

@test "locks, waits and wake-ups stay few, for any number of threads" {
	make_set
	for j in 1 2 8; do
		run -0 --separate-stderr bench --json --batch 16 --epochs 20 --repeat 1 -j "$j" --shuffle full
		json '0 < j["points"][0]["locks_per_batch"] < 4 * 16'
		json '0 <= j["points"][0]["wakeups_per_batch"] < 3 * 16'
		json '0 <= j["points"][0]["waits_per_batch"] < 3 * 16'
	done
	run -0 --separate-stderr bench
	holds "$output" "per batch: lock taken "
}

@test "the fetcher is named" {
	make_set
	TUNDISH_FETCH=threads run -0 --separate-stderr bench
	holds "$output" "fetched by threads"
	TUNDISH_FETCH=threads run -0 --separate-stderr bench --json
	json 'j["points"][0]["fetcher"] == "threads" and j["points"][0]["uring_reads"] == 0 < j["points"][0]["reads"]'
	run -0 "$TUNDISH" --version
	[[ $output == *io_uring/on* ]] || skip "no io_uring: $output"
	TUNDISH_FETCH=uring run -0 --separate-stderr bench
	holds "$output" "fetched by io_uring, "
	TUNDISH_FETCH=uring run -0 --separate-stderr bench --json
	json 'j["points"][0]["fetcher"] == "io_uring" and 0 < j["points"][0]["uring_reads"] == j["points"][0]["reads"]'
}

@test "a sweep has a row for each value" {
	make_set
	run -0 --separate-stderr bench --sweep batch=2,4,8
	same "$(awk '{ print $1 }' <<<"$output" | head -n 4 | xargs)" "batch 2 4 8"
	run -0 --separate-stderr bench --sweep threads=1,2 --json
	json '[p["settings"] for p in j["points"]] == [{"threads": "1"}, {"threads": "2"}]'
	json '[p["threads_used"] for p in j["points"]] == [1, 2]'
}

@test "several sweeps, one after the other or as a grid" {
	make_set
	run -0 --separate-stderr bench --sweep threads=1,2 --sweep batch=2,4 --repeat 1
	same "$(awk '{ print $1 "," $2 }' <<<"$output" | head -n 5 | xargs)" "threads,batch 1,- 2,- -,2 -,4"
	run -0 --separate-stderr bench --sweep threads=1,2 --sweep batch=2,4,8 --grid --repeat 1 --json
	json 'len(j["points"]) == 6 and j["points"][5]["settings"] == {"threads": "2", "batch": "8"}'
}

@test "--explain names a bottleneck" {
	make_set
	run -0 --separate-stderr bench --explain
	holds "$output" "bottleneck: "
}

@test "a slow consumer is named as the bottleneck" {
	make_set
	run -0 --separate-stderr bench --explain --step-ms 300 --repeat 1 --epochs 1 --limit 28 --seconds 60
	holds "$output" "bottleneck: the consumer"
}

@test "--save writes the best setting, --plot draws" {
	make_set
	run -0 --separate-stderr bench --sweep threads=1,2 --save best.json
	output=$(cat best.json)
	json 'j["best"]["settings"]["threads"] in ("1", "2")'
	command -v gnuplot >/dev/null || skip "no gnuplot"
	run -0 --separate-stderr bench --sweep threads=1,2 --plot p.svg
	holds "$(cat p.svg)" "<svg"
	run -0 --separate-stderr bench --plot p.png
	same "$(ls -A)" $'best.json\np.png\np.svg\nset'
}

@test "wrong sweeps and plots are exit 2, before anything is measured" {
	make_set
	for wrong in threads threads= bork=1,2 threads=0 threads=1,x batch=1,-2 memory=1Q last=never; do
		run -2 --separate-stderr bench --sweep $wrong
		same "$output" ""
		[ -n "$stderr" ]
	done
	run -2 --separate-stderr bench --sweep threads=1 --sweep threads=2
	run -2 --separate-stderr bench --plot p.xyz
	holds "$stderr" "p.xyz"
}

@test "--levels has a row for reading and for each operation" {
	make_set
	run -0 --separate-stderr bench --levels --ops 'hflip resize:16 normalize'
	same "$(awk '{ print $1 $2 }' <<<"${lines[1]}" | tr -d 0-9.)" "reading"
	holds "${lines[2]}" "+ hflip"
	[[ ${lines[2]} =~ -$ ]]
	holds "${lines[3]}" "+ resize:16"
	holds "${lines[4]}" "+ normalize"
	run -2 --separate-stderr bench --levels --sweep threads=1
}

@test "TUNDISH_JPEG=libjpeg: the same batches by libjpeg alone, and bench and --version say so" {
	tundish convert -q "$DATA/photos" -o in/p --shards 2 --jpeg-index rows
	for jpeg in own libjpeg; do
		export TUNDISH_JPEG=$jpeg
		tundish feed in --ops 'random_resized_crop:24 hflip' --to hash --seed 3 2>/dev/null >$jpeg.sums
		tundish --version | grep -q "jpeg-entropy/$jpeg"
		run_split 0 bench in --ops resize:8 --epochs 1 --repeat 1 --json
		json "j['jpeg_entropy'] == '$jpeg'"
		run_split 0 bench in --ops resize:8 --epochs 1 --repeat 1
		same "$(grep -c 'libjpeg alone' <<<"$output")" "$([ $jpeg = libjpeg ] && echo 1 || echo 0)"
	done
	cmp own.sums libjpeg.sums
}

@test "files that cannot be written are refused before anything is timed" {
	make_set
	for option in --trace --save --plot; do
		[ "$option" != --plot ] || command -v gnuplot >gnuplot || continue
		run_split 3 bench set --ops resize:16 "$option" nope/x.svg
		same "$stderr" "tundish: nope/x.svg: no such folder"
		mkdir -p folder.svg
		run_split 3 bench set --ops resize:16 "$option" folder.svg
		same "$stderr" "tundish: folder.svg: Is a directory"
		same "$output" ""
	done
	# a disk that is full at the end
	run_split 3 bench set --ops resize:16 --repeat 1 --seconds 1 --trace /dev/full
	holds "$stderr" "/dev/full: "
	holds "$stderr" "No space left on device"
	same "$(ls -A)" "$(ls)"
}

@test "--trace writes what each thread did, for a trace viewer" {
	tundish bench "$DATA/photos" --ops 'resize:16' --batch 4 -j 2 --repeat 1 --trace t.json >/dev/null 2>&1
	python3 - t.json <<'PY'
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
names = {e["args"]["name"]: e["tid"] for e in events if e["name"] == "thread_name"}
assert {"worker 0", "worker 1", "consumer"} <= set(names), names
work = [e for e in events if e["name"] == "work"]
fetched = sum(e["args"]["items"] for e in events if e["name"] == "fetch")
held = [e for e in events if e["name"] == "batch"]
assert sum(e["args"]["items"] for e in work) == fetched > 0
assert all(e["tid"] in (names["worker 0"], names["worker 1"]) for e in work)
assert len(held) > 1 and all(e["tid"] == names["consumer"] for e in held)
for tid in names.values():
    last = 0
    for e in sorted((e for e in events if e["ph"] == "X" and e["tid"] == tid), key=lambda e: e["ts"]):
        assert e["ts"] >= last - .01 and e["dur"] >= 0, e
        last = e["ts"] + e["dur"]
PY
}
