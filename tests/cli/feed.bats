# SPDX-License-Identifier: BSD-2-Clause
# tundish feed: arrays on stdout, digests, the closing line, early ends.
load lib.bash

OPS='random_resized_crop:32 hflip normalize:imagenet'

make_set() {
	tundish convert -q "$DATA/photos" -o set/photos --shards 2 2>/dev/null
	N=$(tundish count set)
}

# shapes FILE: a line for each array of a file of .npy arrays: dtype and shape
shapes() {
	python3 - "$1" <<'PY'
import ast, struct, sys
with open(sys.argv[1], "rb") as f:
    while magic := f.read(8):
        assert magic == b"\x93NUMPY\x01\x00", magic
        (n,) = struct.unpack("<H", f.read(2))
        head = ast.literal_eval(f.read(n).decode())
        assert not head["fortran_order"] and (10 + n) % 64 == 0
        size = int(head["descr"][2:])
        for side in head["shape"]:
            size *= side
        assert len(f.read(size)) == size
        print(head["descr"], *head["shape"])
PY
}

@test "npy: images and labels in turn, whole arrays, the last batch shorter" {
	make_set
	tundish feed set --ops "$OPS" --batch 4 >out.npy
	shapes out.npy >shapes
	same "$(head -n 2 shapes)" $'<f4 4 32 32 3\n<i8 4'
	same "$(wc -l <shapes)" $((2 * ((N + 3) / 4)))
	same "$(awk '$1 == "<i8" { n += $2 } END { print n }' shapes)" "$N"
}

@test "types and layouts" {
	make_set
	tundish feed set --ops 'resize:16 cast:uint8 layout:nchw' --batch 2 >out.npy
	same "$(shapes out.npy | head -n 1)" "|u1 2 3 16 16"
	tundish feed set --ops 'resize:16x24 normalize cast:float16' --batch 2 >out.npy
	same "$(shapes out.npy | head -n 1)" "<f2 2 16 24 3"
}

@test "--last keep, drop, pad" {
	make_set
	batch=$((N - 1))
	for last in keep drop pad; do
		tundish feed set --ops resize:8 --batch $batch --last $last >out.npy
		shapes out.npy | awk '$1 == "<i8" { printf "%s ", $2 }' >$last
	done
	same "$(cat keep)" "$batch 1 "
	same "$(cat drop)" "$batch "
	same "$(cat pad)" "$batch $batch "
}

@test "raw holds the same bytes without headers" {
	make_set
	tundish feed set --ops "$OPS" --batch 4 --to raw >out.raw
	tundish feed set --ops "$OPS" --batch 4 >out.npy
	python3 - <<'PY'
import struct
data, at, raw = open("out.npy", "rb").read(), 0, open("out.raw", "rb").read()
import ast
body = b""
while at < len(data):
    (n,) = struct.unpack_from("<H", data, at + 8)
    head = ast.literal_eval(data[at + 10:at + 10 + n].decode())
    size = int(head["descr"][2:])
    for side in head["shape"]:
        size *= side
    body += data[at + 10 + n:at + 10 + n + size]
    at += 10 + n + size
assert body == raw
PY
}

@test "hash: the digest of what npy writes, and the closing line" {
	make_set
	run_split 0 feed set --ops "$OPS" --batch 4 --epochs 2 --shuffle full --to hash
	same "$output" "$(tundish feed set --ops "$OPS" --batch 4 --epochs 2 --shuffle full | sha256sum | cut -d ' ' -f 1)"
	[[ ${stderr_lines[-1]} =~ ^$((2 * N))\ images\ [0-9.]+\ s\ [0-9.]+\ /s$ ]]
	run_split 0 feed set --ops "$OPS" --to null
	same "$output" ""
	[[ ${stderr_lines[-1]} =~ ^$N\ images\ [0-9.]+\ s\ [0-9.]+\ /s$ ]]
}

@test "the same bytes for any number of threads, memory and prefetch" {
	make_set
	for options in "-j 1" "-j 2" "-j 3" "-j 8" "-j 99" "--memory 64M" "--prefetch 1"; do
		# shellcheck disable=SC2086
		tundish feed set --ops "$OPS" --batch 4 --epochs 2 --shuffle full --to hash $options 2>/dev/null >>sums
	done
	same "$(sort -u sums | wc -l)" 1
}

@test "seeds, epochs and orders differ" {
	make_set
	for options in "" "--seed 1" "--epochs 2" "--shuffle full" "--shuffle full --seed 1"; do
		# shellcheck disable=SC2086
		tundish feed set --ops "$OPS" --to hash $options 2>/dev/null >>sums
	done
	same "$(sort -u sums | wc -l)" 5
}

