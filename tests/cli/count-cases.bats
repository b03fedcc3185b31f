# SPDX-License-Identifier: BSD-2-Clause
# tundish count on files that other tools went wrong on; see golden/cases/ORIGIN.md.
load lib

CASES=$SOURCE/tests/golden/cases

@test "case 1: a file that ends early: whole records count, the cut one is named" {
	run_split 1 count "$CASES/01-truncated-payload/cut.tfrecord"
	same "$output" 4
	holds "$stderr" "cut.tfrecord: record 4 at byte 1032"
	holds "$stderr" "truncated (218 of 258 bytes present)"
}

@test "case 3: a flipped bit is found by --verify, and count says what it checked" {
	f=$CASES/03-payload-bitflip/flip.tfrecord
	run_split 1 count --verify "$f"
	same "$output" 4
	holds "$stderr" "flip.tfrecord: record 2 at byte 516: data checksum mismatch"
	run_split 0 count --json "$f"
	same "$(jq -c '[.records,.faults,.checked]' <<<"$output")" '[5,0,"length"]'
	run_split 1 count --json --verify "$f"
	same "$(jq -c '[.records,.faults,.checked]' <<<"$output")" '[4,1,"full"]'
}

@test "case 3: --on-error fail stops at the first fault" {
	run_split 1 count --verify --on-error fail "$CASES/03-payload-bitflip/flip.tfrecord"
	same "$output" ""
	holds "$stderr" "flip.tfrecord: record 2 at byte 516: data checksum mismatch"
}

@test "case 5: what is no TFRecord file is named for what it is" {
	d=$CASES/05-not-a-tfrecord
	while read -r name reason; do
		run_split 1 count "$d/$name.tfrecord"
		same "$output" 0
		holds "$stderr" "$name.tfrecord: not a TFRecord file: $reason"
	done <<-END
		lfs-pointer git-lfs pointer: the data was never downloaded
		error-page HTML page
		denied XML error
		picture JPEG image
		few-bytes too short to hold a record
	END
	run_split 1 count --per-file "$d"
	same "${lines[5]}" 0
	same "${#stderr_lines[@]}" 5
}

@test "case 11: empty files are fine, and --verify says that they are empty" {
	d=$CASES/11-empty-file
	run_split 0 count "$d/empty.tfrecord"
	same "$output" 0
	same "$stderr" ""
	run_split 0 count --verify "$d/empty.tfrecord"
	holds "$stderr" "empty.tfrecord: holds no records"
	run_split 0 count --verify "$d/zero-bytes.tfrecord.gz"
	holds "$stderr" "not gzip data (empty file)"
}

@test "case 12: records of length 0 are records" {
	d=$CASES/12-zero-length-record
	run_split 0 count --verify "$d/with-empty.tfrecord"
	same "$output" 3
	run_split 0 count "$d/only-empty.tfrecord"
	same "$output" 1
}

@test "case 14: wrong kinds of checksum are named, and --crc off counts them" {
	d=$CASES/14-wrong-crc-kind
	while read -r name reason; do
		run_split 1 count --verify "$d/$name.tfrecord"
		same "$output" 0
		holds "$stderr" "$name.tfrecord: record 0"
		holds "$stderr" "checksum is $reason"
		run_split 0 count --crc off "$d/$name.tfrecord"
		same "$output" 3
	done <<-END
		crc-unmasked unmasked
		crc-zero 0
		crc-zlib-masked CRC-32 where CRC-32C is due
		only-data-crc-zero 0
	END
}

@test "case 15: the damaged shard of a set is named, the others count" {
	d=$CASES/15-which-shard
	run_split 1 count --verify --per-file "$d"
	same "$(cut -f 1 <<<"$output" | xargs)" "3 3 2 3 11"
	same "${#stderr_lines[@]}" 1
	holds "$stderr" "train-00002-of-00004: record 1 at byte 258: data checksum mismatch"
}

@test "case 18: values of a feature: a list, an empty one, none" {
	run_split 0 count --by label --json "$CASES/18-empty-lists/a.tfrecord"
	same "$(jq -c '[.by.values[]|[.value,.records]]' <<<"$output")" '[["",2],["1,1,1",1]]'
	same "$(jq -c '[.records,.by.without_value]' <<<"$output")" '[5,2]'
}

@test "values are in order: numbers ascending, then text" {
	run_split 0 count --by v "$CASES/23-int64-edges/a.tfrecord"
	holds "$output" "-1,0,-9223372036854775808,9223372036854775807"
	run_split 0 count --by label "$CASES/21-type-differs"
	same "$(cut -f 2 <<<"$output" | xargs)" "0 0.0 1 1.0 6"
	run_split 0 count --by image/filename "$CASES/26-odd-bytes-values/a.tfrecord"
	holds "${lines[0]}" "café/猫.jpg"
}

@test "the same output and messages for any number of threads" {
	for j in 1 2 3 8 99; do
		"$TUNDISH" count --verify --per-file --by label --json -j $j "$CASES"/{01,03,05,12,14,15,18,21}-*/ \
			>json.$j 2>err.$j || [ $? = 1 ]
		cmp json.1 json.$j
		cmp err.1 err.$j
	done
	[ "$(wc -l <err.1)" -gt 10 ]
}

