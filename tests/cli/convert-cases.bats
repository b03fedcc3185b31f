# SPDX-License-Identifier: BSD-2-Clause
# tundish convert on inputs that tools of this kind failed on; the number is the case's.
load lib.bash
CASES=$SOURCE/tests/golden/cases

case_in() {
	echo "$CASES"/"$1"-*/"${2:-in}"
}

@test "28: classes in byte order under any locale" {
	for locale in C en_US.UTF-8 de_DE.UTF-8; do
		rm -rf out
		LC_ALL=$locale run_split 0 convert "$(case_in 28)" -o out/x
		same "$(tr '\n' '|' <out/label.labels.txt)" "1|10|2|B|Zebra|a b|a-b|apple|äpfel|"
	done
}

@test "29: litter is left out, other files are counted" {
	run_split 0 convert "$(case_in 29)" -o out/x
	holds "$output" "4 written, 0 bad, 2 other files left out"
	same "$(cat out/label.labels.txt)" $'cat\ndog'
	same "$stderr" "$(printf '%s' "$stderr" | tail -n 1)"
}

@test "31: class lists from an editor" {
	for list in blank-last-line bom crlf no-final-newline trailing-space; do
		rm -rf out
		run_split 0 convert "$(case_in 31)" -o out/x --class-list "$(case_in 31 $list.txt)"
		same "$(cat out/label.labels.txt)" $'cat\ndog\nbird'
	done
	rm -r out
	run_split 0 convert "$(case_in 31)" -o out/x --class-list "$(case_in 31 unknown-class.txt)"
	holds "$stderr" '"fish" has no items'
	rm -r out
	usage_error convert "$(case_in 31)" -o out/x --class-list "$(case_in 31 duplicate.txt)"
	holds "$stderr" "line 3"
	usage_error convert "$(case_in 31)" -o out/x --class-list "$(case_in 31 class-left-out.txt)"
	holds "$stderr" bird
}

@test "33: content decides, not one byte is changed" {
	TUNDISH_MODULES=$T run_split 1 convert "$(case_in 33)" -o out/x --keys slim
	holds "$output" "9 found: 3 written, 6 bad"
	for kind in BMP GIF TIFF WebP; do
		holds "$stderr" "$kind is not supported: the pictures module is missing"
	done
	holds "$stderr" "html-named.jpg: no known format"
	holds "$stderr" "text-named.png: no known format"
	run_split 0 count out --by image/format
	same "$output" $'2\tjpeg\n1\tpng\n3'
	python3 - "$(case_in 33)/c" out/x-* <<'PY'
import pathlib, sys
kept = pathlib.Path(sys.argv[2]).read_bytes()
for name in ("png-named.jpg", "jpeg-named.png", "no-extension"):
    assert (pathlib.Path(sys.argv[1]) / name).read_bytes() in kept, name
PY
}

@test "34: broken pictures among good ones" {
	run_split 1 convert "$(case_in 34)" -o out/x
	holds "$output" "6 written, 3 bad"
	holds "$stderr" "4.jpg: empty file"
	holds "$stderr" "6.jpg: no known format"
	holds "$stderr" "7.jpg: JPEG header is cut"
	rm -r out
	run_split 1 convert "$(case_in 34)" -o out/x --on-error fail
	same "$(ls -A)" ""
}

@test "35: suffixes in any case; content is looked at" {
	run_split 0 convert "$(case_in 35)" -o out/x
	holds "$output" "10 found: 10 written, 0 bad"
}

@test "37: a pipe with a picture's name is named and never opened" {
	cp -r "$(case_in 37)" in
	mkfifo in/c/pipe.png
	run timeout 5 "$TUNDISH" convert in -o out/x
	same "$status" 0
	holds "$output" "in/c/pipe.png: not a regular file"
	holds "$output" "1 written"
	run timeout 5 "$TUNDISH" convert in/c/pipe.png -o out2/x
	same "$status" 2
}

@test "39: names in another Unicode form" {
	run_split 0 convert "$(case_in 39 img)" -o out/x --labels "csv:$(case_in 39 labels.csv)"
	holds "$output" "2 written"
	holds "$stderr" "matched after Unicode normalisation"
}

@test "40: same names in two folders stay apart" {
	run_split 0 convert "$(case_in 40)" -o out/x
	run_split 0 count out --by filename
	same "$(printf '%s\n' "${lines[@]}" | cut -f2)" "$(printf '%s\n' cat/0.jpg cat/0.png cat/1.png cat/sub/0.png \
		dog/0.png dog/1.png dog/copy-of-cat-0.png 7)"
}