@test "--skip and --limit take a part of the records" {
	make_set
	tundish feed set --ops resize:8 --batch 64 --skip 2 --limit 3 >out.npy
	same "$(shapes out.npy | tail -n 1)" "<i8 3"
}

@test "case 64: the reader goes away: death by SIGPIPE within a second, no message" {
	make_set
	run -0 --separate-stderr bash -c '
		start=$(date +%s%N)
		{ "$TUNDISH" feed set --ops resize:64 --epochs inf; echo $? >code; } | head -c 1000 >/dev/null
		cat code; echo $((($(date +%s%N) - start) / 1000000000))'
	same "$output" $'141\n0'
	same "$stderr" ""
}

@test "SIGTERM ends an endless feed with its closing line" {
	make_set
	run --separate-stderr timeout -s TERM .7 "$TUNDISH" feed set --ops resize:32 --epochs inf --to null
	[ "$status" -eq 124 ] || [ "$status" -eq 143 ]
	[[ ${stderr_lines[-1]} =~ \ images\ [0-9.]+\ s\ [0-9.]+\ /s$ ]]
}

@test "wrong settings are exit 2, an empty input is exit 3" {
	make_set
	run_split 2 feed set --to nowhere
	run_split 2 feed set --ops bork:3 --to null
	holds "$stderr" bork
	run_split 2 feed set --batch 0 --to null
	: >empty.tfrecord
	run_split 3 feed empty.tfrecord --to null
	holds "$stderr" "empty.tfrecord"
	run_split 3 feed nowhere --to null
}

@test "without --ops, pictures of different size are exit 1, the first two named" {
	make_set
	run_split 1 feed set --to null
	holds "$stderr" "set/photos-train"
}

@test "cases 11, 16, 20, 21: what a record lacks is named, the others are fed" {
	cases=$SOURCE/tests/golden/cases
	run_split 3 feed "$cases/11-empty-file/empty.tfrecord" --to null
	holds "$stderr" "no records"
	run_split 0 feed "$cases/16-stale-index/a.tfrecord" --to null
	holds "$stderr" "a.idx does not fit"
	holds "$stderr" "3 images"
	f=$cases/20-missing-feature/a.tfrecord
	run_split 1 feed "$f" --to null
	holds "$stderr" "a.tfrecord: record 3 at byte 462: feature image/class/label is missing"
	holds "$stderr" "4 images"
	run_split 1 feed "$f" --to null --on-error blank
	holds "$stderr" "5 images"
	run_split 1 feed "$cases/21-type-differs" --to null
	holds "$stderr" "t-00001-of-00003: record 0 at byte 0: feature label is float, wanted is int64"
	holds "$stderr" "t-00002-of-00003: record 1 at byte 34: feature label is bytes, wanted is int64"
	holds "$stderr" "2 images"
}

@test "a full disk is exit 3" {
	make_set
	run -3 --separate-stderr bash -c '"$TUNDISH" feed set --ops resize:32 >/dev/full'
	holds "$stderr" "No space left on device"
}

@test "--start and --cursor go on exactly where a run ended" {
	make_set
	tundish feed set --ops "$OPS" --batch 4 --shuffle full --epochs 2 --to raw >whole
	tundish feed set --ops "$OPS" --batch 4 --shuffle full --epochs 1 --to raw --cursor c >first
	tundish feed set --ops "$OPS" --batch 4 --shuffle full --epochs 2 --to raw --cursor c -j 1 >rest
	cat first rest | cmp - whole
	tundish feed set --ops "$OPS" --batch 4 --shuffle full --epochs 2 --to raw --start 0:1:0 | cmp - rest
	run_split 2 feed set --ops "$OPS" --start 0:0:0 --cursor c --to null
	run_split 2 feed set --ops "$OPS" --start bork --to null
	holds "$stderr" bork
	run_split 2 feed set --ops "$OPS" --epochs inf --start 0:18446744073709551615:0 --dry-run
	holds "$stderr" "start is behind the last epoch"
}

