# SPDX-License-Identifier: BSD-2-Clause
# tundish inspect on files that other tools went wrong on; see golden/cases/ORIGIN.md.
load lib

CASES=$SOURCE/tests/golden/cases

@test "case 12: an Example with 0 features" {
	run_split 0 inspect "$CASES/12-zero-length-record/only-empty.tfrecord"
	holds "$output" "1 Example with 0 features"
	run_split 0 inspect --record 1 "$CASES/12-zero-length-record/with-empty.tfrecord"
	holds "$output" "0 bytes, Example"
	holds "$output" "0 features"
}

@test "case 18: an empty list, no kind, no feature at all" {
	run_split 0 inspect --json "$CASES/18-empty-lists/a.tfrecord"
	same "$(jq -c '.features[]|select(.name=="label")|[.records,.absent,[.kinds[]|[.kind,.records,.empty,.max_values]]]' <<<"$output")" \
		'[3,2,[["int64",2,1,3],["none",1,1,0]]]'
	run_split 0 inspect "$CASES/18-empty-lists/a.tfrecord"
	holds "$output" "empty in 1, absent in 2"
	holds "$output" "no kind set"
	for r in 0:3 1:0 2:0; do
		run_split 0 inspect --json --record ${r%:*} "$CASES/18-empty-lists/a.tfrecord"
		same "$(jq '.features[]|select(.name=="label").count' <<<"$output")" ${r#*:}
	done
	run_split 0 inspect --json --record 3 "$CASES/18-empty-lists/a.tfrecord"
	same "$(jq -c '[.features[].name]' <<<"$output")" '["id"]'
}

@test "case 19: several strings in one feature" {
	run_split 0 inspect --json --record 0 "$CASES/19-several-bytes/a.tfrecord"
	same "$(jq -c '.features[]|select(.name=="tags").values' <<<"$output")" '["cat","","two words"]'
}

@test "case 20: a feature that is missing in one record" {
	run_split 0 inspect "$CASES/20-missing-feature/a.tfrecord"
	holds "$output" "4 of 5"
	holds "$output" "feature image/class/label is missing in 1 of 5 records, first "
	holds "$output" "a.tfrecord: record 3"
}

@test "case 21: a feature that changes kind, with the first file of each" {
	run_split 0 inspect "$CASES/21-type-differs"
	holds "$output" "feature label changes kind: int64 in 2"
	run_split 0 inspect --json "$CASES/21-type-differs"
	same "$(jq -c '[.features[0].kinds[]|[.kind,.records,(.first_file|sub(".*/";""))]]' <<<"$output")" \
		'[["int64",2,"t-00000-of-00003"],["float",2,"t-00001-of-00003"],["bytes",2,"t-00002-of-00003"]]'
}

@test "case 23: integers keep all digits" {
	run_split 0 inspect --record 0 "$CASES/23-int64-edges/a.tfrecord"
	v="[-1, 0, -9223372036854775808, 9223372036854775807, 2147483648, -2147483649, 9007199254740993]"
	holds "$output" "$v"
	run_split 0 inspect --json --record 0 "$CASES/23-int64-edges/a.tfrecord"
	same "$(tr -d '\n ' <<<"$output" | grep -o '"values":[^]]*]')" "\"values\":${v// /}"
	run_split 0 inspect --json --record 1 "$CASES/23-int64-edges/a.tfrecord"
	same "$(jq '.features[]|select(.name=="image/class/label").values[0]' <<<"$output")" -1
}

@test "case 24: SequenceExamples with their lists" {
	run_split 0 inspect --json "$CASES/24-sequence-example/a.tfrecord"
	same "$(jq -c '[.types.SequenceExample,.types.Example]' <<<"$output")" '[2,0]'
	same "$(jq -c '[.feature_lists[]|[.name,.kinds[0].min_values,.kinds[0].max_values]]' <<<"$output")" \
		'[["frames",1,3],["words",1,3]]'
	for r in 0:1 1:3; do
		run_split 0 inspect --json --record ${r%:*} "$CASES/24-sequence-example/a.tfrecord"
		same "$(jq -c '[.context[0].name,.context[0].values[0],(.feature_lists[]|.steps)]' <<<"$output")" \
			"[\"len\",${r#*:},${r#*:},${r#*:}]"
	done
}

@test "case 26: odd bytes are escaped for people and valid in JSON" {
	f=$CASES/26-odd-bytes-values/a.tfrecord
	run_split 0 inspect --record 0 "$f"
	holds "$output" '\x1b[2J'
	holds "$output" 'a\nb'
	holds "$output" 'a\x00b'
	holds "$output" 'caf\xe9'
	holds "$output" 'café/猫.jpg'
	[[ $output != *$'\x1b'* ]]
	run_split 0 inspect --json --record 0 "$f"
	same "$(jq -r '.features[]|select(.name=="nul").values[0]' <<<"$output" | od -An -c | tr -d "\n")" "   a  \\0   b  \\n"
	run_split 0 inspect --json --record 1 "$f"
	same "$(jq -c '[.features[].name]' <<<"$output")" '["kéy","bad\\xffkey","","sp ace"]'
	run_split 0 inspect --json "$f"
	iconv -f utf-8 -t utf-8 <<<"$output" | jq . >/dev/null
}

@test "damage is named, and all good records are surveyed" {
	run_split 1 inspect --json "$CASES/15-which-shard"
	same "$(jq -c '[.records,.faults,.checked,[.files[].records]]' <<<"$output")" \
		'[11,1,"full",[3,3,2,3]]'
	holds "$stderr" "train-00002-of-00004: record 1 at byte 258: data checksum mismatch"
	run_split 1 inspect --json "$CASES/05-not-a-tfrecord/lfs-pointer.tfrecord"
	same "$(jq -c '[.records,.faults]' <<<"$output")" '[0,1]'
}

@test "a record that is not there, a record behind damage" {
	run_split 2 inspect --record 9 "$CASES/23-int64-edges/a.tfrecord"
	holds "$stderr" "there is no record 9"
	run_split 0 inspect --record 3 "$CASES/03-payload-bitflip/flip.tfrecord"
	holds "$output" "record 3 at byte 774"
	run_split 0 inspect --record 4 "$CASES/21-type-differs"
	holds "$output" "t-00002-of-00003: record 0"
}

@test "the same findings for any number of threads" {
	for j in 1 2 3 8 99; do
		for form in --json --quiet; do
			"$TUNDISH" inspect --decode $form -j $j "$CASES"/{01,03,05,12,14,15,18,21,24,26}-*/ \
				>out$form.$j 2>err$form.$j || [ $? = 1 ]
			cmp out$form.1 out$form.$j
			cmp err$form.1 err$form.$j
		done
	done
	[ "$(wc -l <err--json.1)" -gt 10 ]
}

@test "pictures in files of their own: their headers" {
	run_split 0 inspect "$DATA"/photos/cat/cat_00.jpg
	[[ $output =~ cat_00.jpg:\ JPEG\ [0-9]+x[0-9]+,\ 3\ channels,\ 8\ bits ]]
	run_split 0 inspect --json "$CASES"/73-png-16-bit/in/*/*.png "$CASES/12-zero-length-record/with-empty.tfrecord"
	json 'j["records"] == 3 and all(p["kind"] == "PNG" for p in j["pictures"]) and 16 in [p["bits"] for p in j["pictures"]]'
	run_split 1 inspect "$CASES"/34-one-bad-image/in/*/*
	holds "$output" "JPEG"
	[ -n "$stderr" ]
}

@test "a contact sheet: the same for any number of threads, spread over classes" {
	for j in 1 3 99; do
		run_split 0 inspect -j $j --sheet $j.png "$CASES/12-zero-length-record" "$CASES/20-missing-feature"
		cmp 1.png $j.png
	done
	run_split 0 inspect 1.png
	# 7 pictures of 192 in four columns and two rows
	holds "$output" "PNG 848x"
	run_split 0 inspect --sheet two.png --sheet-images 2 "$CASES/20-missing-feature"
	run_split 0 inspect two.png
	holds "$output" "PNG 640x"
	# the title is what the names have in common, not the first of them
	tundish convert -q "$DATA/photos" -o a/set --split one=.5,two=.5 --limit 4 2>/dev/null >&2
	mkdir b
	cp a/set-one.tfrecord-* b/set-three.tfrecord
	cp a/set-two.tfrecord-* b/set-two.tfrecord
	cp a/set-one.tfrecord-* set-one.tfrecord
	cp a/set-two.tfrecord-* set-two.tfrecord
	run_split 0 inspect --sheet splits.png set-one.tfrecord set-two.tfrecord
	run_split 0 inspect --sheet others.png b/set-three.tfrecord b/set-two.tfrecord
	cmp splits.png others.png
	run_split 2 inspect --sheet no.png - </dev/null
	run_split 3 inspect --sheet no.png "$CASES/21-type-differs"
	holds "$stderr" "no pictures"
	[ ! -e no.png ]
}

@test "--order: a sorted set, a mixed one" {
	run_split 0 inspect --json "$CASES/15-which-shard/train-00000-of-00004" "$CASES/20-missing-feature/a.tfrecord"
	json '0 <= j["order"]["shuffled"] <= 1 and j["order"]["runs"] > 1'
	run_split 0 inspect --order "$CASES/20-missing-feature/a.tfrecord"
	holds "$output" "4 runs of equal labels"
	holds "$output" "shuffled 1.000"
	[[ $output != *"features"* ]]
}

@test "--stats: exact levels of all pixels, the same for any number of threads" {
	for j in 1 3 99; do
		run_split 0 inspect -j $j --stats $j.json "$CASES/20-missing-feature" "$CASES/12-zero-length-record"
		cmp 1.json $j.json
	done
	output=$(cat 1.json)
	json 'j["images"] == 7 and j["pixels"] == 7 * 64 and j["channels"] == 3 and len(j["mean"]) == 3'
	json 'all(0 <= m <= 1 and 0 < s < 0.5 for m, s in zip(j["mean"], j["std"]))'
	run_split 3 inspect --stats no.json "$CASES/21-type-differs"
	[ ! -e no.json ]
}

@test "--diff: the same records in other shards, and what only one set has" {
	tundish convert -q "$DATA/photos" -o a/p --shards 2
	tundish convert -q "$DATA/photos" -o b/p --shards 5 --seed 3
	run_split 0 inspect --diff a b
	holds "$output" "46 records are in both sets"
	holds "$output" "the order differs"
	run_split 0 inspect --json --diff a 'a/p-train*'
	json 'j["both"] == 46 and j["same_order"] and j["a"]["only"] == 0'
	for j in 1 3 99; do
		run_split 1 inspect -j $j --json --diff a b/p-train.tfrecord-00000-of-00005 b/p-train.tfrecord-0000[12]-of-00005
		json 'j["both"] == j["b"]["records"] and j["b"]["only"] == 0 and j["a"]["only"] == 46 - j["both"]'
		json 'len(j["a"]["first_only"]) == 10'
		same "$output" "${before:-$output}"
		before=$output
	done
	run_split 3 inspect --diff none a
	run_split 2 inspect --diff a --record 0 b
}

@test "--record --raw and --extract: bytes as they were stored" {
	tundish convert -q "$DATA/photos" -o a/p --shards 1
	run_split 0 inspect --record 7 --json --extract one a
	name=$(jq -r '.features[]|select(.name=="filename").values[0]' <<<"$output")
	cmp "$DATA/photos/$name" one/00000007.*
	same "$(ls one | wc -l)" 1
	tundish inspect --record 7 --raw a >raw
	same "$(stat -c %s raw)" "$(jq .bytes <<<"$output")"
	grep -qF "$name" raw
	run_split 0 inspect --extract all a
	same "$(sha256sum all/* | cut -d' ' -f 1 | sort)" \
		"$(sha256sum "$DATA"/photos/*/* | cut -d' ' -f 1 | sort)"
	run_split 2 inspect --raw a
	run_split 3 inspect --extract no/folder a
}

@test "--index writes the side-cars anew" {
	tundish convert -q "$DATA/photos" -o a/p --shards 3
	cp -r a/index before
	rm -r a/index
	run_split 0 inspect --index a
	diff -r before a/index
	printf X | dd of=a/p-train.tfrecord-00001-of-00003 bs=1 seek=3 conv=notrunc status=none
	rm -r a/index
	run_split 1 inspect --index a
	same "$(ls a/index | xargs)" "p-train.tfrecord-00000-of-00003.idx p-train.tfrecord-00002-of-00003.idx"
	holds "$stderr" "no index: "
}

@test "--index finds the gzip members that begin with records" {
	for i in $(seq 12); do cp -r "$DATA/photos" in$i; done
	tundish convert -q in* -o a/p --shards 2 --compress gzip
	tundish shard -q a -o plain/p --shards 1
	cp -r a/index before
	grep -q "^gzip 1$" a/index/*00000*
	[ "$(grep -c "^@" a/index/*00000*)" -gt 1 ]
	rm -r a/index
	for threads in 1 3; do
		run_split 0 inspect --index a --threads $threads
		diff -r before a/index
	done
	same "$(tundish inspect a --record 100 --raw | sha256sum)" "$(tundish inspect plain --record 100 --raw | sha256sum)"
	rm a/tundish.json
	run_split 0 count --json --trust --per-file a
	holds "$output" '"source": "index"'
	# members of others are taken together where a record goes from one into the next
	mkdir b
	(head -c 300000 plain/p-train* | gzip; tail -c +300001 plain/p-train* | gzip) >b/cut.tfrecord.gz
	tundish shard -q a -o zlib/p --compress zlib
	cp zlib/p-train* b/zlib
	run_split 0 inspect --index b
	holds "$stderr" "no index: b/zlib: only uncompressed and GZIP files can be indexed"
	same "$(ls b/index)" cut.tfrecord.gz.idx
	same "$(tundish feed b/cut.tfrecord.gz --shuffle full --to hash -q)" "$(tundish feed plain --shuffle full --to hash -q)"
}

@test "case 78: what a header says is told, whatever it is; decoding has a limit" {
	d=$CASES/78-impossible-sizes/in/c
	run_split 0 inspect "$d/png-20000x20000-real.png"
	holds "$output" "PNG 20000x20000, 1 channel, 1 bits"
	holds "$stderr" "png-20000x20000-real.png: over the limit of 268435456 pixels"
	run_split 1 inspect --decode "$d/png-20000x20000-real.png"
	holds "$stderr" "20000 x 20000 is above the limit of 268435456 pixels"
	run_split 1 inspect "$d"/*
	holds "$stderr" "png-width-0.png: width 0"
	holds "$stderr" "jpeg-width-0.jpg: width 0"
}

@test "--decode: a picture that is damaged behind its header, a warning of the decoder" {
	mkdir in
	python3 - "$DATA/photos/cat" <<'PY'
import sys
for name, cut in ("cat_00", True), ("cat_01", False):
    data = bytearray(open(f"{sys.argv[1]}/{name}.jpg", "rb").read())
    middle = len(data) // 2
    if cut:
        del data[middle:]
    else:
        data[middle:middle + 2] = b"\xff\xd9"
    open(f"in/{name}.jpg", "wb").write(data)
PY
	tundish convert -q --check header --labels none in "$DATA/photos/cat/cat_02.jpg" -o a/p --shards 1
	run_split 0 inspect --verify a
	same "$stderr" ""
	run_split 1 inspect --verify --decode --json a
	same "${#stderr_lines[@]}" 2
	holds "$stderr" "JPEG is cut: no end marker"
	holds "$stderr" "Corrupt JPEG data"
	json 'j["faults"] == 2 and j["images"]["decoded"] == 1 and j["checked"] == "full"'
}

@test "fixtures: records of all kinds, and those that hold no Example" {
	needs_shared
	run_split 0 inspect --json "$SHARED/fixtures/tfrecord/all-none.tfrecord"
	json 'j["types"] == {"Example": 6, "SequenceExample": 1, "other": 1, "without_features": 1}'
	json '"1 picture is empty" in j["warnings"]'
	json 'any("hold no tf.train.Example" in w and "record 4" in w for w in j["warnings"])'
	before=$output
	for f in gzip zlib snappy; do
		run_split 0 inspect --json "$SHARED/fixtures/tfrecord/all-$f.tfrecord"
		json 'j["types"]["other"] == 1 and j["files"][0]["compression"] == "'$f'"'
		same "$(jq -cS '[.features,.record_bytes]' <<<"$output" | sed 's/all-[a-z]*/all/g')" \
			"$(jq -cS '[.features,.record_bytes]' <<<"$before" | sed 's/all-[a-z]*/all/g')"
	done
	run_split 0 inspect --record 4 "$SHARED/fixtures/tfrecord/all-none.tfrecord"
	holds "$output" "18 bytes, not an Example"
}

@test "--stats and normalize: the file says the same as its numbers" {
	tundish convert -q "$DATA/photos" -o a/p --shards 2
	tundish inspect --stats s.json a >/dev/null
	numbers=$(jq -r '"mean=\(.mean|map(tostring)|join("/")),std=\(.std|map(tostring)|join("/"))"' s.json)
	file=$("$TUNDISH" feed -q --to hash --ops 'resize:32 normalize:s.json' a)
	same "$file" "$("$TUNDISH" feed -q --to hash --ops "resize:32 normalize:$numbers" a)"
	[ "$file" != "$("$TUNDISH" feed -q --to hash --ops 'resize:32 normalize' a)" ]
	echo '{"mean": [0, 0], "std": [1, 1, 1]}' >bad.json
	run_split 2 feed -q --to hash --ops 'normalize:bad.json' a
	run_split 2 feed -q --to hash --ops 'normalize:s.json,mean=.1/.2,std=.1/.2' a
}

# make_arrays NAME CODE ENVI: two cubes of 7 lines, 5 samples, 3 bands; prints their exact statistics
make_arrays() {
	python3 - "$@" <<'PY'
import math, os, random, struct, sys
from fractions import Fraction
name, code, envi = sys.argv[1:]
random.seed(name)
draw = {"u1": lambda: random.randrange(256), "i2": lambda: random.randrange(-32768, 32768),
        "u4": lambda: random.randrange(1 << 32), "i8": lambda: (1 << 62) - random.randrange(1 << 20),
        "f4": lambda: random.uniform(-1, 1) * 10.0 ** random.randrange(-30, 30),
        "f8": lambda: 1e9 + random.random()}[name]
bands = [[] for _ in range(3)]
os.makedirs(name)
for k in range(2):
    values = [struct.unpack(code, struct.pack(code, draw()))[0] for _ in range(105)]
    if name == "f8" and k:
        values[0] = math.nan
    with open(f"{name}/c{k}.img", "wb") as f:
        f.write(struct.pack("<105" + code[1:], *values))
    with open(f"{name}/c{k}.hdr", "w") as f:
        f.write(f"ENVI\nsamples = 5\nlines = 7\nbands = 3\ndata type = {envi}\ninterleave = bip\nbyte order = 0\n")
    for i, v in enumerate(values):
        if v == v:
            bands[i % 3].append(Fraction(v))
scale = 255 if name == "u1" else 1
for b in bands:
    mean = sum(b) / len(b)
    var = sum((v - mean) ** 2 for v in b) / len(b)
    root = math.isqrt(int(var * (1 << 400))) / (1 << 200)
    print(float(mean) / scale, float(root) / scale, float(min(b)), float(max(b)))
PY
}

@test "--stats of arrays: by the key, wherever it stands in a record" {
	python3 - <<'PY'
import struct
def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data
features = [(b"dtype", field(1, field(1, b"uint8")))]
for name, value in ((b"image", 10), (b"aux", 200)):
    features.append((name + b"/shape", field(3, field(1, bytes([2, 2, 3])))))
    features.append((name + b"/value", field(1, field(1, bytes([value] * 12)))))
with open("two", "wb") as f:
    for order in features, features[::-1]:
        example = b"".join(field(1, field(1, k) + field(2, v)) for k, v in order)
        record = bytes([1 << 3 | 2]) + bytes([len(example) & 127 | 128, len(example) >> 7]) + example
        f.write(struct.pack("<QI", len(record), 0) + record + bytes(4))
PY
	tundish shard -q --crc off two -o set/s --shards 1
	run_split 0 inspect --stats s.json --image-key image/value set
	jq -e '.arrays == 2 and .max == [10, 10, 10] and .min == .max' s.json
	run_split 0 inspect --stats s.json set
	jq -e '.arrays == 2 and .max == [200, 200, 200] and .min == .max' s.json
	tundish inspect -q --extract one --image-key image/value set >/dev/null
	tundish inspect -q --extract all set >/dev/null
	same "$(find one -name '*.npy' | wc -l)" 2
	same "$(find all -name '*.npy' | wc -l)" 4
}

@test "--stats of arrays: exact, of any type, for any threads" {
	for type in "u1 <B 1" "i2 <h 2" "u4 <I 13" "i8 <q 14" "f4 <f 4" "f8 <d 5"; do
		set -- $type
		make_arrays "$@" >want
		tundish convert -q $1 -o set$1/s --shards 2 --labels none 2>/dev/null
		run_split 0 inspect set$1 --stats s.json -j 1
		for threads in 2 3 8 99; do
			tundish inspect set$1 --stats t.json -j $threads >/dev/null
			cmp s.json t.json
		done
		python3 - want <<'PY'
import json, sys
s = json.load(open("s.json"))
assert (s["arrays"], s["pixels"], s["channels"]) == (2, 70, 3), s
for i, line in enumerate(open(sys.argv[1])):
    for key, want in zip(("mean", "std", "min", "max"), map(float, line.split())):
        assert abs(s[key][i] - want) <= 5e-15 * abs(want), (key, i, s[key][i], want)
PY
		# what is normalized by it has mean 0 and deviation 1
		tundish feed -q set$1 --ops "normalize:s.json" --batch 2 --to raw >out
		python3 - $1 <<'PY'
import struct, sys
v = struct.unpack("<210f", open("out", "rb").read()[:840])
for c in range(3 if sys.argv[1] in ("u1", "i2", "u4") else 0):
    b = v[c::3]
    assert abs(sum(b) / 70) < 1e-5 and abs(sum(x * x for x in b) / 70 - 1) < 1e-4, b
PY
	done
	same "$(jq -c .not_finite s.json)" "[1,0,0]"
	same "$(jq -r .dtype s.json)" float64
	# shapes may differ, kinds may not
	tundish convert -q i2/c0.hdr i2/c1.hdr -o mixed/s --tile 4x4 --edge keep --shards 1 2>/dev/null
	run_split 0 inspect mixed --stats s.json
	same "$(jq -c '[.arrays,.pixels]' s.json)" "[8,70]"
	run_split 1 inspect setu1/s-* seti2/s-* --stats s.json
	holds "$stderr" "an array of int16 with 3 channels behind others of uint8 with 3"
	tundish convert -q "$DATA/photos" -o p/s --shards 1
	run_split 2 inspect p/s-* seti2/s-* --stats s.json
	holds "$stderr" "pictures and arrays"
}

@test "devices and pipes are written in place" {
	mkfifo pipe
	timeout 10 cat pipe >got &
	run_split 0 inspect --stats pipe "$CASES/20-missing-feature"
	wait $!
	output=$(cat got)
	json 'j["images"] == 5'
	[ -p pipe ]
	ln -s /dev/full full
	run_split 3 inspect --stats full "$CASES/20-missing-feature"
	holds "$stderr" "full: No space left on device"
	[ -c /dev/full ]
	[ -L full ]
}
