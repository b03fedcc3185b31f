# SPDX-License-Identifier: BSD-2-Clause
# Pictures prepared for training: other sizes and forms, turned upright, and what is recorded.
load lib.bash
CASES=$SOURCE/tests/golden/cases
PHOTOS=$DATA/photos
export PYTHONPATH=$BATS_TEST_DIRNAME/..

digest() {
	(cd "$1" && find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum)
}

# py SCRIPT ARG...: a script that knows examples(FILE...), a dictionary of features for each
# file name, and the modules below
py() {
	python3 -c 'import glob, hashlib, struct, sys
from records import example, frames

def examples(*paths):
    found = (example(data) for path in paths for data in frames(open(path, "rb").read()))
    return {one["filename"][0].decode(): one for one in found}
'"$1" "${@:2}"
}

@test "sizes: larger pictures are made smaller, the others keep their bytes" {
	run_split 0 convert "$PHOTOS" -o same/p --shards 2
	for wish in "--max-side 300" "--shorter-side 200" "--max-side 300 --shorter-side 150"; do
		rm -rf out
		run_split 0 convert "$PHOTOS" -o out/p --shards 2 $wish
		holds "$stderr" "made smaller"
		py '
old, new = (examples(*glob.glob(d + "/p-*")) for d in ("same", "out"))
wish = dict(zip(sys.argv[1::2], map(int, sys.argv[2::2])))
smaller = 0
assert old.keys() == new.keys()
for name, one in new.items():
    w, h = width, height = old[name]["width"][0], old[name]["height"][0]
    for option, longer in (("--shorter-side", False), ("--max-side", True)):
        side = wish.get(option)
        now = max(w, h) if longer else min(w, h)
        if side and now > side:
            w, h = (side, h * side // w) if w == now else (w * side // h, side)
    assert (one["width"][0], one["height"][0]) == (w, h), (name, one["width"], one["height"], w, h)
    assert ((w, h) == (width, height)) == (one["image"] == old[name]["image"]), name
    assert one["image"][0][:2] == old[name]["image"][0][:2]  # JPEG stays JPEG, PNG PNG
    smaller += (w, h) != (width, height)
assert 20 < smaller
' $wish
	done
}

@test "forms: png, raw and jpeg hold the same pixels" {
	for form in png raw raw:uint16 jpeg:100; do
		run_split 0 convert "$PHOTOS" -o "$form/p" --shards 1 --reencode $form --max-side 120 --keys format=format
	done
	py '
png, raw, wide, jpeg = (examples(*glob.glob(d + "/p-*")) for d in ("png", "raw", "raw:uint16", "jpeg:100"))
for name, one in raw.items():
    (h, w, c), value = one["image/shape"], one["image/value"][0]
    assert (h, w) == (one["height"][0], one["width"][0]) and c == 3 and len(value) == h * w * 3
    assert one["dtype"] == [b"uint8"] and one["format"] == [b"raw"]
    assert png[name]["format"] == [b"png"] and jpeg[name]["format"] == [b"jpeg"]
    two = wide[name]
    assert two["dtype"] == [b"uint16"] and two["image/shape"] == [h, w, 3]
    # resized from more exact numbers: within half a level of the other
    for a, b in zip(value[::97], struct.unpack(f"<{h * w * 3}H", two["image/value"][0])[::97]):
        assert abs(a - b / 257) <= 0.51
'
	# raw pixels are fed like pictures
	for ops in 'resize:40' 'random_resized_crop:24 hflip normalize layout:nchw'; do
		cmp <(tundish feed png --ops "$ops" --to hash -q) <(tundish feed raw --ops "$ops" --to hash -q)
	done
	run_split 0 inspect raw --schema
	holds "$output" "image/value"
	grep -q '"uint8"' raw/features.json
	grep -q '"uint16"' raw:uint16/features.json
}

@test "--apply-orientation turns as EXIF says, in both byte orders" {
	py '
jpeg = open(sys.argv[1], "rb").read()
for o in range(1, 9):
    for order, mark in ("<", b"II*\0"), (">", b"MM\0*"):
        tiff = mark + struct.pack(order + "IHHHIHHI", 8, 1, 0x112, 3, 1, o, 0, 0)
        exif = b"Exif\0\0" + tiff
        with open(f"{o}{mark[:1].decode()}.jpg", "wb") as out:
            out.write(jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + jpeg[2:])
' "$PHOTOS/cat/cat_00.jpg"
	tundish convert -q ./*.jpg -o kept/p --shards 1
	tundish convert -q ./*.jpg -o raw/p --shards 1 --reencode raw
	run_split 0 convert ./*.jpg -o turned/p --shards 1 --reencode raw --apply-orientation
	holds "$stderr" "14 turned upright"
	run_split 0 convert ./*.jpg -o some/p --shards 1 --apply-orientation
	py '
def turned(rows, o):
    if o >= 5:
        rows = [list(row) for row in zip(*rows)]
    if o in (2, 3, 6, 7):
        rows = [row[::-1] for row in rows]
    return rows[::-1] if o in (3, 4, 7, 8) else rows

kept, raw, done, some = (examples(*glob.glob(d + "/p-*")) for d in ("kept", "raw", "turned", "some"))
for name, one in raw.items():
    o = int(name[0])
    assert one.get("image/orientation", [1]) == [o] and kept[name].get("image/orientation", [1]) == [o]
    assert "image/orientation" not in done[name] and "image/orientation" not in some[name]
    (h, w, _), value = one["image/shape"], one["image/value"][0]
    rows = [[value[(y * w + x) * 3:][:3] for x in range(w)] for y in range(h)]
    want = turned(rows, o)
    assert done[name]["image/shape"] == [len(want), len(want[0]), 3]
    assert done[name]["image/value"][0] == b"".join(map(b"".join, want)), name
    assert (some[name]["image"] == kept[name]["image"]) == (o == 1)
    assert some[name]["width"] == done[name]["width"]
'
}

@test "73 to 76: bytes are kept and what they are is recorded" {
	cp -r "$CASES/73-png-16-bit/in/c" c73
	cp -r "$CASES/74-png-palette/in/c" c74
	cp -r "$CASES/75-alpha/in/c" c75
	cp -r "$CASES/83-jpeg-kinds/in/c" c83
	run_split 1 convert . -o "$T/../out/p" --shards 1
	run_split 0 inspect "$T/../out"
	[[ $output != *"is missing in"* ]]
	py '
found = examples(*glob.glob(sys.argv[1]))
facts = {name: (one.get("image/colorspace", [b"rgb"])[0].decode(), one.get("image/bits", [8])[0])
         for name, one in found.items()}
assert facts == {
    "c73/depth-only-low-values.png": ("grey", 16), "c73/gray16.png": ("grey", 16), "c73/rgb16.png": ("rgb", 16),
    "c74/gray-trns.png": ("grey+alpha", 8), "c74/gray8.png": ("grey", 8), "c74/onebit.png": ("grey", 1),
    "c74/pal-trns.png": ("palette+alpha", 4), "c74/pal2bit.png": ("palette", 2), "c74/pal8.png": ("palette", 4),
    "c75/la.png": ("grey+alpha", 8), "c75/rgba.png": ("rgb+alpha", 8),
    "c83/420.jpg": ("rgb", 8), "c83/422.jpg": ("rgb", 8), "c83/gray.jpg": ("grey", 8),
    "c83/mpo-two-pictures.jpg": ("rgb", 8), "c83/odd-size-420.jpg": ("rgb", 8), "c83/progressive.jpg": ("rgb", 8),
    "c83/restart.jpg": ("rgb", 8), "c83/rgb-not-ycc.jpg": ("rgb", 8)}, facts
for name, one in found.items():
    assert one["image"][0] == open(name, "rb").read()
' "$T/../out/p-*"
}

@test "73: 16 bits become 8 with a notice, or stay with raw:uint16" {
	run_split 0 convert "$CASES/73-png-16-bit/in" -o eight/p --shards 1 --reencode raw
	holds "$stderr" "pictures: 3 of 16 bits reduced to 8"
	run_split 0 convert "$CASES/73-png-16-bit/in" -o wide/p --shards 1 --reencode raw:uint16
	[[ $stderr != *"16 bits"* ]]
	py '
eight, wide = (examples(*glob.glob(d + "/p-*")) for d in ("eight", "wide"))
first = lambda found: found["c/gray16.png"]["image/value"][0]
assert [*first(eight)[:12:3]] == [0, 1, 128, 255]
assert struct.unpack("<12H", first(wide)[:24])[::3] == (255, 256, 32895, 65535)
low = wide["c/depth-only-low-values.png"]["image/value"][0]
assert max(struct.unpack(f"<{len(low) // 2}H", low)) == 218
assert not any(eight["c/depth-only-low-values.png"]["image/value"][0])
'
}

@test "74: palettes, one bit, transparent colours: three channels, looked up" {
	run_split 0 convert "$CASES/74-png-palette/in" -o raw/p --shards 1 --reencode raw
	py '
found = examples(*glob.glob("raw/p-*"))
value = lambda name: found[f"c/{name}.png"]["image/value"][0]
digest = lambda name: hashlib.sha256(value(name)).hexdigest()
assert digest("pal8") == "a1a3ca4412b413b762785b35dd9c3cc25371be740540775c985684c669e7ad49"
assert digest("pal2bit") == "e5eb760498aed3d59a91bfa126fb8b4d91b9affc18c27a80522cad1a21e9ade6"
assert {*value("onebit")} == {0, 255}
assert value("gray8")[0::3] == value("gray8")[1::3] == value("gray8")[2::3]
assert all(one["image/shape"][2] == 3 for one in found.values())
'
}

@test "75: alpha is left out, or laid over white or black" {
	for alpha in drop white black; do
		run_split 0 convert "$CASES/75-alpha/in" -o $alpha/p --shards 1 --reencode raw --alpha $alpha
	done
	holds "$stderr" "laid over black"
	run_split 0 convert "$CASES/75-alpha/in" -o covered/p --shards 1 --alpha white
	py '
drop, white, black, covered = (examples(*glob.glob(d + "/p-*")) for d in ("drop", "white", "black", "covered"))
pixel = lambda found, x: tuple(found["c/rgba.png"]["image/value"][0][3 * x:3 * x + 3])
assert pixel(drop, 0) == (0, 255, 0) and pixel(drop, 11) == (200, 30, 40)
assert pixel(white, 0) == (255, 255, 255) and pixel(black, 0) == (0, 0, 0)
value = drop["c/rgba.png"]["image/value"][0]
means = [sum(value[c::3]) / (len(value) / 3) for c in range(3)]
assert all(abs(a - b) < 0.06 for a, b in zip(means, (183.3, 48.8, 36.7))), means
assert all(one["image"][0].startswith(b"\x89PNG") for one in covered.values())
'
	# what has none stays as it is
	run_split 0 convert "$PHOTOS" -o a/p --shards 1
	run_split 0 convert "$PHOTOS" -o b/p --shards 1 --alpha white --apply-orientation --max-side 5000
	cmp a/p-* b/p-*
}

@test "grey stays grey, CMYK becomes RGB" {
	run_split 0 convert "$CASES/83-jpeg-kinds/in/c/gray.jpg" "$CASES/73-png-16-bit/in/c/gray16.png" \
		-o jpeg/p --shards 1 --reencode jpeg:90
	run_split 0 convert "$CASES/83-jpeg-kinds/in/c/gray.jpg" "$CASES/73-png-16-bit/in/c/gray16.png" \
		-o png/p --shards 1 --reencode png
	py '
for one in examples(*glob.glob("jpeg/p-*")).values():
    image = one["image"][0]
    at = image.index(b"\xff\xc0")
    assert image[at + 9] == 1  # components
for one in examples(*glob.glob("png/p-*")).values():
    assert one["image"][0][24:26] == b"\x08\0"  # 8 bits, grey
'
	needs_shared
	cmyk=("$SHARED"/fixtures/formats/jpeg/*cmyk*.jp*g "$SHARED"/fixtures/formats/jpeg/*/*cmyk*.jp*g)
	for file in "${cmyk[@]}"; do
		[ -e "$file" ] || continue
		rm -rf out
		run_split 0 convert "$file" -o out/p --shards 1 --reencode png
		holds "$stderr" "1 of CMYK turned into RGB"
		py 'for one in examples(*glob.glob("out/p-*")).values(): assert one["image"][0][25] == 2 and one["image/colorspace"][0] in (b"cmyk", b"ycck")'
	done
}