@test "ranks share the records, and uneven shares are told" {
	make_set
	for rank in 0 1; do
		tundish feed set --ops resize:8 --batch 1 --world 2 --rank $rank --uneven keep --to raw >rank$rank
	done
	tundish feed set --ops resize:8 --batch 1 --to raw >whole
	same "$(cat rank0 rank1 | wc -c)" "$(wc -c <whole)"
	tundish feed set --ops resize:8 --batch 1 --world 2 --rank 0 --uneven keep --to null 2>rank
	holds "$(cat rank)" "$(((N + 1) / 2)) images"
	run_split 2 feed set --ops resize:8 --world 2 --rank 2 --to null
	run_split 2 feed set --ops resize:8 --batch 1 --rank 0 --world $((N - 1)) --to null
	holds "$stderr" "uneven"
}

@test "--dry-run prints the number of batches" {
	make_set
	same "$(tundish feed set --batch 4 --epochs 2 --dry-run)" $((2 * ((N + 3) / 4)))
	same "$(tundish feed set --epochs inf --dry-run)" -1
	same "$(cat set/photos-train* | tundish feed - --ops resize:8 --dry-run)" -2
}

@test "ranks come from the launcher's environment, and that is said" {
	make_set
	RANK=1 WORLD_SIZE=2 tundish feed set --ops resize:8 --uneven keep --to hash >launched 2>note
	holds "$(cat note)" "rank 1 of 2, from RANK"
	same "$(cat launched)" "$(tundish feed set --ops resize:8 --uneven keep --rank 1 --world 2 --to hash 2>/dev/null)"
	RANK=1 WORLD_SIZE=2 run_split 0 feed set --ops resize:8 --world 1 --to hash
	[[ $stderr != *rank* ]]
	run_split 2 feed set --rank 1 --to null
	run_split 2 feed set --world 2 --to null
}

@test "--last drop: what takes the place of a bad record is counted" {
	make_set
	printf x | dd of="$(ls set/photos-train.tfrecord-*0-of-*)" bs=1 seek=2000 conv=notrunc status=none
	run_split 1 feed set --ops "$OPS" --batch 4 --last drop --to null
	holds "$stderr" "bad records whose place others took: 1"
	run_split 1 feed set --ops "$OPS" --batch 4 --to null
	[[ "$stderr" != *replaced* ]]
}

@test "--last drop: the same others take the places for any number of ranks" {
	records r 0 64
	python3 - r <<'PY'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
at, n = 0, 0
while at < len(data):
    length, = struct.unpack_from("<Q", data, at)
    if n % 5 == 0:
        data[at + 12] ^= 1
    at, n = at + length + 16, n + 1
open(sys.argv[1], "wb").write(data)
PY
	ids() { "$TUNDISH" feed r --last drop --ops select:id --to raw -q "$@" 2>/dev/null | od -An -td8 -v -w8; }
	ids --batch 32 >all
	paste -d '\n' <(ids --batch 16 --rank 0 --world 2) <(ids --batch 16 --rank 1 --world 2) >both
	[ "$(wc -l <all)" = 64 ]
	cmp all both
}

@test "--sampler and --mix: proportions, source_id, what was drawn once more" {
	records a 0 60
	records b 60 30
	tundish feed a --sampler stratified:label --batch 6 >out.npy # labels i % 3
	python3 - out.npy <<'PY'
import struct, sys
data = open(sys.argv[1], "rb").read()
assert len(data) == 10 * (128 + 48)
for at in range(128, len(data), 176):
    assert sorted(struct.unpack_from("<6q", data, at)) == [0, 0, 1, 1, 2, 2]
PY
	tundish feed --mix one=a:9 --mix "two=$T/b*:1" --batch 10 --min-per-source 2 >out.npy 2>said
	shapes out.npy >shapes
	same "$(sort shapes | uniq -c | xargs)" "18 <i8 10"
	grep -aq '# source_id' out.npy
	holds "$(cat said)" "drawn once more for --min-per-source: 9"
	usage_error_in() { run_split 2 "$@"; same "$output" ""; }
	usage_error_in feed a --mix one=b:1
	usage_error_in feed a --sampler stratified:label --mix one=b:1
	usage_error_in bench --mix one=a:1 --levels
	run_split 0 bench --mix one=a:1 --mix two=b:3 --repeat 1 --warmup 0
}

