# SPDX-License-Identifier: BSD-2-Clause
# tundish convert from streams that hold more than pictures.
load lib.bash

setup() {
	[ -e "$TUNDISH_MODULES/archive.so" ] || skip "built without libarchive"
	T=$BATS_TEST_TMPDIR/t
	mkdir "$T"
	cd "$T" || return 1
}

make() {
	python3 "$BATS_TEST_DIRNAME/mkarchives.py" "$@"
}

# A folder and a tar with every kind of source that this build reads.
everything() {
	mkdir mix
	cp -r "$DATA/arrays" "$DATA/pictures" mix/
	rm -f mix/*/make*
	[ ! -e "$TUNDISH_MODULES/hdf5.so" ] || cp "$DATA/hdf5/shapes.h5" mix/
	[ ! -e "$TUNDISH_MODULES/video.so" ] || cp "$DATA/video/clip.mp4" mix/
	[ -e "$TUNDISH_MODULES/video.so" ] || rm -r mix/pictures
	tar --sort=name -cf mix.tar -C mix .
	gzip -k mix.tar
}

@test "a stream takes every kind of source, and gives what the listed archive gives" {
	everything
	run_split 0 convert mix.tar -o listed/x --labels none --order keep
	for threads in 1 2 3 8 99; do
		run_split 0 convert mix.tar.gz -o t$threads/x --shards 1 --labels none --order keep -j $threads
		cmp listed/x-train* t$threads/x-train*
	done
	run_split 0 convert - -o pipe/x --shards 1 --labels none --order keep --memory 16M <mix.tar
	cmp listed/x-train* pipe/x-train*
	# in the drawn order for any number of threads
	for threads in 1 3 8; do
		run_split 0 convert mix.tar.gz -o s$threads/x --shards 3 --labels none --memory 64M -j $threads
		cmp s1/x-train.tfrecord-00002-of-00003 s$threads/x-train.tfrecord-00002-of-00003
	done
}

@test "a split or a shard never parts what comes from one file of a stream" {
	[ -e "$TUNDISH_MODULES/hdf5.so" ] || skip "built without HDF5"
	mkdir in
	for i in $(seq 9); do
		cp "$DATA/arrays/lamp.spe" "in/lamp$i.spe"
	done
	tar --sort=name -cf in.tar -C in .
	run_split 0 convert - -o out/x --shards 2 --split a=.67,b=.33 --labels none <in.tar
	run_split 0 count out/x-a.* --by group
	a=$(printf '%s\n' "$output" | grep lamp)
	run_split 0 count out/x-b.* --by group
	b=$(printf '%s\n' "$output" | grep lamp)
	same "$(printf '%s\n%s\n' "$a" "$b" | sort -k 2)" "$(for i in $(seq 9); do printf '4\tlamp%s.spe\n' "$i"; done)"
	same "$(printf '%s\n' "$a" | wc -l)" 6
	run_split 0 convert - -o keep/x --shards 4 --order keep --labels none <in.tar
	for shard in keep/x-train*; do
		run_split 0 count "$shard" --by group
		[ -z "$(printf '%s\n' "$output" | grep lamp | grep -v ^4)" ]
	done
	run_split 0 convert - -o item/x --shards 1 --split a=.5,b=.5 --split-by item --labels none <in.tar
	run_split 0 count item/x-a.*
	same "$output" 18
}

@test "an ENVI header and its numbers find each other, whichever comes first" {
	cp "$DATA"/arrays/field.* .
	mv field.img Field.IMG
	run_split 0 convert field.hdr -o - >/dev/null
	"$TUNDISH" convert field.hdr -o one.rec 2>/dev/null || true
	for order in "field.hdr Field.IMG" "Field.IMG field.hdr" "field.hdr $BATS_TEST_DIRNAME/lib.bash Field.IMG"; do
		rm -rf a.tar listed stream
		# shellcheck disable=SC2086
		tar --transform='s|.*/||' -Pcf a.tar $order
		run_split 0 convert a.tar -o listed/x --shards 1 --labels none
		holds "$output" "1 written, 0 bad"
		run_split 0 convert - -o stream/x --shards 1 --labels none <a.tar
		holds "$output" "1 written, 0 bad"
		run_split 0 inspect listed/x-train* --extract l
		run_split 0 inspect stream/x-train* --extract s
		cmp l/* s/*
		rm -rf l s
	done
	# each of several names it might have
	mkdir both
	cp field.hdr both/
	cp Field.IMG both/field.img
	head -c 100 Field.IMG >both/field
	tar -cf b.tar -C both field field.hdr field.img
	run_split 0 convert b.tar -o right/x --labels none
	holds "$output" "1 written, 0 bad, 1 other file left out"
	# none
	tar -cf none.tar field.hdr
	run_split 3 convert none.tar -o no/x --labels none
	holds "$stderr" "none.tar/field.hdr: no data file beside the ENVI header: looked for field, .img"
	run_split 3 convert - -o no/x --shards 1 --labels none <none.tar
	holds "$stderr" "-/field.hdr: byte 0: no data file in the archive for the ENVI header"
	# numbers that come first wait in memory, those behind the header need none
	python3 - <<'PY'
head = "ENVI\nsamples = 1000\nlines = 1000\nbands = 4\ndata type = 1\ninterleave = bsq\nbyte order = 0\n"
open("big.hdr", "w").write(head)
open("big.img", "wb").write(b"\7" * 4000000)
PY
	tar -cf first.tar big.img big.hdr
	tar -cf behind.tar big.hdr big.img
	run_split 3 convert - -o no/x --shards 1 --labels none --memory 16M <first.tar
	holds "$stderr" "(--memory)"
	run_split 0 convert - -o first/x --shards 1 --labels none --memory 64M <first.tar
	run_split 0 convert - -o behind/x --shards 1 --labels none --memory 16M <behind.tar
	cmp first/x-train* behind/x-train*
	[ ! -e no ]
}

@test "an archive that begins with a Radiance picture is an archive" {
	tar -cf a.tar -C "$DATA/arrays" sky.hdr lamp.spe
	run_split 0 convert a.tar -o out/x --labels none
	holds "$output" "5 written"
}

@test "a table gives a stream its labels by the members' names" {
	make tar a.tar
	printf 'file,label,score,who\ncat/1.png,one,1.5,a\n./dog/2.png,two,2.5,b\ndog/0.png,one,3,a\n' >t.csv
	run_split 0 convert a.tar -o listed/x --labels csv:t.csv --columns score,who --group-by who
	run_split 0 convert - -o out/x --shards 2 --labels csv:t.csv --columns score,who --group-by who <a.tar
	holds "$output" "3 written, 0 bad, 3 other files left out (.png)"
	same "$(cat out/label.labels.txt)" $'one\ntwo'
	run_split 0 count out --by label
	same "$output" $'2\t0\n1\t1\n3'
	run_split 0 inspect out --schema
	for line in 'score +float' 'who +bytes' 'group +bytes'; do
		[[ $output =~ $line ]]
	done
	cmp listed/features.json out/features.json
	run_split 2 convert - -o no/x --shards 1 --labels csv:t.csv --columns nothing <a.tar
	holds "$stderr" 'no column "nothing" in t.csv'
	# numbers need no classes
	printf 'file,label\ncat/1.png,7\ndog/2.png,-2\n' >n.csv
	run_split 0 convert - -o n/x --shards 1 --labels csv:n.csv <a.tar
	run_split 0 count n --by label
	same "$output" $'1\t-2\n1\t7\n2'
	[ ! -e n/label.labels.txt ]
	# rows without a file, or twice, or without a label
	printf 'file,label\ncat/1.png,one\nno/such.png,one\n\ncat/1.png,two\ncat/2.png,\n' >bad.csv
	run_split 1 convert - -o bad/x --shards 1 --labels csv:bad.csv <a.tar
	holds "$stderr" "bad.csv: line 3: no such file: no/such.png"
	holds "$stderr" "bad.csv: line 5: names a file that line 2 has named"
	holds "$stderr" "-/cat/2.png: its row has no label"
	holds "$output" "1 written, 3 bad"
	printf 'one\n' >list
	run_split 2 convert - -o no/x --shards 1 --labels csv:t.csv --class-list list <a.tar
	holds "$stderr" 't.csv: line 3: class "two" is not in the class list list'
	printf 'two\none\n' >list
	run_split 0 convert - -o order/x --shards 1 --labels csv:t.csv --class-list list <a.tar
	same "$(cat order/label.labels.txt)" $'two\none'
	# with a listed source in one call
	make tar b.tar
	gzip a.tar
	run_split 0 convert b.tar a.tar.gz -o two/x --shards 1 --labels csv:t.csv
	holds "$output" "6 written"
	[ ! -e no ]
}

@test "names of a table in another Unicode form are found in a stream" {
	python3 - <<'PY'
import io, tarfile, unicodedata
with tarfile.open("a.tar", "w") as tar:
    data = open("/dev/null", "rb").read()
    data = bytes.fromhex("89504e470d0a1a0a") + b""
    import zlib, struct
    def chunk(k, d):
        return struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d))
    data += chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(b"\0\1")) + chunk(b"IEND", b"")
    info = tarfile.TarInfo("caf\u00e9.png")
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))
open("t.csv", "w").write(unicodedata.normalize("NFD", "file,label\ncaf\u00e9.png,3\n"))
PY
	run_split 0 convert - -o out/x --shards 1 --labels csv:t.csv <a.tar
	holds "$stderr" "1 names matched after Unicode normalisation"
	run_split 0 count out --by label
	same "$output" $'1\t3\n1'
}

@test "labels of side-cars in archives, listed and streamed" {
	make groups g.tar 12
	for source in g.tar -; do
		rm -rf out
		run_split 0 convert $source -o out/x --shards 1 --labels json:label=id <g.tar
		run_split 0 count out --by label
		same "$(printf '%s\n' "$output" | wc -l)" 13
		rm -rf out
		printf 'p%s\n' $(seq 0 11) >list
		run_split 0 convert $source -o out/x --shards 1 --labels json:label=who --class-list list <g.tar
		cmp list out/label.labels.txt
		rm -rf out
		run_split 3 convert $source -o out/x --shards 1 --labels json <g.tar
		[ ! -e out ]
	done
	run_split 2 convert - -o out/x --shards 1 --labels json:label=who <g.tar
	holds "$stderr" "labels must be whole numbers"
}

@test "arrays in groups of members have the labels and features of their group" {
	mkdir in
	for i in 0 1 2; do
		cp "$DATA/arrays/field.hdr" "in/$i.hdr"
		cp "$DATA/arrays/field.img" "in/$i.img"
		printf '%s' $((i + 5)) >"in/$i.cls"
		printf '{"who": "w%s"}' "$i" >"in/$i.json"
		cp "$DATA/arrays/lamp.spe" "in/s$i.spe"
		printf '%s' $((i + 5)) >"in/s$i.cls"
	done
	tar --sort=name -cf in.tar -C in .
	run_split 0 convert - -o out/x --shards 1 <in.tar
	holds "$output" "15 written, 0 bad"
	run_split 0 count out --by label
	same "$output" $'5\t5\n5\t6\n5\t7\n15'
	run_split 0 count out --by who
	holds "$output" $'1\tw0\n1\tw1\n1\tw2'
}

@test "members of one name in a stream are all kept, and named" {
	make tar a.tar
	cp a.tar twice.tar
	mkdir x
	tar -C x -xf a.tar
	tar -rf twice.tar -C x cat/0.png dog/1.png
	run_split 0 convert - -o out/x --shards 1 --labels none <twice.tar
	holds "$output" "8 written"
	holds "$stderr" "-: 2 members have a name that another one has, first cat/0.png: all are kept"
}

@test "what cannot be read of a stream is bad, the rest is kept" {
	mkdir in
	cp "$DATA/arrays/lamp.spe" in/a.spe
	head -c 4200 "$DATA/arrays/lamp.spe" >in/b.spe
	printf 'ENVI\nsamples = 3\n' >in/c.hdr
	printf 'xyz' >in/c.img
	cp "$DATA/arrays/sky.hdr" in/d.hdr
	tar --sort=name -cf in.tar -C in .
	run_split 1 convert - -o out/x --shards 1 --labels none <in.tar
	holds "$stderr" '-/c.hdr: ENVI header has no "lines"'
	holds "$output" "5 written"
	run_split 1 convert - -o no/x --shards 1 --labels none --on-error fail <in.tar
	[ ! -e no ]
	# without a module the member is no item, and the module is named
	if [ -e "$TUNDISH_MODULES/hdf5.so" ]; then
		mkdir modules
		cp "$TUNDISH_MODULES/archive.so" modules/
		tar -cf h.tar -C "$DATA/hdf5" shapes.h5
		TUNDISH_MODULES=modules run_split 3 convert - -o no/x --shards 1 --labels none <h.tar
		holds "$stderr" "tundish-hdf5"
		[ ! -e no ]
	fi
}

@test "damaged numbers of a group are bad in a stream, too" {
	python3 - "$DATA/arrays" <<'PY'
import sys, zipfile
with zipfile.ZipFile("a.zip", "w") as z:
    z.write(sys.argv[1] + "/field.hdr", "a.hdr")
    z.write(sys.argv[1] + "/field.img", "a.img")
    z.writestr("a.cls", "3")
pixels = open(sys.argv[1] + "/field.img", "rb").read()
data = bytearray(open("a.zip", "rb").read())
data[data.index(pixels) + len(pixels) // 2] ^= 1
open("bad.zip", "wb").write(data)
PY
	run_split 0 convert - -o good/x --shards 1 <a.zip
	holds "$output" "1 written, 0 bad"
	run_split 3 convert - -o no/x --shards 1 <bad.zip
	holds "$stderr" "-/a.hdr: ZIP bad CRC"
}

@test "archives below a folder are named, and read when they are sources" {
	make tar a.tar
	mkdir -p in/cat deep
	tar -C in -xf a.tar
	cp a.tar in/cat/
	gzip -k a.tar
	cp a.tar.gz in/
	run_split 0 convert in -o out/x
	holds "$output" "6 written, 0 bad, 2 other files left out (.gz .tar)"
	holds "$stderr" "in: 2 archives passed over, first in/a.tar.gz: name them as sources to read them"
	cp a.tar deep/
	run_split 3 convert deep -o no/x
	holds "$stderr" "deep: 1 archive passed over, first deep/a.tar"
	[ ! -e no ]
}

# peak ARG...: the most memory that the program has, in KiB
peak() {
	python3 - "$TUNDISH" "$@" <<'PY'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(__import__("os").environ, MALLOC_PERTURB_="0"))
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
PY
}

# What sanitizers take says nothing.
plain_build() {
	! ldd "$TUNDISH" | grep -q -E 'asan|tsan' || skip "a sanitizer's memory"
}

@test "members of an archive that are larger than memory are held once, and refused early" {
	plain_build
	python3 - <<'PY'
import zipfile
with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
    with z.open("a.jpg", "w") as f:
        f.write(b"\xff\xd8\xff")
        for i in range(256):
            f.write(bytes(1 << 20))
    with z.open("b.h5", "w") as f:
        f.write(b"\x89HDF\r\n\x1a\n")
        for i in range(256):
            f.write(bytes(1 << 20))
PY
	kib=$(peak convert a.zip -o - --labels none --memory 32M)
	[ "$kib" -lt $((320 * 1024)) ]
	kib=$(peak convert a.zip -o - --labels none --memory 32M --max-record 16M)
	[ "$kib" -lt $((64 * 1024)) ]
	kib=$(peak convert - -o - --labels none --memory 32M --max-record 16M <a.zip)
	[ "$kib" -lt $((64 * 1024)) ]
	run_split 3 convert a.zip -o no/x --labels none --max-record 16M
	holds "$stderr" "a.zip/a.jpg: 268435459 bytes, more than 16777216"
	run_split 3 convert - -o no/x --shards 1 --labels none --max-record 16M <a.zip
	holds "$stderr" "-/a.jpg: 268435459 bytes, more than 16777216"
}

@test "names and places are all that is held of a hundred thousand members" {
	plain_build
	make many a.zip 100000
	make groups g.tar 20000
	for source in a.zip g.tar; do
		kib=$(peak convert $source -o - --labels none --memory 16M)
		[ "$kib" -lt $((48 * 1024)) ]
	done
	kib=$(peak convert - -o - --labels none --memory 16M <g.tar)
	[ "$kib" -lt $((48 * 1024)) ]
}

@test "no room for a temporary file ends the run, one that cannot be made as well" {
	tar -cf a.tar -C "$DATA/arrays" lamp.spe field.hdr field.img
	(ulimit -f 30 && trap '' XFSZ && run_split 3 convert a.tar -o no/x --labels none)
	(ulimit -f 30 && trap '' XFSZ && run_split 3 convert - -o no/x --shards 1 --labels none <a.tar)
	export TMPDIR=$PWD/none
	run_split 3 convert - -o no/x --shards 1 --labels none <a.tar
	holds "$stderr" "$PWD/none: temporary file: no such folder"
	[ ! -e no ]
}

@test "without the module an archive is told of, packed or not" {
	make tar a.tar
	gzip -k a.tar
	mkdir none
	for source in a.tar a.tar.gz -; do
		TUNDISH_MODULES=none run_split 3 convert $source -o no/x --shards 1 <a.tar
		holds "$stderr" "the archive module is missing (none/archive.so): install tundish-archive"
	done
	[ ! -e no ]
}
