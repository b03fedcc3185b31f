# SPDX-License-Identifier: BSD-2-Clause
# tundish convert: cubes, frames and other arrays, whole and in tiles.
load lib.bash

# Two cubes of 10 lines, 12 samples and 5 bands in folders a and b: number i of cube k, in
# the order lines, samples, bands, is i + 1000 k.
make_cubes() {
	python3 - <<'PY'
import os, struct
for k, name in enumerate("ab"):
    os.makedirs("in/" + name)
    value = lambda l, s, b: (l * 12 + s) * 5 + b + 1000 * k
    with open(f"in/{name}/c.img", "wb") as f:
        for b in range(5):
            for l in range(10):
                f.write(struct.pack("<12H", *(value(l, s, b) for s in range(12))))
    with open(f"in/{name}/c.hdr", "w") as f:
        f.write("ENVI\nsamples = 12\nlines = 10\nbands = 5\ndata type = 12\ninterleave = bsq\n"
                "byte order = 0\nbbl = {1,1,0,1,1}\ndata ignore value = 9\n")
PY
}

# check BANDS FILL: each record of out holds the numbers that its place says.
check() {
	PYTHONPATH=$BATS_TEST_DIRNAME/.. python3 - "$@" out/*-of-* <<'PY'
import records, struct, sys
bands, fill = eval(sys.argv[1]), int(sys.argv[2])
count = 0
for name in sys.argv[3:]:
    for data in records.frames(open(name, "rb").read()):
        x = records.example(data)
        count += 1
        y, left = x.get("y", [0])[0], x.get("x", [0])[0]
        k = x["label"][0]
        data, = x.get("image") or x["image/value"]
        shape = x.get("image/shape") or eval(open("shape").read())
        got = struct.unpack(f"<{len(data) // 2}H", data)
        want = [((l * 12 + s) * 5 + b + 1000 * k if l < 10 and s < 12 else fill)
                for l in range(y, y + shape[0]) for s in range(left, left + shape[1]) for b in bands]
        assert list(got) == want, (name, y, left)
        assert x["dtype"] == [b"uint16"] and x["filename"] == [b"a/c.hdr" if k == 0 else b"b/c.hdr"]
print(count)
PY
}

@test "cubes: whole, with numbers as they are" {
	make_cubes
	run_split 0 convert in -o out/p
	holds "$output" "2 found: 2 written, 0 bad"
	[[ $output != *"left out"* ]]
	echo '[10, 12, 5]' >shape
	same "$(check 'range(5)' 9)" 2
	output=$(cat out/features.json)
	json 'j["featuresDict"]["features"]["image"]["tensor"] == {"shape": {"dimensions": ["10", "12", "5"]}, "dtype": "uint16", "encoding": "bytes"}'
}

@test "tiles: dropped, filled up or kept at the border, with a stride" {
	make_cubes
	echo '[4, 4, 5]' >shape
	run_split 0 convert in -o out/p --tile 4x4 --overwrite
	same "$(check 'range(5)' 9)" 12
	run_split 0 convert in -o out/p --tile 4x4 --edge pad --overwrite
	same "$(check 'range(5)' 9)" 18
	run_split 0 convert in -o out/p --tile 4x5 --edge keep --overwrite
	same "$(check 'range(5)' 9)" 18
	run_split 0 convert in -o out/p --tile 4x4:2 --overwrite
	same "$(check 'range(5)' 9)" 40
	run_split 3 convert in -o out2/p --tile 40x40
	holds "$stderr" "a/c.hdr: no tile of this size is in it"
}

@test "bands and regions" {
	make_cubes
	echo '[10, 12, 3]' >shape
	run_split 0 convert in -o out/p --bands 1,4-5
	same "$(check '[0, 3, 4]' 9)" 2
	echo '[10, 12, 4]' >shape
	run_split 0 convert in -o out/p --drop-bad-bands --overwrite
	same "$(check '[0, 1, 3, 4]' 9)" 2
	run_split 0 convert in -o out/p --region 2:0:8:8 --tile 4x4 --overwrite
	echo '[4, 4, 5]' >shape
	same "$(check 'range(5)' 9)" 8
	run_split 3 convert in -o out2/p --bands 6
	holds "$stderr" "no band 6, there are 5"
	run_split 3 convert in -o out2/p --region 5:5:6:6
	holds "$stderr" "not inside of 10x12"
	for wrong in "--bands 0" "--bands 3-1" "--bands 1," "--bands x" "--tile 4" "--tile 0x4" "--tile 4x4:0" \
		"--region 1:2:3" "--region 0:0:0:1" "--edge cut"; do
		run_split 2 convert in -o out2/p $wrong
	done
	[ ! -e out2 ]
}

@test "a split never divides a cube; the same bytes for any threads" {
	make_cubes
	run_split 0 convert in -o one/p --tile 2x2 --split train=.5,val=.5 --shards 2 -j 1
	holds "$stderr" "the split is by group: 2 groups"
	run_split 0 count 'one/p-train*' --by group
	same "${#lines[@]}" 2
	for threads in 3 8; do
		TUNDISH_STALL=1 run_split 0 convert in -o two/p --tile 2x2 --split train=.5,val=.5 --shards 2 -j $threads --memory 1M
		diff -r one two
		rm -r two
	done
	run_split 2 convert in -o two/p --tile 2x2 --split train=.9,val=.1
	holds "$stderr" "no group of 2"
}

@test "tiles that overlap: a split needs groups or blocks" {
	make_cubes
	run_split 2 convert in -o out/p --tile 4x4:2 --split train=.5,val=.5
	holds "$stderr" "--split needs --split-by group"
	run_split 2 convert in -o out/p --tile 4x4:2 --split train=.5,val=.5 --split-by item
	run_split 2 convert in -o out/p --tile 4x4:2 --split train=.5,val=.5 --split-by blocks:2x8
	for wrong in cube blocks:x blocks:0x4 blocks:4x4x; do
		run_split 2 convert in -o out/p --tile 2x2 --split-by $wrong
	done
	run_split 0 convert in -o out/p --tile 4x4:2 --split train=.5,val=.5 --split-by group
	holds "$stderr" "2 groups"
	# blocks of 6x6: of 10 lines and 12 samples rows 0, 2 and 6, columns 0, 2, 6 and 8
	run_split 0 convert in -o out/p --tile 4x4:2 --split train=.5,val=.5 --split-by blocks:6x6 --overwrite
	holds "$stderr" "a/c.hdr: 8 left out, across the borders of blocks"
	holds "$stderr" "the split is by group: 8 groups"
	holds "$output" "40 found: 24 written, 0 bad, 16 others left out"
	run_split 0 count out --by group --json
	json '[(v["value"], v["records"]) for v in j["by"]["values"]] == [(f"{c}/c.hdr:{y}:{x}", 4 - 2 * y) for c in "ab" for y in (0, 1) for x in (0, 1)]'
	run_split 0 count 'out/p-val*' --by group --json
	json 'len(j["by"]["values"]) == 4'
}

@test "order: tiles are shuffled, kept in their order, or by item" {
	make_cubes
	places() { # of each shard: class, y and x of its records
		for f in out/*-of-*; do
			for i in $(seq 0 $(($(tundish count "$f") - 1))); do
				tundish inspect "$f" --record "$i" --json | python3 -c 'import json, sys
v = {f["name"]: f["values"][0] for f in json.load(sys.stdin)["features"]}
print(v["label"], v["y"], v["x"])'
			done
			echo
		done
	}
	run_split 0 convert in -o out/p --tile 5x6 --order keep --shards 2
	same "$(places)" "$(printf '%s\n' '0 0 0' '0 0 6' '0 5 0' '0 5 6' '' '1 0 0' '1 0 6' '1 5 0' '1 5 6')"
	run_split 0 convert in -o out/p --tile 5x6 --shards 2 --overwrite
	[ "$(places | grep -c '^0')" = 4 ]
	[ "$(places)" != "$(places | sort)" ]
	run_split 0 convert in -o out/p --tile 5x6 --split train=.75,val=.25 --split-by item --overwrite
	[[ $stderr != *"by group"* ]]
	holds "$output" "train        6"
}

@test "no data: its value in padding and in counting, for every type" {
	PYTHONPATH=$BATS_TEST_DIRNAME/.. python3 - "$TUNDISH" <<'PY'
import math, os, pathlib, struct, subprocess, sys
import records
# ENVI's number, struct's letter, the header's value, and what stands in the pixels
for number, letter, value, want in [
        (1, "B", "255", 255), (1, "B", "-9999", 0), (2, "h", "-9999", -9999), (12, "H", "65535", 65535),
        (12, "H", "70000", 0), (3, "i", "-2147483648", -2**31), (13, "I", "4294967295", 2**32 - 1),
        (14, "q", "-9223372036854775808", -2**63), (14, "q", "9223372036854775807", 2**63 - 1),
        (14, "q", "-9999", -9999), (15, "Q", "18446744073709551615", 2**64 - 1), (15, "Q", "-1", 0),
        (4, "f", "-3.4028235e+38", -struct.unpack("f", b"\xff\xff\x7f\x7f")[0]), (4, "f", "0.1", None),
        (4, "f", "nan", math.nan), (5, "d", "-1e300", -1e300), (6, "ff", "-9999.5", None), (9, "dd", "-9999.5", None)]:
    one = "<" + letter
    if want is None:
        want = float(value)
    ignored = struct.pack(one, want, *[0.0] * (len(letter) - 1))
    data = struct.pack(one, *[3] * len(letter)) + 2 * ignored
    folder = pathlib.Path("in%s%s" % (number, value))
    folder.mkdir()
    (folder / "c.img").write_bytes(data)
    (folder / "c.hdr").write_text(f"ENVI\nsamples = 3\nlines = 1\nbands = 1\ndata type = {number}\n"
                                  f"interleave = bsq\nbyte order = 0\ndata ignore value = {value}\n")
    out = folder / "out"
    run = [sys.argv[1], "convert", folder, "-o", out / "p", "--labels", "none", "--order", "keep", "-q"]
    subprocess.run(run + ["--tile", "2x2", "--edge", "pad"], check=True)
    file, = out.glob("*-of-*")
    made = [records.example(data)["image"][0] for data in records.frames(file.read_bytes())]
    n = len(ignored)
    assert made == [data[:2 * n] + 2 * ignored, 4 * ignored], (number, value, made)
    if struct.unpack(one, ignored)[0] != 0:  # else the value is none of the type
        subprocess.run(run + ["--tile", "1x1", "--max-nodata", "0", "--overwrite"], check=True)
        assert len(list(records.frames(out.joinpath(file.name).read_bytes()))) == 1, (number, value)
PY
}

@test "cubes and pictures mix, without metadata for TFDS" {
	make_cubes
	cp -r "$DATA/photos/cat" in/
	run_split 0 convert in -o out/p
	holds "$stderr" "pictures and arrays are mixed"
	holds "$output" "12 written"
	[ ! -e out/features.json ]
}

@test "instrument files: frames one by one or stacked; what is broken is named" {
	needs_shared
	formats=$SHARED/fixtures/formats
	run_split 1 convert "$formats/envi/made" -o out/p --labels none
	holds "$output" "46 written, 2 bad"
	run_split 1 convert "$formats/radiance" -o out/p --labels none --overwrite
	holds "$output" "13 written, 3 bad"
	run_split 0 convert "$formats/spe" -o out/p --labels none --overwrite
	frames=$(tundish count out)
	run_split 0 convert "$formats/spe" -o out/p --labels none --stack --overwrite
	[ "$(tundish count out)" -lt "$frames" ]
}

@test "--compress auto: what shrinks is compressed, pictures are not" {
	make_cubes
	run_split 0 convert in -o out/p --compress auto
	holds "$stderr" "compression: gzip, a sample of"
	gzip -t <out/p-train.tfrecord-00000-of-00001
	# noise, with checksums that nobody made
	python3 - >noise.tfrecord <<'PY'
import random, struct, sys
r = random.Random(1)
for i in range(20):
    sys.stdout.buffer.write(struct.pack("<QI", 5000, 0) + r.randbytes(5000) + bytes(4))
PY
	run_split 0 shard noise.tfrecord --crc off -o out2/p --compress auto
	holds "$stderr" "compression: none, a sample of"
	run_split 0 shard noise.tfrecord --crc off -o out3/p --compress gzip
	holds "$stderr" "compression saves under 3 %"
	run_split 0 count --verify out2 out3
	same "$output" 40
}

@test "the numbers of a cube and shards of records are named as what they are" {
	make_cubes
	run_split 3 convert in/a/c.img -o out/p
	holds "$stderr" "c.img: no known format; its header is c.hdr: name that instead"
	run_split 0 convert in -o out/p --shards 1
	run_split 3 convert out/p-train.tfrecord-00000-of-00001 -o out2/p
	holds "$stderr" "no known format (TFRecord file: shard reads those)"
}

@test "107: a record over the limit is refused before it is made" {
	mkdir in
	printf 'ENVI\nsamples = 30000\nlines = 30000\nbands = 3\ndata type = 1\ninterleave = bip\nbyte order = 0\n' >in/big.hdr
	truncate -s 2700000000 in/big.img
	cp "$DATA/photos/cat/cat_00.jpg" in
	run_split 1 convert in -o out/p
	holds "$stderr" "big.hdr: record would be 2700000000 bytes; the limit is 2147483647"
	holds "$output" "1 written, 1 bad"
}

# A cube of 10 lines and 12 samples, without data in its first quarter; labels for it, none
# in the first three samples, then water above forest.
make_labelled() {
	mkdir -p in
	python3 - <<'PY'
import struct
value = lambda l, s, b: 9999 if l < 5 and s < 6 else (l * 12 + s) * 5 + b
with open("in/c.img", "wb") as f:
    for b in range(5):
        for l in range(10):
            f.write(struct.pack("<12H", *(value(l, s, b) for s in range(12))))
with open("in/c.hdr", "wb") as f:
    f.write(b"ENVI\nsamples = 12\nlines = 10\nbands = 5\ndata type = 12\ninterleave = bsq\nbyte order = 0\n"
            b"data ignore value = 9999\nwavelength = {400,410.5,420,430,440}\nwavelength units = \xb5m\n"
            b"map info = {UTM, 1, 1}\nband names = {a, b, c, d, e}\n")
with open("gt.img", "wb") as f:
    for l in range(10):
        f.write(bytes(0 if s < 3 else 1 + l // 5 for s in range(12)))
head = "ENVI\nsamples = 12\nlines = 10\nbands = 1\ndata type = 1\ninterleave = bsq\nbyte order = 0\n"
open("gt.hdr", "w").write(head + "file type = ENVI Classification\nclasses = 3\nclass names = {Unclassified, water, forest}\n")
open("numbers.hdr", "w").write(head)
import shutil
shutil.copy("gt.img", "numbers.img")
PY
}

@test "labels from a raster: of the middle or of most pixels, dropped or kept" {
	make_labelled
	run_split 0 convert in -o out/p --tile 5x4 --label-raster gt.hdr --order keep
	holds "$output" "6 found: 4 written, 0 bad, 2 others left out"
	holds "$stderr" "c.hdr: 2 left out, without a label"
	same "$(cat out/label.labels.txt)" $'Unclassified\nwater\nforest'
	examples '[(x["label"], x["y"], x["x"]) for x in r] == [([1], [0], [4]), ([1], [0], [8]), ([2], [5], [4]), ([2], [5], [8])]' out/*-of-*
	run_split 0 convert in -o out/p --tile 10x4 --label-raster gt.hdr:majority --unlabelled keep --order keep --overwrite
	examples '[x["label"] for x in r] == [[-1], [1], [1]]' out/*-of-*
	# one for each cube, by its name
	mkdir gt
	cp gt.hdr gt/c_gt.hdr
	cp gt.img gt/c_gt.img
	run_split 0 convert in -o named/p --tile 10x4 --label-raster 'gt/{}_gt.hdr:majority' --unlabelled keep --order keep
	examples '[x["label"] for x in r] == [[-1], [1], [1]]' named/*-of-*
	# numbers where the raster has no names: kept as they are
	run_split 0 convert in -o out/p --tile 5x12 --label-raster numbers.hdr:majority --order keep --overwrite
	examples '[x["label"] for x in r] == [[1], [2]]' out/*-of-*
	[ ! -e out/label.labels.txt ]
	printf 'forest\nwater\nUnclassified\n' >list
	run_split 0 convert in -o out/p --tile 5x12 --label-raster gt.hdr:majority --class-list list --order keep --overwrite
	examples '[x["label"] for x in r] == [[1], [0]]' out/*-of-*
	for threads in 2 8 99; do
		run_split 0 convert in -o "j$threads/p" --tile 2x2:1 --label-raster gt.hdr:majority --max-nodata 20 -j $threads
		[ "$threads" = 2 ] || diff -r j2 "j$threads"
	done
	sed -i 's/lines = 10/lines = 9/' gt.hdr
	run_split 3 convert in -o out2/p --tile 5x4 --label-raster gt.hdr
	holds "$stderr" "has no labels for 10 lines and 12 samples"
	run_split 3 convert in "$DATA/photos" -o out2/p --label-raster none.hdr
	holds "$stderr" "label-raster: none.hdr: No such file"
	run_split 2 convert in -o out2/p --label-raster "$DATA/photos/cat/cat_00.jpg"
	holds "$stderr" "label-raster: $DATA/photos/cat/cat_00.jpg: no known kind of raster"
	run_split 2 convert in -o out2/p --label-raster gt.hdr --labels none
	run_split 2 convert in -o out2/p --label-raster gt.hdr --unlabelled some
	[ ! -e out2 ]
}

@test "tiles with too little data are left out and counted" {
	make_labelled
	for case in "0 4" "25 4" "49.9% 4" "50 5" "100 6"; do
		read -r most want <<<"$case"
		run_split 0 convert in -o out/p --tile 5x4 --max-nodata "$most" --overwrite
		same "$(tundish count out)" "$want"
	done
	run_split 0 convert in -o out/p --tile 5x4 --max-nodata 50 --overwrite
	holds "$stderr" "c.hdr: 1 left out, too much without data"
	run_split 0 convert in -o out/p --tile 5x4 --max-nodata 0 --bands 2 --overwrite
	same "$(tundish count out)" 4
	for wrong in x -1 101 ""; do
		run_split 2 convert in -o out2/p --max-nodata "$wrong"
	done
}

@test "what headers say: once a set, and by record where it is asked for" {
	make_labelled
	run_split 0 convert in -o out/p --tile 5x4
	output=$(cat out/tundish.json)
	json 'j["arrays"]["common"]["wavelength"] == [400, 410.5, 420, 430, 440] and j["arrays"]["differing"] == {}'
	json 'j["arrays"]["common"]["wavelength units"] == "µm" and j["arrays"]["common"]["map info"] == "UTM, 1, 1"'
	examples 'all("wavelength" not in x for x in r)' out/*-of-*
	sed 's/410.5/411/' in/c.hdr >in/d.hdr
	cp in/c.img in/d.img
	run_split 0 convert in -o out/p --columns 'wavelength,wavelength units,band names,bands' --order keep --overwrite
	examples '[x["wavelength"] for x in r] == [[400, 410.5, 420, 430, 440], [400, 411, 420, 430, 440]]' out/*-of-*
	examples 'r[0]["wavelength units"] == ["µm".encode()] and r[0]["band names"] == [b"a", b"b", b"c", b"d", b"e"] and r[0]["bands"] == [5]' out/*-of-*
	output=$(cat out/tundish.json)
	json 'j["arrays"]["files"] == 2 and "wavelength" not in j["arrays"]["common"]'
	json 'j["arrays"]["differing"]["d.hdr"] == {"wavelength": [400, 411, 420, 430, 440]}'
	output=$(cat out/features.json)
	json 'j["featuresDict"]["features"]["wavelength"]["tensor"]["shape"] == {"dimensions": ["5"]}'
	run_split 2 convert in -o out2/p --columns nothing
	holds "$stderr" 'no column "nothing" in side-cars or headers'
}

@test "--list: kinds, types, shapes and labels, nothing is written" {
	make_labelled
	mkdir in/cat
	cp "$DATA/photos/cat/cat_00.jpg" in/cat/
	cp "$DATA/photos/coffee/coffee_01.png" in/cat/x.jpg
	echo no >in/cat/bad.png
	run_split 1 convert in --list --labels none
	holds "$stderr" "bad.png: "
	holds "$output" "4 found: 3 to write, 1 bad"
	holds "$output" "kind  dtype   shape      label  class  item"
	holds "$output" "ENVI  uint16  10x12x5                  c.hdr"
	holds "$output" "JPEG  uint8   259x417x3"
	run_split 1 convert in --list --json
	json '[(i["kind"], i["shape"], i["label"], i.get("class"), i["name"]) for i in j["items"]] == [("JPEG", [j["items"][0]["shape"][0], j["items"][0]["shape"][1], 3], 0, "cat", "cat/cat_00.jpg"), ("PNG", j["items"][1]["shape"], 0, "cat", "cat/x.jpg")]'
	rm -r in/cat
	run_split 0 convert in --list --tile 5x8 --edge keep --json --label-raster gt.hdr:majority --bands 1,3
	json '[(i["part"], i["shape"], i["label"], i["class"]) for i in j["items"]] == [(0, [5, 8, 2], 1, "water"), (1, [5, 4, 2], 1, "water"), (2, [5, 8, 2], 2, "forest"), (3, [5, 4, 2], 2, "forest")]'
	run_split 0 convert in --list --quiet
	holds "$output" "10x12x5"
	same "$(ls)" "$(printf '%s\n' gt.hdr gt.img in numbers.hdr numbers.img)"
}

@test "an interleave that no header says" {
	make_labelled
	sed -i 's/= bsq/= bup/' in/c.hdr
	run_split 3 convert in -o out/p
	holds "$stderr" "interleave = bup"
	run_split 0 inspect in/c.hdr
	holds "$stderr" "no interleave that is known"
	holds "$output" "shape: 10, 12, 5"
	run_split 0 convert in -o out/p --interleave bsq --bands 2
	examples 'struct.unpack("<120H", r[0]["image"][0])[60:] == tuple(5 * i + 1 for i in range(60, 120))' out/*-of-*
	run_split 2 convert in -o out/p --interleave bup
}

@test "SPE: axis, its coefficients and unit, exposure, date, values of frames" {
	needs_shared
	spe=$SHARED/fixtures/formats/spe
	run_split 0 convert "$spe/v2_blut1.SPE" -o out/p --labels none
	examples 'len(r) == 10 and [x["frame"] for x in r] == [[k] for k in range(10)]' out/*-of-*
	c='[805.3970247667676, 0.3180204630272863, -4.2273047286305724e-05]'
	examples "near(doubles(r[0]['axis']), [sum(c * p**i for i, c in enumerate($c)) for p in range(1, 1024)])" out/*-of-*
	examples "doubles(r[0]['axis_coefficients']) == $c and r[3]['axis_unit'] == [b'nm']" out/*-of-*
	examples 'r[0]["exposure_s"] == [3.0] and r[0]["date"] == [b"20Aug2013 165014"]' out/*-of-*
	run_split 0 convert "$spe/v2_blut1.SPE" -o out/p --pixel-origin 0 --overwrite --stack
	examples "near(doubles(r[0]['axis']), [sum(c * p**i for i, c in enumerate($c)) for p in range(0, 1023)])" out/*-of-*
	run_split 0 convert "$spe/derived_v3_demo_2roi_first3frames.spe" -o out/p --overwrite --labels none
	examples '[x["exposure_started"][0] for x in r] == [109296, 811765, 1525582] * 2 and [x["region"][0] for x in r] == [0] * 3 + [1] * 3' out/*-of-*
	examples '[doubles(x["gate_delay"])[0] for x in r[:3]] == [1000000.0, 1444444.44, 1888888.89]' out/*-of-*
	examples '[x["frame_tracking_number"][0] for x in r[3:]] == [1, 2, 3] and near(doubles(r[0]["axis"])[:2], [431.6658874510205, 431.79901292978803])' out/*-of-*
	run_split 0 convert "$spe/derived_v3_demo_2roi_first3frames.spe" -o out/p --overwrite --labels none --stack --columns version
	examples 'len(r) == 2 and r[0]["exposure_ended"] == [259296, 961765, 1675582] and doubles(r[1]["gate_delay"])[1] == 1444444.44 and r[0]["version"] == [3]' out/*-of-*
	for threads in 1 2 3 8 99; do
		run_split 0 convert "$spe" -o "j$threads/p" --labels none -j $threads
		diff -r j1 "j$threads"
	done
}

@test "SPE: frames that are not there are a loss" {
	needs_shared
	mkdir in
	head -c 20000 "$SHARED/fixtures/formats/spe/v2_blut1.SPE" >in/cut.spe
	run_split 1 convert in -o out/p --labels none
	holds "$stderr" "cut.spe: 3 frames by the header are not in the file"
	holds "$output" "7 written, 1 bad"
}

@test "round trip: raw data, records, extracted arrays are those that others read" {
	needs_shared
	formats=$SHARED/fixtures/formats
	trip() { # FOLDER OPTION...: how many arrays came through
		rm -rf out x
		tundish convert "$formats/$1" -o out/p --labels none --shards 1 "${@:2}" >/dev/null 2>&1 || true
		tundish inspect out --extract x >/dev/null
		same "$(find x -type f | wc -l)" "$(tundish count out)"
		python3 "$BATS_TEST_DIRNAME/roundtrip.py" "$formats/EXPECT.md" x out/*-of-00001
	}
	same "$(trip envi)" 51
	same "$(trip radiance)" 12
	same "$(trip spe --stack)" 10
}

@test "round trip: frames and tiles of one shape, which features.json tells" {
	make_cubes
	run_split 0 convert in -o out/p --tile 5x4 --order keep --shards 1
	run_split 0 inspect out --extract x
	python3 - <<'PY'
for i in range(12):
    d = open(f"x/{i:08d}.npy", "rb").read()
    assert b"'descr': '<u2', 'fortran_order': False, 'shape': (5, 4, 5)" in d
    cube, y, x = i // 6, i % 6 // 3 * 5, i % 3 * 4
    got = memoryview(d[-200:]).cast("H").tolist()
    assert got == [(l * 12 + s) * 5 + b + 1000 * cube for l in range(y, y + 5) for s in range(x, x + 4) for b in range(5)]
PY
	run_split 0 inspect out --record 3 --extract one
	cmp one/00000003.npy x/00000003.npy
	# without features.json a row of numbers
	rm out/features.json
	run_split 0 inspect out --record 3 --extract row
	grep -q "'shape': (100,)" row/00000003.npy
}

@test "the samples in data/: made by their scripts, converted, the same for any threads" {
	cp "$DATA"/arrays/* .
	mkdir again
	python3 make again
	for f in field.hdr field.img truth.hdr truth.img lamp.spe sky.hdr; do
		cmp $f again/$f
	done
	run_split 0 convert field.hdr -o out/p --tile 8x8 --label-raster truth.hdr:majority --max-nodata 10
	holds "$output" "48 found: 46 written"
	same "$(cat out/label.labels.txt)" $'Unclassified\nwater\ngrass\nsoil'
	for threads in 1 2 3 8 99; do
		run_split 0 convert field.hdr lamp.spe sky.hdr -o "j$threads/p" -j $threads --memory 1M
		diff -r j1 "j$threads"
	done
	run_split 0 convert lamp.spe -o spe/p
	examples 'len(r) == 4 and near(doubles(r[0]["axis"])[:2], [500.7495, 501.498]) and r[0]["date"] == [b"30Nov2026 120000"]' spe/*-of-*
	run_split 0 convert "$DATA/photos" -o table/p --labels "csv:$DATA/table/photos.csv" --columns 'weight,note' --group-by 'chosen by' --split train=.8,val=.2
	holds "$stderr" "the split is by group: 5 groups"
}

@test "51: tiles are resumed to the same bytes" {
	cp "$DATA"/arrays/field.* "$DATA"/arrays/truth.* .
	options=(field.hdr --tile 4x4 --label-raster truth.hdr:majority --max-nodata 10 --shards 12 --split train=.5,val=.5 --split-by blocks:16x16)
	run_split 0 convert "${options[@]}" -o want/p
	for delay in .01 .03 .06; do
		rm -rf out
		TUNDISH_STALL=1 timeout -s KILL $delay "$TUNDISH" convert "${options[@]}" -o out/p >/dev/null 2>&1 || true
		run_split 0 convert "${options[@]}" -o out/p --resume --overwrite
		diff -r want out
	done
}
