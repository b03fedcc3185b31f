# SPDX-License-Identifier: BSD-2-Clause
# The whole walk on data/photos, word for word: what each command prints, and the bytes
# of the batches, which are the same on every machine.
load lib.bash

OPS='random_resized_crop:64 hflip normalize:imagenet'

make_set() {
	tundish convert -q "$DATA/photos" -o set/photos --shards 2 --split train=.8,val=.2 2>/dev/null
}

# golden_run NAME ARG...: stdout is that of golden/NAME
golden_run() {
	run_split 0 "${@:2}"
	golden "$1"
}

@test "convert" {
	golden_run convert.txt convert "$DATA/photos" -o set/photos --shards 2 --split train=.8,val=.2
	[[ ${stderr_lines[-1]} =~ ^46\ images\ [0-9.]+\ s\ [0-9.]+\ /s$ ]]
	golden_run convert.json convert --json "$DATA/photos" -o other/photos --shards 2
	golden_run convert-plan.txt convert --dry-run "$DATA/photos" -o none/photos --shards 2
	[ ! -e none ]
}

@test "count" {
	make_set
	golden_run count.txt count --per-file --verify --by label set
	golden_run count.json count --json --per-file --by label set
}

@test "inspect" {
	make_set
	golden_run inspect.txt inspect set
	golden_run inspect.json inspect --json set
	golden_run record.txt inspect --record 3 set
	golden_run record.json inspect --record 3 --json set
}

@test "shard" {
	make_set
	golden_run shard.txt shard 'set/photos-train*' -o again/photos --shards 3 --shuffle --seed 1
	tundish count --by label 'set/photos-train*' >before
	tundish count --by label again >after
	diff before after
}

@test "feed" {
	make_set
	golden_run feed.txt feed 'set/photos-train*' --ops "$OPS" --batch 8 --epochs 2 --shuffle full --to hash
}

@test "help" {
	for command in "" convert shard inspect count bench feed; do
		# shellcheck disable=SC2086
		run_split 0 help $command
		[ "$(wc -L <<<"$output")" -le 79 ]
	done
	golden_run help.txt --help
}