@test "42: nothing usable, with a hint" {
	mkdir empty
	run_split 3 convert empty -o out/x
	holds "$stderr" "no pictures below empty (0 files looked at)"
	run_split 3 convert "$(case_in 42 only-text)" -o out/x
	holds "$stderr" "(1 files looked at, 1 left out: .txt)"
	same "$(ls -A)" empty
	run_split 0 convert "$(case_in 42 flat)" -o out/x
	holds "$stderr" "no class folders, the records have no label"
	run_split 0 convert "$(case_in 42 one-level-too-deep)" -o out2/x
	holds "$stderr" "class folders test, train hold only folders"
}

@test "47: fewer records than shards" {
	run_split 0 convert "$(case_in 47)" -o out/x --shards 10
	same "$(ls out | grep -c -- '-of-00010$')" 10
	same "$(find out -name '*-of-00010' -size 0 | wc -l)" 7
	holds "$stderr" "10 shards for 3 records: 7 hold none"
	run_split 0 count out
	same "$output" 3
	mkdir -p none/c0
	touch none/c0/.keep
	run_split 3 convert none -o out2/x --shards 10
	[ ! -e out2 ]
}

@test "49: disk full" {
	(ulimit -f 64 && trap '' XFSZ && run_split 3 convert "$(case_in 49)" -o out/x && same "$(ls -A)" "" &&
		holds "$stderr" x-train.tfrecord-00000-of-00001)
	if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
		run_split 3 convert "$(case_in 49)" -o small/out/x
		left=$(ls -A small)
		umount small
		same "$left" ""
		holds "$stderr" "No space left on device"
	fi
}

@test "49: a full device behind standard output" {
	run -3 bash -c '"$1" convert "$2" -o - >/dev/full' - "$TUNDISH" "$(case_in 49)"
	holds "$output" "No space left on device"
}

@test "side-cars that are used are no files left out, by number and by kind" {
	mkdir in
	cp "$DATA/photos/cat/cat_00.jpg" in/a.jpg
	cp "$DATA/photos/cat/cat_02.jpg" in/b.jpg
	echo '{"label": "x"}' | tee in/a.json >in/b.json
	echo >in/notes.txt
	echo >in/make.sh
	run_split 0 convert in --labels json -o out/x
	holds "$output" "2 other files left out (.txt .sh)" || holds "$output" "2 other files left out (.sh .txt)"
	echo '{}' >in/c.json
	run_split 0 convert in --labels json -o again/x
	holds "$output" "3 other files left out"
	holds "$output" .json
	rm in/notes.txt in/make.sh in/c.json
	run_split 0 convert in --labels json -o third/x
	holds "$output" "2 found: 2 written, 0 bad"
	[[ "$output" != *"left out"* ]]
}

@test "72: stray bytes in JPEG files are kept, and do no harm" {
	in=$(case_in 72)
	for check in header structure decode; do
		rm -rf out
		run_split 1 convert "$in" -o out/x --check $check
		holds "$output" "6 found: 5 written, 1 bad"
		holds "$stderr" "c/junk-before-soi.jpg: no known format"
		for name in fill-bytes junk-after-eoi junk-before-dqt junk-before-eoi thumb-then-full; do
			[ "$(printf '%s\n' "$stderr" | grep -c "$name")" -le 1 ]
		done
	done
	run_split 0 inspect out/x-train* --extract got
	for name in fill-bytes junk-after-eoi junk-before-dqt junk-before-eoi thumb-then-full; do
		sha256sum <"$in/c/$name.jpg"
	done | sort >want
	find got -name '*.jp*g' -exec sh -c 'sha256sum <"$1"' sh {} \; | sort | diff want -
	# all five are the pixels of the clean one, and its label, -1 or 0, behind them
	"$TUNDISH" convert "$(dirname "$in")/clean.jpg" -o - --labels none 2>/dev/null >clean.rec
	"$TUNDISH" feed clean.rec --to raw 2>/dev/null >clean
	"$TUNDISH" feed out/x-train* --to raw --batch 1 2>/dev/null >all
	python3 - <<'PY'
size = 96 * 128 * 3
clean, data = open("clean", "rb").read()[:size], open("all", "rb").read()
assert len(data) == 5 * (size + 8)
assert all(data[i:i + size] == clean for i in range(0, len(data), size + 8))
PY
}

@test "a table that is named as a source is told what it is for" {
	run_split 3 convert "$DATA/table/photos.csv" -o out/x
	holds "$stderr" "a table is no item: its files are the sources, with --labels csv:photos.csv"
	[ ! -e out ]
}
