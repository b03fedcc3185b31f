# SPDX-License-Identifier: BSD-2-Clause
# tundish inspect: text, JSON, one record, exit codes.
load lib.bash

@test "text for people and JSON for machines" {
	records a.tfrecord 0 9
	run_split 0 inspect a.tfrecord
	holds "$output" "label"
	same "$stderr" ""
	run_split 0 inspect --json a.tfrecord
	json 'isinstance(j, dict)'
}

@test "--record prints one record" {
	records a.tfrecord 0 9
	run_split 0 inspect --record 4 a.tfrecord
	holds "$output" "label"
	run_split 0 inspect --record 4 --json a.tfrecord
	json 'isinstance(j, dict)'
}

@test "a record that is not there is told" {
	records a.tfrecord 0 9
	run --separate-stderr tundish inspect --record 9 a.tfrecord
	[ "$status" -ne 0 ]
	holds "$stderr" "no record 9"
}

@test "damage is exit 1, the good records are surveyed" {
	records a.tfrecord 0 9
	printf X | dd of=a.tfrecord bs=1 seek=300 conv=notrunc status=none
	run_split 1 inspect a.tfrecord
	holds "$stderr" "a.tfrecord: record "
	holds "$output" "label"
}

@test "standard input" {
	records a.tfrecord 0 9
	tundish inspect --json a.tfrecord | sed 's/"a.tfrecord"/"-"/' >file
	cat a.tfrecord | tundish inspect --json - >stream
	diff file stream
	tundish inspect --json - <a.tfrecord >stream
	diff file stream
}

@test "--record goes to a record of a compressed set" {
	records a.tfrecord 0 90 30000
	for compress in none gzip zlib; do
		tundish shard a.tfrecord -o $compress/p --shards 1 --compress $compress
		for n in 0 41 89; do
			tundish inspect --record $n --raw $compress/p-* >$compress.$n
			cmp none.$n $compress.$n
		done
		run_split 2 inspect --record 90 $compress/p-*
		holds "$stderr" "there is no record 90: the files hold 90"
	done
}