@test "decode:fast: close to exact, the same for any threads, cache and index" {
	tundish convert -q "$DATA/photos" -o in/p --shards 2
	tundish convert -q "$DATA/photos" -o rows/p --shards 2 --jpeg-index rows
	for ops in 'resize:20' 'random_resized_crop:16 hflip' 'resize_shorter:30 center_crop:24'; do
		tundish feed in --ops "decode:fast $ops" --to hash -q >fast
		run -1 cmp -s fast <(tundish feed in --ops "decode $ops" --to hash -q)
		for more in "-j 1" "-j 8" "--cache memory:raw" "--cache memory:index"; do
			cmp fast <(tundish feed in --ops "decode:fast $ops" --to hash -q $more)
		done
		cmp fast <(tundish feed rows --ops "decode:fast $ops" --to hash -q)
		cmp fast <(TUNDISH_JPEG=libjpeg tundish feed in --ops "decode:fast $ops" --to hash -q)
	done
	# nothing is made smaller, nothing differs
	cmp <(tundish feed in --ops "decode:fast resize:900" --to hash -q) <(tundish feed in --ops "resize:900" --to hash -q)
	run_split 2 feed in --ops "decode:fast resize:20" --cache memory:decoded --to null
	holds "$stderr" "decode:fast"
}

@test "--cache DIR: the same batches, from one run to the next, and what befalls it is told" {
	make_set
	plain=$(tundish feed set --ops "resize:24 hflip" --to hash -q)
	for kind in "" :decoded :ops :raw; do
		for run in 1 2; do
			run_split 0 feed set --ops "resize:24 hflip" --to hash -q --cache "kept$kind"
			same "$output" "$plain"
			[[ $stderr != *cache* ]]
		done
	done
	same "$(ls kept | wc -l)" 3
	same "$(tundish feed set --ops "resize:24 hflip" --to hash -q --cache kept -j 7 --epochs 2)" \
		"$(tundish feed set --ops "resize:24 hflip" --to hash -q --epochs 2)"
	touch set/photos-train.tfrecord-00001-of-00002
	run_split 0 feed set --ops "resize:24 hflip" --to hash --cache kept
	same "$output" "$plain"
	holds "$stderr" "stale or damaged, made anew"
	run_split 2 feed set --ops "hflip resize:24" --to null --cache kept:ops
	holds "$stderr" "the first operation draws"
	run_split 2 feed set --ops "resize:24" --to null --cache kept:more
}

@test "--cycle-length, --block-length and --flow-epochs, of plain and compressed files" {
	for i in 0 1 2; do records r-0000$i-of-00003 $((i * 10)) $((4 + i)); done
	tundish shard 'r-*' -q -o packed/r --shards 3 --compress gzip
	ids() { tundish feed "$@" --ops 'select:id' --to raw -q | od -An -v -w8 -td8 | xargs; }
	same "$(ids 'r-*' --cycle-length 2 --block-length 2)" \
		"0 1 10 11 2 3 12 13 20 21 14 22 23 24 25"
	same "$(ids 'r-*' --cycle-length 9)" "0 10 20 1 11 21 2 12 22 3 13 23 14 24 25"
	for options in "--cycle-length 2" "--cycle-length 3 --block-length 2 --epochs 2 --flow-epochs"; do
		tundish feed packed --batch 4 --to hash -q $options >packed.hash
		tundish shard packed -q -o plain/r --shards 3 --compress none --overwrite
		tundish feed plain --batch 4 --to hash -q $options >plain.hash
		cmp packed.hash plain.hash
	done
	# 15 records twice: 30 in batches of 4, and of 15 each with a shorter last one
	same "$(tundish feed 'r-*' --epochs 2 --batch 4 --flow-epochs --dry-run)" 8
	same "$(tundish feed 'r-*' --epochs 2 --batch 6 --flow-epochs --dry-run)" 5
	same "$(tundish feed 'r-*' --epochs 2 --batch 6 --dry-run)" 6
}

@test "compressed files with members of ours: every order, as of plain files" {
	records r-00000-of-00002 0 150 20000
	records r-00001-of-00002 1000 111 20000
	for kind in none gzip zlib; do tundish shard 'r-*' -q -o $kind/r --shards 3 --compress $kind; done
	for options in "--shuffle full" "--shuffle block:7" "--shuffle block:40" "--shuffle shards+full+batch:3" \
	    "--shuffle off" "--shuffle shards --skip 5 --limit 100" "--sampler weighted:label" \
	    "--world 3 --rank 1 --uneven pad --shuffle block:60 --start 0:1:24 --epochs 3" \
	    "--cache memory:raw --shuffle buffer:20 --epochs 2"; do
		tundish feed none --ops select:id,data --batch 8 --to hash -q $options >want
		for threads in 1 2 3 8; do
			tundish feed gzip --ops select:id,data --batch 8 --to hash -q $options \
			    --threads $threads --memory $((threads * 8))M >got
			cmp got want
		done
	done
	run_split 0 feed gzip --ops select:id --to null --shuffle full
	holds "$stderr" "block:N or files that are not compressed are faster"
	run_split 0 feed gzip --ops select:id --to null --shuffle block:40
	[[ $stderr != *faster* ]]
	run_split 2 feed zlib --ops select:id --to null --shuffle full
	holds "$stderr" "gzip members of our own"
}

