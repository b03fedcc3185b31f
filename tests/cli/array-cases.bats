# SPDX-License-Identifier: BSD-2-Clause
# tundish convert on arrays that tools of this kind failed on; the number is the case's.
load lib.bash
CASES=$SOURCE/tests/golden/cases

# The cube that most of these files hold: band b, line l, sample s.
CUBE='[(30 * b + 5 * l + s) * 13 % 4000 for l in range(6) for s in range(5) for b in range(4)]'

@test "90: headers by other programs" {
	cp "$CASES"/90-*/* .
	for f in upper comments crlf bom interleave-caps leading-space no-offset-no-byteorder; do
		run_split 0 convert $f.hdr -o "$f/p"
		examples "struct.unpack('<120H', r[0]['image'][0]) == tuple($CUBE)" $f/*-of-*
	done
	while read -r f why; do
		run_split 3 convert "$f.hdr" -o "bad/p"
		holds "$stderr" "$why"
	done <<-'LIST'
		no-interleave no "interleave"
		no-bands no "bands"
		open-brace brace opened on line
		negative where a whole number above 0 is due
		huge samples
		wrong-magic wrong-magic.hdr
	LIST
	[ ! -e bad ]
	run_split 0 convert no-interleave.hdr -o forced/p --interleave bsq
	examples "struct.unpack('<120H', r[0]['image'][0]) == tuple($CUBE)" forced/*-of-*
}

@test "92: every interleave, byte order and type" {
	cp "$CASES"/92-*/* .
	for f in u16-bip-be u16-bip-le u16-bil-be u16-bil-le u16-bsq-be u16-bsq-le; do
		run_split 0 convert $f.hdr -o "$f/p"
		examples "struct.unpack('<120H', r[0]['image'][0]) == tuple($CUBE) and r[0]['dtype'] == [b'uint16']" $f/*-of-*
	done
	while read -r type letter name; do
		run_split 0 convert "type-$type.hdr" -o "t$type/p"
		examples "list(struct.unpack('<120$letter', r[0]['image'][0])) == [v % 200 for v in $CUBE] and r[0]['dtype'] == [b'$name']" t"$type"/*-of-*
	done <<-'LIST'
		1 B uint8
		2 h int16
		3 i int32
		4 f float32
		5 d float64
		12 H uint16
		13 I uint32
		14 q int64
		15 Q uint64
	LIST
	run_split 0 convert type-6-complex.hdr -o c/p
	examples "r[0]['dtype'] == [b'complex64'] and r[0]['image'][0] == open('type-6-complex.img', 'rb').read()" c/*-of-*
	run_split 3 convert type-7-none.hdr -o bad/p
	holds "$stderr" "unknown data type 7"
}

@test "94: header and data under different names" {
	cp -r "$CASES"/94-*/* .
	for f in xnone ximg xdat xraw xbsq xIMGU double; do
		run_split 0 convert $f -o "out-$f/p" --labels none
		examples "len(r) == 1 and struct.unpack('<120H', r[0]['image'][0]) == tuple($CUBE)" out-$f/*-of-*
		[[ $output != *"left out"* ]]
	done
	run_split 3 convert nodata -o bad/p
	holds "$stderr" "no data file beside the ENVI header: looked for cube, .img, .dat"
	run_split 0 convert ambiguous -o amb/p
	holds "$stderr" "data are taken from cube.img, though cube.dat would fit as well"
	run_split 0 convert radiance -o rad/p
	examples 'len(r[0]["image"][0]) == 2 * 8 * 3 * 4' rad/*-of-*
}

@test "96: SPE 3 footers and strides" {
	cp "$CASES"/96-*/* .
	value='tuple((48 * k + 8 * y + x) * 7 for y in range(6) for x in range(8))'
	for f in footer frame-metadata header-dims-wrong header-dims-zero footer-offset-past-end footer-cut; do
		run_split 0 convert $f.spe -o "$f/p"
		examples "len(r) == 5 and all(struct.unpack('<48H', x['image'][0]) == (lambda k: $value)(x['frame'][0]) for x in r)" $f/*-of-*
	done
	run_split 0 convert footer-cut.spe -o again/p
	holds "$stderr" "the old header is read instead"
	# its regions are said to be larger than its frames
	run_split 3 convert two-regions.spe -o two/p
	holds "$stderr" "2 regions do not fit into frames of 96 bytes"
}

@test "107: a record of 100 MB is written and read" {
	printf 'ENVI\nsamples = 10000\nlines = 10000\nbands = 1\ndata type = 1\ninterleave = bsq\n' >big.hdr
	truncate -s 100000000 big.img
	run_split 0 convert big.hdr -o out/p
	run_split 0 count --verify out
	same "$output" 1
}

@test "108: 200,000 names are listed at once, in little memory" {
	mkdir d
	(cd d && seq 200000 | sed 's/$/.png/' | xargs touch)
	start=$(date +%s%N)
	memory "$TUNDISH" convert d -o out/p --dry-run
	same "$code" 0
	[ $(($(date +%s%N) - start)) -lt 5000000000 ]
	[ "$kb" -lt 200000 ]
	# the same by a table with columns
	{
		echo file,label,age,site
		seq 200000 | awk '{ print $1 ".png,c" $1 % 10 "," $1 % 90 ",site" $1 % 100 }'
	} >t.csv
	memory "$TUNDISH" convert d -o out/p --dry-run --labels csv:t.csv --columns age,site
	same "$code" 0
	[ "$kb" -lt 200000 ]
}

@test "a cube of 9 GB is tiled in little memory, by the bytes that are asked for" {
	for interleave in bsq bil bip; do
		printf 'ENVI\nsamples = 3000\nlines = 3000\nbands = 500\ndata type = 12\ninterleave = %s\n' $interleave >big.hdr
		truncate -s 9000000000 big.img
		memory "$TUNDISH" convert big.hdr -o "out-$interleave/p" --tile 64x64 --limit 4 --memory 128M
		same "$code" 0
		[ "$kb" -lt 300000 ]
		memory "$TUNDISH" convert big.hdr -o "one-$interleave/p" --bands 250 --tile 1000x1000 --limit 2
		same "$code" 0
		[ "$kb" -lt 300000 ]
	done
}
