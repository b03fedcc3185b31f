# SPDX-License-Identifier: BSD-2-Clause
# tundish feed where other loaders lost, repeated or never ended their records; 23 records
# with labels 0..22 in 4 shards, see golden/cases/ORIGIN.md.
load lib

CASES=$SOURCE/tests/golden/cases
SET=$CASES/54-reshuffle-each-epoch
ORDER="0 4 8 12 16 20 1 5 9 13 17 21 2 6 10 14 18 22 3 7 11 15 19" # of the files

# labels ARG...: feeds with these options, prints the labels of each batch on a line
labels() {
	tundish feed "$@" --to npy -q >"$T/out.npy" || return
	python3 - "$T/out.npy" <<'PY'
import ast, struct, sys
data, at, images = open(sys.argv[1], "rb").read(), 0, True
while at < len(data):
    (n,) = struct.unpack_from("<H", data, at + 8)
    head = ast.literal_eval(data[at + 10:at + 10 + n].decode())
    at += 10 + n
    count = 1
    for side in head["shape"]:
        count *= side
    if not images:
        print(*struct.unpack_from("<%dq" % count, data, at))
    at += count * int(head["descr"][2:])
    images = not images
PY
}

lines() {
	tr ' ' '\n' <<<"$1"
}

@test "case 54: each epoch has an order of its own, the same for the same seed" {
	both=$(labels "$SET" --epochs 2 --batch 23 --shuffle full)
	first=$(head -n 1 <<<"$both") second=$(tail -n 1 <<<"$both")
	[ "$first" != "$second" ]
	same "$(lines "$first" | sort -n | tr '\n' ' ')" "$(seq 0 22 | tr '\n' ' ')"
	same "$(lines "$second" | sort -n | tr '\n' ' ')" "$(seq 0 22 | tr '\n' ' ')"
	same "$(labels "$SET" --epochs 2 --batch 23 --shuffle full)" "$both"
	same "$(labels "$SET" --batch 23 --shuffle off)" "$ORDER"
}

@test "case 56: each record once an epoch, whatever the threads" {
	for threads in 1 2 4 8 32; do
		same "$(labels "$SET" --batch 4 -j $threads | paste -sd' ')" "$ORDER"
	done
}

@test "case 57: the last batch is kept, dropped or padded, and never empty" {
	sizes() {
		labels "$SET" --batch 4 --last "$1" | awk '{ printf "%d ", NF }'
	}
	same "$(sizes keep)" "4 4 4 4 4 3 "
	same "$(sizes drop)" "4 4 4 4 4 "
	same "$(sizes pad)" "4 4 4 4 4 4 "
	same "$(labels "$SET" --batch 4 --last keep | tail -n 1)" "11 15 19"
}

@test "case 59: one shard or empty ones for many threads" {
	for set in one some-empty; do
		same "$(labels "$CASES/59-fewer-shards-than-readers/$set" -j 8 | tr ' ' '\n' | wc -l)" 5
	done
}

@test "case 60: ranks share the records, each dealt once" {
	for rank in 0 1 2 3; do
		labels "$SET" --batch 1 --rank $rank --world 4 --uneven keep >"$T/rank$rank"
	done
	same "$(cat "$T"/rank? | sort -n)" "$(seq 0 22)"
	same "$(wc -l "$T"/rank? | awk 'NR < 5 { printf "%d ", $1 }')" "6 6 6 5 "
	run_split 2 feed "$SET" --to null --batch 1 --rank 0 --world 4
	run_split 2 feed "$SET" --to null --rank 4 --world 4
}

@test "case 70: a feed ends after one epoch" {
	same "$(labels "$SET" | tr ' ' '\n' | wc -l)" 23
}

@test "case 62: memory stays small while the reader sleeps" {
	"$TUNDISH" feed "$DATA/photos" --ops 'resize:224 normalize' --batch 16 --prefetch 4 --shuffle full \
		--epochs inf -q > >(sleep 3) &
	pid=$!
	sleep 1.5
	rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")
	kill "$pid"
	wait "$pid" || :
	# 5 batches of 16 x 224 x 224 x 3 floats are 47040 kB
	[ "$rss" -gt 10000 ]
	[ "$rss" -lt $((47040 + 65536)) ]
}

@test "case 62: a buffer that cannot fit is refused with the numbers" {
	run -2 "$TUNDISH" feed "$DATA/photos" --ops 'resize:224 normalize' --to hash --memory 64M --prefetch 3
	holds "$output" "3 batches of 38535168 bytes do not fit into a memory of 67108864 bytes: prefetch 2 at most"
	run -0 "$TUNDISH" feed "$DATA/photos" --ops 'resize:224 normalize' --to hash --memory 64M --prefetch 2
	"$TUNDISH" convert -q "$DATA/photos" -o set/photos --shards 1 2>/dev/null
	cat set/photos-* >stream
	run -2 "$TUNDISH" feed - --ops resize:32 --to hash --memory 1M --shuffle buffer:1000 <stream
	holds "$output" "a shuffle buffer of 1000 records takes more than half of the memory, 1048576 bytes: the first "
	# no more is taken than there are records, whatever the number
	run -0 --separate-stderr "$TUNDISH" feed - --ops resize:32 --to hash --shuffle buffer:1000000000000 <stream
	same "$output" "$("$TUNDISH" feed set --ops resize:32 --to hash --shuffle buffer:1000000000000 2>/dev/null)"
	mkfifo pipe
	cat stream >pipe &
	[ "$(peak_kb feed pipe --ops resize:32 --shuffle buffer:100000000 --to null)" -lt 300000 ]
}

# peak_kb ARG...: the largest resident size of a run, without the freed memory that a
# sanitizer holds back
peak_kb() {
	ASAN_OPTIONS=$ASAN_OPTIONS:quarantine_size_mb=0:thread_local_quarantine_size_kb=0 python3 - "$TUNDISH" "$@" <<'PY'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
PY
}

@test "case 63: fifty epochs take no more memory than two" {
	few=$(peak_kb feed "$SET" --to null --batch 4 --shuffle buffer:9 --epochs 2)
	many=$(peak_kb feed "$SET" --to null --batch 4 --shuffle buffer:9 --epochs 50)
	[ "$many" -lt $((few + 5120)) ]
}

@test "case 65: more files than may be open" {
	mkdir many
	for i in $(seq -w 0 399); do
		cp "$SET"/*-00000-of-* "many/m-00$i-of-00400"
	done
	for order in off full shards+buffer:500; do
		[ "$(ulimit -n 32; labels many --shuffle $order | tr ' ' '\n' | wc -l)" -eq 2400 ]
	done
	(ulimit -n 32; tundish feed many --cycle-length 100 --to null 2>"$T/err")
	[[ $(cat "$T/err") =~ ^2400\ images ]]
	same "$(ulimit -n 32; tundish count many)" 2400
}

@test "case 76: grey, RGB, RGBA and thin pictures in one batch" {
	mixed=$CASES/76-mixed-channels-and-sizes/in
	tundish feed "$mixed" --ops resize:16 -q >"$T/out.npy"
	grep -aq "'shape': (7, 16, 16, 3), }  # image" "$T/out.npy"
	run_split 1 feed "$mixed" --to null
	[[ $stderr =~ "pictures differ in size: first "[^:]*"a-rgb.jpg: 96x128, then "[^:]*"d-small.png: 5x7; " ]]
}