@test "a damaged member costs its records; without an index the file is read forward only" {
	records r 0 150 20000
	tundish shard r -q -o set/r --compress gzip
	file=$(echo set/r*.tfrecord*)
	printf '\xff\xff\xff' | dd of=$file bs=1 seek=2500 conv=notrunc status=none
	run_split 1 feed set --ops select:id --to null --shuffle full
	holds "$stderr" "record 60 at byte"
	same "$(echo "$stderr" | grep -c "its gzip member is damaged")" 53
	rm -r set/index
	run_split 2 feed set --ops select:id --to null --shuffle full
	holds "$stderr" "buffer:N"
}

@test "gzip members are found by their index; where there is none the walk is told" {
	records r 0 150 20000
	tundish shard r -q -o set/r --shards 4 --compress gzip
	same "$(tundish feed set --ops select:id --to null --shuffle full -v 2>&1 | grep -c "an index that fits")" 0
	want=$(tundish feed set --ops select:id --to hash --shuffle full -q)
	rm set/index/*00002-of*
	echo "gzip 2" >set/index/r-train.tfrecord-00001-of-00004.idx
	run_split 0 feed set --ops select:id --to hash --shuffle full -v
	same "$output" "$want"
	holds "$stderr" "it has a form that is not known"
	holds "$stderr" "files without an index that fits: 2; finding their records took 0."
	json=$(tundish bench set --ops select:id --shuffle full --json -q --seconds 1 --repeat 1)
	holds "$json" '"files_walked": 2'
	# shards without records do not make streams of the others
	records e 0 1 20000
	tundish shard e -q -o few/e --shards 4 --compress gzip
	same "$(tundish feed few --ops select:id --batch 1 --to raw --shuffle full -q | wc -c)" 8
	rm -r few/index
	same "$(tundish feed few --ops select:id --batch 1 --to raw --shuffle full -q | wc -c)" 8
	# all that is known of members is gone
	rm -r set/index set/tundish.json
	run_split 2 feed set --ops select:id --to hash --shuffle full
	run_split 0 inspect --index set
	same "$(tundish feed set --ops select:id --to hash --shuffle full -q)" "$want"
}

@test "--rank-by file: each rank has whole files, in orders of its own" {
	for i in 0 1 2 3 4; do records r-0000$i-of-00005 $((i * 10)) $((4 + i)); done
	tundish shard 'r-*' -q -o packed/r --shards 5 --compress gzip
	ids() { tundish feed "$@" --ops 'select:id' --to raw -q | od -An -v -w8 -td8 | xargs; }
	rank() { r=$1; shift; ids "$@" --batch 4 --rank $r --world 2 --rank-by file; }
	same "$(rank 0 'r-*' --uneven keep)" "0 1 2 3 20 21 22 23 24 25 40 41 42 43 44 45 46 47"
	same "$(rank 1 'r-*' --uneven keep)" "10 11 12 13 14 30 31 32 33 34 35 36"
	# 18 and 12 records
	run_split 2 feed 'r-*' --ops select:id --to null --batch 4 --rank 1 --world 2 --rank-by file
	holds "$stderr" "30 records give some of 2 ranks 5 batches of 4 and others 3"
	same "$(rank 0 'r-*' --uneven drop)" "0 1 2 3 20 21 22 23 24 25 40 41"
	same "$(rank 1 'r-*' --uneven pad)" "10 11 12 13 14 30 31 32 33 34 35 36 10 11 12 13 14 30"
	for options in "--shuffle full" "--shuffle shards+block:3 --epochs 3" "--shuffle buffer:5 --cycle-length 2"; do
		for set in 'r-*' packed; do
			for r in 0 1; do rank $r "$set" --uneven keep $options >"$r"; done
			all=$(ids "$set" $options | tr ' ' '\n' | sort -n)
			same "$(cat 0 1 | tr ' ' '\n' | sort -n)" "$all"
			# from the second batch on
			rank 1 "$set" --uneven keep $options --start 0:0:8 >rest
			same "$(cat rest)" "$(cut -d' ' -f5- 1)"
			same "$(rank 1 "$set" --uneven keep $options -j 8)" "$(cat 1)"
		done
	done
	run_split 2 feed 'r-*' --ops select:id --to null --rank 1 --world 6 --rank-by file --uneven keep
	holds "$stderr" "5 files do not give each of 6 ranks one"
	run_split 2 feed 'r-*' --ops select:id --to null --rank 1 --world 2 --rank-by file --skip 2
	run_split 2 feed packed --ops select:id --to null --rank 1 --world 2 --rank-by file --uneven drop
}

@test "readers of compressed files in turn are in the ledger, and files may vanish meanwhile" {
	for i in 0 1 2 3 4 5; do records r-0000$i-of-00006 $((i * 100)) $((12 + i)) 20000; done
	tundish shard 'r-*' -q -o set/r --shards 6 --compress zlib
	peak() {
		tundish bench set --ops select:id --batch 4 --prefetch 1 --json -q --seconds 1 --repeat 1 "$@" |
			python3 -c 'import json, sys; print(json.load(sys.stdin)["points"][0]["memory_peak_bytes"])'
	}
	one=$(peak --cycle-length 1 --threads 1)
	six=$(peak --cycle-length 6 --threads 1)
	# five more, each with an inflater and two windows
	[ $((six - one)) -gt $((5 * 65536)) ]
	# an epoch has 87 records of 20 kB, far more than the pipe and a batch hold
	mkfifo pipe
	(read -r -n 1; rm set/*00001-of*; cat >/dev/null) <pipe &
	code=0
	tundish feed set --ops select:data --batch 4 --prefetch 1 --cycle-length 6 --epochs 4 --to raw -q \
		2>err >pipe || code=$?
	wait
	same $code 3
	holds "$(cat err)" "00001-of-00006"
}

@test "a member that goes bad while it is read costs its records" {
	records r 0 150 20000
	tundish shard r -q -o set/r --compress gzip
	file=$(echo set/r*.tfrecord*)
	mkfifo pipe
	# the second member of three: records 53 to 105
	(read -r -n 1; printf '\377\377\377' | dd of=$file bs=1 seek=2500 conv=notrunc status=none; cat >got) <pipe &
	code=0
	tundish feed set --ops select:data --batch 1 --prefetch 1 --shuffle full --epochs 3 --memory 8M -j 3 --to raw \
		2>err >pipe || code=$?
	wait
	same $code 1
	holds "$(cat err)" "its gzip member is damaged, or has changed since it was listed"
	[ "$(wc -c <got)" -gt $((97 * 3 * 20000)) ]
	[ "$(wc -c <got)" -lt $((150 * 3 * 20000)) ]
}

# Two SequenceExamples and an Example: context label and len; lists ids, boxes (two floats a
# step), words.
make_sequences() {
	PYTHONPATH=$BATS_TEST_DIRNAME/.. python3 - <<'PY'
import struct
from records import field, frame, message, number

def ints(*values): return field(3, field(1, b"".join(number(v) for v in values)))
def floats(*values): return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
def text(value): return field(1, field(1, value))

def record(context, **lists):
    return message(context) + field(2, b"".join(
        field(1, field(1, name.encode()) + field(2, b"".join(field(1, v) for v in values)))
        for name, values in lists.items()))

with open("s.tfrecord", "wb") as out:
    out.write(frame(record({"label": 5, "len": 3}, ids=[ints(7), ints(8), ints(9)],
                           boxes=[floats(1, 2), floats(3, 4)], words=[text(b"ab"), text(b"c")])))
    out.write(frame(record({"label": 6, "len": 1}, ids=[ints(4)], boxes=[], words=[text(b"xyz")])))
    out.write(frame(message({"label": 7, "len": 0})))
with open("bad.tfrecord", "wb") as out:
    out.write(frame(record({"label": 1}, ids=[ints(1), ints(2)], boxes=[floats(1, 2)])))
    out.write(frame(record({"label": 2}, ids=[ints(1), text(b"x")], boxes=[floats(1, 2)])))
    out.write(frame(record({"label": 3}, ids=[ints(1)], boxes=[floats(1, 2), floats(3)])))
PY
}

# The arrays of a batch: shape and numbers, a line each.
arrays() {
	python3 - "$1" <<'PY'
import ast, struct, sys
data, at = open(sys.argv[1], "rb").read(), 0
while at < len(data):
    (n,) = struct.unpack_from("<H", data, at + 8)
    head = ast.literal_eval(data[at + 10:at + 10 + n].decode())
    at += 10 + n
    count = 1
    for side in head["shape"]:
        count *= side
    code = {"<i8": "q", "<f4": "f", "|u1": "B"}[head["descr"]]
    print(*head["shape"], ":", *struct.unpack_from(f"<{count}{code}", data, at))
    at += count * int(head["descr"][2:])
PY
}

@test "select: lists of SequenceExamples beside their context" {
	make_sequences
	for threads in 1 3; do
		tundish feed s.tfrecord --ops "select:ids,boxes,words,len,label" --batch 3 --to npy -q -j $threads >out.npy
		same "$(arrays out.npy)" "3 3 : 7 8 9 4 0 0 0 0 0
3 : 3 1 0
3 2 2 : 1.0 2.0 3.0 4.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0
3 : 2 0 0
3 2 3 : 97 98 0 99 0 0 120 121 122 0 0 0 0 0 0 0 0 0
3 2 : 2 1 3 -1 -1 -1
3 : 3 1 0
3 : 5 6 7"
	done
	gzip -k s.tfrecord
	tundish feed s.tfrecord.gz --ops "select:ids,boxes,words,len,label" --batch 3 --to npy -q >zip.npy
	cmp out.npy zip.npy
	run_split 1 feed s.tfrecord --ops "select:ids=3" --batch 3 --to npy
	holds "$stderr" "s.tfrecord: record 1 at byte "
	holds "$stderr" "list ids has 1 steps, wanted are 3"
	holds "$stderr" "list ids is missing"
	tundish feed s.tfrecord --limit 1 --ops "select:ids=3,boxes=2" --to npy -q >out.npy
	same "$(arrays out.npy)" "1 3 : 7 8 9
1 2 2 : 1.0 2.0 3.0 4.0"
	run_split 1 feed bad.tfrecord --ops "select:ids,boxes,label" --to null
	holds "$stderr" "step 1 of list ids is bytes, wanted is int64"
	holds "$stderr" "step 1 of list boxes has 1 values, wanted are 2"
	run_split 2 feed s.tfrecord --ops "select:nothing" --to null
}

# big/: 3 photographs as 40 frames of 8 groups, and twins of it in gzip members of ours
make_twins() {
	photos=("$DATA"/photos/*/*.jpg)
	mkdir -p in/x in/y
	for i in {0..39}; do
		cp "${photos[i % 23]}" "in/$([ $((i / 5 % 2)) = 0 ] && echo x || echo y)/v$((i / 5)).mp4.$(printf %06d $i).t$i.000000000.jpg"
	done
	tundish convert -q in -o big/s --shards 3 --order keep 2>/dev/null
	tundish shard -q big -o zip/s --shards 3 --group-by group --compress gzip 2>/dev/null
	tundish shard -q big -o plain/s --shards 3 --group-by group 2>/dev/null
}