@test "pictures in the lists of a SequenceExample: counted, decoded, extracted" {
	PYTHONPATH=$BATS_TEST_DIRNAME/.. python3 - "$DATA/photos/cat"/* <<-'E'
		import sys
		from records import field, frame, message
		photo = open(sys.argv[1], "rb").read()

		def sequence(lists):
		    return message({"label": 1}) + field(2, b"".join(
		        field(1, field(1, name) + field(2, b"".join(field(1, field(1, field(1, v))) for v in values)))
		        for name, values in lists.items()))

		with open("s.tfrecord", "wb") as out:
		    out.write(frame(sequence({b"image/encoded": [photo, photo, photo], b"words": [b"a", b"b", b"c"]})))
		    out.write(frame(sequence({b"image/encoded": [photo, photo[:3000]]})))
		    out.write(frame(sequence({b"other": [photo]})))
	E
	run_split 0 inspect --json s.tfrecord
	same "$(jq -c '[.records,.images.kinds.JPEG]' <<<"$output")" '[3,5]'
	run_split 1 inspect --decode s.tfrecord
	holds "$stderr" "s.tfrecord: record 1 at byte "
	run_split 0 inspect --extract out s.tfrecord
	same "$(echo out/*)" "out/00000000-1.jpg out/00000000-2.jpg out/00000000.jpg out/00000001-1.jpg out/00000001.jpg out/00000002.jpg"
	cmp out/00000000-2.jpg "$(ls "$DATA"/photos/cat/* | head -n 1)"
}

@test "parts of the text" {
	records a.tfrecord 0 9
	run_split 0 inspect --schema a.tfrecord
	holds "$output" "int64"
	[[ $output != *"classes in"* ]]
	records b.tfrecord 9 9
	run_split 0 inspect --classes --per-file a.tfrecord b.tfrecord
	holds "$output" "classes in label: 3"
	holds "$output" "b.tfrecord"
	[[ $output != *"int64"* ]]
}

@test "raw data: an ENVI header, a Radiance picture, what is not read" {
	printf 'ENVI\nsamples = 3\nlines = 2\nbands = 12\ndata type = 12\ninterleave = bip\nwavelength units = \xb5m\nwavelength = {%s}\n' \
		"$(seq -s, 400 10 510)" >c.hdr
	printf '#?RADIANCE\nFORMAT=32-bit_rle_rgbe\nEXPOSURE=2\n\n-Y 2 +X 3\n' >r.hdr
	head -c 24 /dev/zero >>r.hdr
	printf 'BYTEORDER I\nLAYOUT BIL\nNROWS 2\nNCOLS 2\nNBANDS 1\nNBITS 8\n' >e.hdr
	run_split 1 inspect c.hdr r.hdr e.hdr
	holds "$stderr" "c.hdr: no data file beside the ENVI header"
	holds "$stderr" "e.hdr: ESRI BIL headers are not supported"
	holds "$output" "c.hdr: ENVI"
	holds "$output" "  shape: 2, 3, 12"
	holds "$output" "    wavelength: 400, 410, 420, 430, ... 510 (12)"
	holds "$output" "    wavelength units: µm"
	holds "$output" "    EXPOSURE: 2"
	run_split 1 inspect c.hdr r.hdr e.hdr --json
	json 'j["faults"] == 1 and [s["kind"] for s in j["sources"]] == ["ENVI", "Radiance"]'
	json 'j["sources"][0]["metadata"]["wavelength"][11] == 510 and j["sources"][1]["shape"] == [2, 3, 3]'
	run_split 1 inspect e.hdr
	same "$output" ""
	run_split 1 inspect e.hdr --on-error fail
}

@test "raw data: frames, regions and axis of SPE files" {
	needs_shared
	spe=$SHARED/fixtures/formats/spe
	run_split 0 inspect "$spe/derived_v3_demo_2roi_first3frames.spe" "$spe/v2_blut1.SPE" --json
	json 'j["sources"][0]["shape"] == [3, 77, 1024] and j["sources"][0]["regions"][1]["y"] == 172'
	json '[f["name"] for f in j["sources"][0]["frame_fields"]][2:] == ["frame_tracking_number", "gate_delay"]'
	json 'abs(j["sources"][0]["axis"][0] - 431.6658874510205) < 1e-9 and j["sources"][0]["axis_unit"] == "nm"'
	json 'abs(j["sources"][1]["axis"][0] - (805.3970247667676 + 0.3180204630272863 - 4.2273047286305724e-05)) < 1e-9 and len(j["sources"][1]["axis"]) == 1023'
}

@test "sections without a line, and more features than are listed" {
	PYTHONPATH=$BATS_TEST_DIRNAME/.. python3 - <<'PY'
from records import frame, message
features = {f"a{i:05d}": 1 for i in range(10001)}
features["label"] = 7
open("many.tfrecord", "wb").write(frame(message(features)))
open("none.tfrecord", "wb").write(frame(b""))
PY
	for section in --schema --classes --order --per-file; do
		run_split 0 inspect $section none.tfrecord
		same "$output" ""
	done
	run_split 0 inspect --classes many.tfrecord
	holds "$output" "classes in label: 1"
	tundish inspect --json many.tfrecord >many.json
	grep -q '"feature": "label"' many.json
}

@test "raw data: orientation, colours and profiles of pictures" {
	needs_shared
	jpeg=$SHARED/fixtures/formats/jpeg
	run_split 0 inspect "$jpeg/pillow_hopper_orientation_6.jpg" "$jpeg/pillow_icc-after-SOF.jpg" \
		"$jpeg/pillow_hopper_gray.jpg" "$DATA/photos/cat/cat_00.jpg" --json
	json '[p["orientation"] for p in j["pictures"]] == [6, 1, 1, 1] and j["pictures"][1]["icc_profile"] and not j["pictures"][3]["icc_profile"]'
	json '[p["colours"] for p in j["pictures"]] == ["rgb", "grey", "grey", "rgb"]'
	run_split 0 inspect "$jpeg/pillow_hopper_orientation_6.jpg"
	holds "$output" "EXIF orientation 6"
}