@test "the same bytes for any threads and memory, and an index for what was made" {
	args=(--reencode jpeg:85 --max-side 90 --apply-orientation --jpeg-index rows --shards 3)
	run_split 0 convert "$PHOTOS" -o one/p -j 1 "${args[@]}"
	for threads in 2 3 8 99; do
		rm -rf two
		TUNDISH_STALL=1 run_split 0 convert "$PHOTOS" -o two/p -j $threads --memory 1M "${args[@]}"
		same "$(digest two)" "$(digest one)"
	done
	run_split 0 bench one --ops 'random_resized_crop:24' --epochs 1 --repeat 1 --json
	holds "$output" '"jpeg_index_refused": 0'
	py 'assert all("image/jpeg_index" in one for one in examples(*glob.glob("one/p-*")).values())'
	# other options are another set
	run_split 2 convert "$PHOTOS" -o one/p --resume --max-side 91 --shards 3
}

@test "a damaged picture is bad when it has to be decoded, and only then" {
	mkdir in
	cp "$PHOTOS"/cat/cat_0[0-3].jpg in
	python3 - in/cat_01.jpg <<'PY'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
half = len(data) // 2
data[half:half + 400] = bytes(400)
open(sys.argv[1], "wb").write(data)
PY
	run_split 0 convert in -o kept/p --shards 1
	run_split 1 convert in -o small/p --shards 1 --max-side 50
	holds "$stderr" "cat_01.jpg"
	holds "$output" "4 found: 3 written, 1 bad"
	run_split 3 convert "$CASES/78-impossible-sizes/in" -o out/p --shards 1 --max-side 100 --max-pixels 1000000
	[ ! -e out ]
}