@test "gzip members of ours: samplers, mixes and clips give the batches of plain files" {
	make_twins
	for more in "--sampler stratified:label" "--sampler weighted:label,table=weights --epochs 2" "--shuffle full" \
		"--shuffle shards+block:7 -j 5" "--rank 1 --world 2 --uneven pad --last pad" \
		"--ops clip:2/resize:8" "--ops clip:2,stride=2/resize:8/hflip --shuffle full --epochs 2 -j 7" \
		"--sampler stratified:label,equal --ops clip:3/resize:8" "--start 0:0:8"; do
		printf '0=3\n1=1\n' >weights
		args=()
		for word in $more; do
			[[ $word == clip* ]] && word=${word//\// }
			args+=("$word")
		done
		[[ $more == *--ops* ]] || args+=(--ops "resize:8 hflip")
		same "$(tundish feed zip "${args[@]}" --batch 4 --to hash -q)" "$(tundish feed plain "${args[@]}" --batch 4 --to hash -q)"
	done
	for more in "" "--shuffle full -j 5 --epochs 2" "--min-per-source 1 --rank 1 --world 2 --uneven keep" "--memory 16M"; do
		for mix in "plain plain" "zip zip" "zip plain"; do
			tundish feed --mix "a=${mix% *}:3" --mix "b=${mix#* }:1" --ops "resize:8 hflip" --batch 6 --to hash -q $more
		done >sums
		same "$(sort -u sums | wc -l)" 1
		for mix in "plain plain" "zip zip" "zip plain"; do
			tundish feed --mix "a=${mix% *}:3" --mix "b=${mix#* }:1" --ops "clip:2 resize:8" --batch 6 --to hash -q $more
		done >sums
		same "$(sort -u sums | wc -l)" 1
	done
}

@test "samplers and mixes are not of streams: exit 2, and the way out" {
	tundish convert -q "$DATA/photos" -o set/s --shards 1
	gzip -c set/s-train* >s.gz
	for more in "--sampler stratified:label" "--sampler weighted:label"; do
		for from in s.gz -; do
			run_split 2 feed $from $more --ops resize:8 --to null <s.gz
			same "$output" ""
			holds "$stderr" "a sampler needs the labels of all records before the first batch, and records that can be"
			holds "$stderr" '"tundish shard" makes such a set'
		done
	done
	for mix in "a=s.gz:1" "a=-:1"; do
		run_split 2 feed --mix "$mix" --mix b=set:1 --ops resize:8 --to null <s.gz
		holds "$stderr" "a mix deals out as many records as each source has"
		holds "$stderr" '"tundish shard" makes such a set'
	done
	make_twins
	gzip -c big/s-train*00000-of* >frames.gz
	run_split 2 feed frames.gz --ops "clip:2 resize:8" --to null
	holds "$stderr" "a clip of several records needs records that can be found by position"
	tundish shard -q s.gz -o way/s --compress gzip --shards 1
	tundish feed --mix a=way:1 --mix b=set:1 --ops resize:8 --to null -q
}

@test "mixup belongs to a number of ranks, and so does its cursor" {
	tundish convert -q "$DATA/photos" -o set/s --shards 1
	ops="resize:8 one_hot:9 mixup:0.4"
	tundish feed set --ops "$ops" --batch 8 --to raw -q --cursor c >whole
	same "$(cat c)" 0:1:0:1
	tundish feed set --ops "$ops" --batch 8 --to raw -q --start 0:0:24:1 -j 5 >rest
	[ -s rest ]
	cmp rest <(tail -c "$(stat -c %s rest)" whole)
	run_split 2 feed set --ops "$ops" --batch 4 --to null --start 0:0:24:1 --rank 0 --world 2 --uneven keep
	holds "$stderr" "start belongs to 1 ranks, not 2: pictures are mixed within a rank's batch"
	run_split 2 feed set --ops "$ops" --batch 8 --to null --start 0:0:24:x
	run_split 2 feed set --ops "$ops" --batch 8 --to null --start 0:0:24:1:1
	# without it ranks go on where one process was
	tundish feed set --ops resize:8 --batch 8 --to null -q --cursor d
	same "$(cat d)" 0:1:0
	for rank in 0 1; do
		tundish feed set --ops select:label --batch 4 --to raw -q --start 0:0:24 --rank $rank --world 2 --uneven keep
	done | od -An -td8 -v -w8 | sort -n >two
	tundish feed set --ops select:label --batch 8 --to raw -q --start 0:0:24 | od -An -td8 -v -w8 | sort -n | cmp - two
	tundish shard -q set -o many/s --shards 4
	tundish feed many --ops resize:8 --batch 4 --to null -q --rank 1 --world 2 --rank-by file --uneven keep --cursor f
	same "$(cat f)" 0:1:0:2
	run_split 2 feed many --ops resize:8 --to null --cursor f
	holds "$stderr" "start belongs to 2 ranks, not 1"
}

@test "--no-reshuffle: the order of the first epoch in all of them" {
	ids() { tundish feed "$@" --ops select:id --to raw -q | od -An -td8 -v -w720; }
	records r-1 0 30
	records r-2 30 60
	gzip -c r-1 >z-1
	gzip -c r-2 >z-2
	for order in full block:7 buffer:9 shards+buffer:5+batch:4 shards; do
		mapfile -t epochs < <(ids 'r-*' --batch 90 --epochs 3 --shuffle $order --no-reshuffle)
		same "${#epochs[@]}" 3
		same "${epochs[1]}" "${epochs[0]}"
		same "${epochs[2]}" "${epochs[0]}"
		same "${epochs[0]}" "$(ids 'r-*' --batch 90 --shuffle $order)"
	done
	for order in buffer:9 shards+buffer:5; do
		same "$(ids 'z-*' --batch 90 --epochs 2 --shuffle $order --no-reshuffle)" \
			"$(ids 'r-*' --batch 90 --epochs 2 --shuffle $order --no-reshuffle)"
	done
	for who in "--sampler stratified:label" "--mix a=r-1:1 --mix b=r-2:1"; do
		# shellcheck disable=SC2086
		run_split 2 feed $([[ $who = --mix* ]] || echo r-1) $who --no-reshuffle --ops select:label --to null
		holds "$stderr" "no-reshuffle does not go with"
	done
	run_split 2 feed z-1 --shuffle full --ops select:id --to null
	for way in buffer:N block:N '"tundish shard"'; do
		holds "$stderr" "$way"
	done
}
