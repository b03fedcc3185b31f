# SPDX-License-Identifier: BSD-2-Clause
# What holds for the whole program: help, usage errors, standard files, signals.
load lib.bash

@test "help and version go to stdout, exit 0, nothing on stderr" {
	for args in --help -h help --version "help count" "count --help" "count -h"; do
		# shellcheck disable=SC2086
		run_split 0 $args
		[ -n "$output" ]
		same "$stderr" ""
	done
}

@test "each command of the list has a help, with its usage line first" {
	run_split 0 --help
	for command in $(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' <<<"$output"); do
		run_split 0 "$command" --help
		holds "${lines[0]}" "usage: tundish $command"
	done
}

@test "help of the pages that exist, by either name" {
	for page in convert feed flow formats; do
		run_split 0 help "tundish-$page"
		same "$output" "$("$TUNDISH" help "$page")"
		[ "${#lines[@]}" -gt 30 ]
	done
	same "$("$TUNDISH" help tundish)" "$("$TUNDISH" --help)"
	run_split 0 help tundish-flow
	holds "$output" "Mirrors left and right"
	[[ $output != *'*--'* && $output != *\`* ]]
	run_split 0 help libtundish
	holds "$output" "#include <tundish.h>"
	usage_error help tundish-bork
	usage_error help ""
}

@test "a file that an option names and that cannot be read is exit 3" {
	records a.tfrecord 0 3
	for args in "convert $DATA/photos -o x/p --class-list /dev/null" \
		"convert $DATA/photos -o x/p --labels csv:/dev/null" \
		"feed a.tfrecord --to null --sampler weighted:label,table=/dev/null"; do
		# shellcheck disable=SC2086
		run_split 3 $args
		same "${stderr_lines[-1]}" "tundish: /dev/null: not a regular file"
		[ ! -e x ]
	done
}

@test "version names library, header, compiler and features" {
	run_split 0 --version
	holds "${lines[1]}" "library "
	holds "${lines[1]}" "header "
	holds "${lines[2]}" "compiler "
	holds "${lines[3]}" "libjpeg-turbo/"
}

@test "wrong command lines are exit 2, told on stderr, and nothing is written" {
	usage_error
	usage_error --bork
	usage_error bork
	usage_error help bork
	usage_error help count bork
	usage_error --help --bork
	usage_error --version bork
	usage_error count
	usage_error count --bork x
	usage_error count -Z x
	usage_error count --threads
	usage_error count x --threads
	usage_error count --thread 2 x
	usage_error count --per x
	usage_error count --threads x x
	usage_error count --threads 0 x
	usage_error count --threads -1 x
	usage_error count --threads 99999999999999999999 x
	usage_error count --memory 1Q x
	usage_error count --crc maybe x
	usage_error count --json=yes x
	usage_error count --by "" x
}

@test "case 103: numbers of shards that are none are exit 2, and nothing is written" {
	for shards in x -1 0 1.5 "" train= train=0; do
		usage_error convert "$DATA/photos" -o out/set --shards "$shards"
	done
	usage_error convert "$DATA/photos" -o out/set --shards
	usage_error convert "$DATA/photos"
	usage_error convert "$DATA/photos" -o out/set --check maybe
	usage_error convert "$DATA/photos" -o out/set --split train=2
	usage_error convert -o out/set
	usage_error shard -o out/set
	usage_error feed
	usage_error bench
	usage_error inspect
}

@test "mistyped names bring the nearest one" {
	run_split 2 cuont
	holds "$stderr" "did you mean count?"
	run_split 2 count --per-flie
	holds "$stderr" "did you mean --per-file?"
	run_split 2 count --thread=2 x
	holds "$stderr" "did you mean --threads?"
	run_split 2 count --qqqqqqq
	[[ $stderr != *"did you mean"* ]]
}

@test "a closed standard input is exit 3, not a hang" {
	run -3 --separate-stderr bash -c '"$TUNDISH" count - <&-'
	holds "$stderr" "standard input is closed"
	run -3 --separate-stderr bash -c '"$TUNDISH" count /dev/stdin <&-'
}

@test "a standard output that cannot be written is exit 3" {
	run -3 --separate-stderr bash -c '"$TUNDISH" --version >/dev/full'
	holds "$stderr" "No space left on device"
	run -3 --separate-stderr bash -c '"$TUNDISH" --version >&-'
}

@test "a reader that went away ends the program by SIGPIPE, without a word" {
	run -0 --separate-stderr bash -c '
		{ sleep .2; "$TUNDISH" count --help; echo $? >code; } | true; cat code'
	same "$output" 141
	same "$stderr" ""
}

@test "a path that does not exist is exit 3 and named" {
	run_split 3 count nowhere.tfrecord
	holds "$stderr" nowhere.tfrecord
}

@test "messages do not depend on the locale" {
	for locale in C C.UTF-8 de_DE.UTF-8 en_US.UTF-8; do
		run env LC_ALL=$locale LANGUAGE=de "$TUNDISH" count --threads=x nowhere
		echo "$output" >>seen
		run env LC_ALL=$locale LANGUAGE=de "$TUNDISH" count $'nowhere-\xc3\xa9-\xe9'
		echo "$output" >>seen
	done
	same "$(sort -u seen | wc -l)" 2
	holds "$(cat seen)" 'nowhere-é-\xe9'
}

@test "an error log that cannot be opened is exit 3, before anything is read" {
	run_split 3 count --error-log nowhere/log.json x
	holds "$stderr" "nowhere/log.json"
}

@test "binary data are not written to a terminal" {
	records a.tfrecord 0 3
	for args in "feed a.tfrecord" "feed --to raw a.tfrecord" "convert -o - ." "shard -o - a.tfrecord"; do
		# shellcheck disable=SC2086
		run -2 on_terminal seen "$TUNDISH" $args
		holds "$(cat seen)" "terminal"
	done
	same "$(ls)" $'a.tfrecord\nseen'
}

@test "progress is shown on a terminal and wiped away" {
	mkdir set
	for i in 0 1 2 3; do
		records set/a-0000$i-of-00004 0 5
	done
	run -0 on_terminal seen "$TUNDISH" count set
	same "$(tr -d '\r' <seen | tail -n 1)" 20
}

@test "case 106: standard input gives the result of the file, also gzip on a pipe" {
	result() {
		"$@" >out 2>err && code=0 || code=$?
		echo "$code $(cat out) $(sed 's/^.*: record/record/' err)"
	}
	for file in "$SOURCE"/tests/golden/cases/{01,03,06,10,12,14,15}-*/*; do
		case $file in *EXPECT | *.md | *.json) continue ;; esac
		want=$(result tundish count --verify "$file" | sed "s|$file|-|")
		same "$(result tundish count --verify - <"$file")" "$want"
		same "$(cat "$file" | result tundish count --verify -)" "$want"
		same "$(cat "$file" | result tundish count --verify /dev/stdin | sed 's|/dev/stdin|-|')" "$want"
	done
	records a.tfrecord 0 40
	gzip -c a.tfrecord >a.gz
	for input in a.tfrecord a.gz; do
		same "$(cat $input | tundish count -)" 40
		cat $input | tundish shard -q - -o - 2>/dev/null | cmp - a.tfrecord
		cat $input | tundish inspect --schema - >schema
		diff schema <(tundish inspect --schema a.tfrecord)
	done
}

@test "convert and feed write to a pipe, and to standard input of another" {
	tundish convert -q "$DATA/photos" -o - 2>/dev/null >stream
	same "$(tundish convert -q "$DATA/photos" -o - 2>/dev/null | tundish count -)" "$(tundish count stream)"
	same "$(gzip -c stream | tundish count -)" "$(tundish count stream)"
}

@test "the same message on a terminal and away from it" {
	run -3 on_terminal seen "$TUNDISH" count nowhere
	run_split 3 count nowhere
	same "$(tr -d '\r' <seen)" "$stderr"
}

@test "SIGINT and SIGTERM end the program by that signal" {
	mkfifo pipe
	for signal in INT TERM; do
		run -0 --separate-stderr env SIGNAL=$signal python3 - <<'PY'
import os, signal, subprocess, time
number = getattr(signal, "SIG" + os.environ["SIGNAL"])
p = subprocess.Popen([os.environ["TUNDISH"], "count", "-"], stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
time.sleep(.2)
p.send_signal(number)
p.stdin.close()
p.wait(10)
print(p.returncode == -number)
PY
		same "$output" True
	done
}

@test "-v tells what the run cost" {
	records a.tfrecord 0 3
	run_split 0 count -v a.tfrecord
	same "$output" 3
	holds "$stderr" "CPU time"
}

@test "bash completes commands, options and their values" {
	source "$COMPLETION"
	complete_line() {
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		COMPREPLY=()
		_tundish
		echo "${COMPREPLY[*]}"
	}
	same "$(complete_line tundish co)" "convert count"
	same "$(complete_line tundish count --ver)" "--verify --verbose"
	same "$(complete_line tundish count --crc o)" "off"
	same "$(complete_line tundish help f)" "feed flow formats"
	records a.tfrecord 0 3
	same "$(complete_line tundish count a)" "a.tfrecord"
}