@test "side-cars are hints: believed when they fit, unseen with --trust" {
	tundish convert -q "$DATA/photos" -o a/p --shards 3
	run_split 0 count --cardinality a
	same "$output" 46
	run_split 0 count --cardinality --json --per-file a
	json '{f["source"] for f in j["files"]} == {"tundish.json"} and j["cardinality"] == 46'
	rm a/tundish.json
	run_split 0 count --cardinality --json --per-file a
	json '{f["source"] for f in j["files"]} == {"index"}'
	rm -r a/index
	run_split 0 count --cardinality a
	same "$output" -2
	run_split 0 count --cardinality --trust --json --per-file a
	json '{f["source"] for f in j["files"]} == {"dataset_info.json"} and j["cardinality"] == 46'
	rm a/dataset_info.json
	run_split 0 count --trust --json --per-file a
	json '{f["source"] for f in j["files"]} == {"read"} and j["records"] == 46'
	cp a/p-train.tfrecord-00000-of-00003 t_00000123.tfrecord
	run_split 0 count --trust t_00000123.tfrecord
	same "$output" 123
	run_split 2 count --trust --verify a
}

@test "side-cars that do not fit are named and ignored" {
	tundish convert -q "$DATA/photos" -o a/p --shards 2
	f=a/p-train.tfrecord-00001-of-00002
	n=$(tundish count $f)
	cp $f more
	cat more >>$f
	run_split 0 count --cardinality a
	same "$output" -2
	holds "$stderr" "tundish.json does not fit $f"
	holds "$stderr" "p-train.tfrecord-00001-of-00002.idx does not fit $f"
	run_split 0 count $f
	same "$output" $((2 * n))
	cp more $f
	sed -i "s/\\(00001-of-00002.*\"records\":\)$n/\\1$((n + 1))/; s/\"records\":$n,\\(.*\)/\"records\":$((n + 1)),\\1/" a/tundish.json
	run_split 0 count $f
	same "$output" $n
	holds "$stderr" "$f: holds $n good records, tundish.json says $((n + 1))"
}

@test "case 16: an index that does not fit changes nothing" {
	d=$CASES/16-stale-index
	for f in "$d"/*.tfrecord*; do
		case $f in *.idx) continue ;; esac
		tundish count "$f" 2>/dev/null
	done | xargs >counts
	same "$(cat counts)" "3 5"
	run_split 0 count --cardinality "$d/a.tfrecord"
	same "$output" -2
	holds "$stderr" "does not fit"
}

@test "--estimate: small sets are counted, large ones within their bound" {
	tundish convert -q "$DATA/photos" -o a/p --shards 1
	run_split 0 count --estimate --json a
	json 'j["records"] == 46 and j["error_bound"] == 0'
	for i in $(seq 220); do cat a/p-train*; done >large.tfrecord
	run_split 0 count --estimate --json --per-file large.tfrecord
	json 'j["files"][0]["source"] == "estimate" and 0 < j["error_bound"] < 1500'
	json 'abs(j["records"] - 220 * 46) <= j["error_bound"]'
	same "$(tundish count --estimate -j 1 large.tfrecord 2>&1)" "$(tundish count --estimate -j 9 large.tfrecord 2>&1)"
}

@test "cases 6, 7, 8: compression is told by content, on files and streams" {
	run_split 0 count --verify "$CASES"/06-gzip-no-suffix
	same "$output" 5
	run_split 0 inspect "$CASES"/06-gzip-no-suffix
	holds "$output" "GZIP"
	run_split 0 count --verify "$CASES"/07-plain-named-gz
	same "$output" 5
	holds "$stderr" "is not compressed, though its name says so"
	same "${#stderr_lines[@]}" 1
	for f in "$CASES"/08-zlib-stream/* "$CASES"/06-gzip-no-suffix/*; do
		run_split 0 count --verify "$f"
		same "$output" 5
		same "$stderr" ""
		same "$(cat "$f" | "$TUNDISH" count -)" 5
		same "$("$TUNDISH" inspect --json - <"$f" | jq .records)" 5
	done
}

@test "--input-compression overrides what the content tells" {
	run_split 0 count --input-compression gzip "$CASES"/06-gzip-no-suffix/*
	same "$output" 5
	run_split 1 count --input-compression none "$CASES"/06-gzip-no-suffix/*
	same "$output" 0
	holds "$stderr" "not a TFRecord file"
	run_split 1 count --input-compression zlib "$CASES"/07-plain-named-gz/*
	same "$output" 0
	holds "$stderr" "no compressed data"
	usage_error count --input-compression lzma "$CASES"/07-plain-named-gz/*
}

@test "case 10: of damaged compressed files all whole records count" {
	while read -r name records reason; do
		run_split 1 count --verify "$CASES/10-truncated-gzip/$name.tfrecord.gz"
		same "$output" "$records"
		holds "$stderr" "$name.tfrecord.gz: record $records"
		holds "$stderr" "$reason"
	done <<-END
		cut 4 compressed data ends early
		no-trailer 8 compressed data ends early
		bad-gzip-crc 8 gzip checksum mismatch
	END
}

@test "fixtures: damage is passed over, and said; plain count looks at lengths alone" {
	needs_shared
	d=$SHARED/fixtures/tfrecord
	while read -r name code full plain; do
		run_split "$code" count --verify "$d/$name.tfrecord"
		same "$output" "$full"
		[ "$code" = 0 ] || holds "$stderr" "$name.tfrecord: "
		run --separate-stderr tundish count "$d/$name.tfrecord"
		same "$output" "$plain"
	done <<-END
		all-none 0 8 8
		all-gzip 0 8 8
		all-zlib 0 8 8
		all-snappy 0 8 8
		snappy-large-block 0 8 8
		bad-payload-crc 1 7 8
		bad-length 1 7 7
		truncated-payload 1 7 7
		truncated-header 1 7 7
		garbage-tail 1 8 8
		not-tfrecord 1 0 0
		empty 0 0 0
	END
}