@test "raw pixels of flat pictures are counted before they are made" {
	mkdir in
	python3 - <<'PY'
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
side = 3000  # 27 MB of pixels in 27 KB
for i in range(6):
    rows = zlib.compress((b"\0" + bytes([i, 50, 90]) * side) * side)
    open(f"in/{i}.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
                                    chunk(b"IDAT", rows) + chunk(b"IEND", b""))
PY
	for j in 1 8; do
		memory "$TUNDISH" convert in -o $j/p --shards 1 --labels none --reencode raw --memory 16M -j $j
		[ "$code" = 0 ]
		# one picture may pass alone: its pixels and its record
		[ "$kb" -lt $(((16 + 32 + 2 * 27) * 1024)) ]
	done
	[ "$(digest 1)" = "$(digest 8)" ]
	py 'for name, one in examples(*glob.glob("1/p-*")).items():
    assert one["image/value"][0] == bytes([int(name[-5]), 50, 90]) * 9000000, name'
}

@test "wrong wishes are refused" {
	for args in "--reencode jpeg:0" "--reencode jpeg:101" "--reencode png:9" "--reencode raw:float32" "--reencode gif" \
		"--max-side 0" "--shorter-side x" "--alpha grey" "--alpha white --reencode jpeg-lossless" \
		"--max-side 9 --reencode jpeg-lossless:restart=off" "--apply-orientation --reencode jpeg-lossless"; do
		usage_error convert "$PHOTOS" -o out/p $args
	done
}
