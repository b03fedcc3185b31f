# SPDX-License-Identifier: BSD-2-Clause
# What all .bats files load: a folder for each test, and a few words to say things with.
bats_require_minimum_version 1.5.0

SOURCE=${TUNDISH_SOURCE:-$BATS_TEST_DIRNAME/../..}
SHARED=${TUNDISH_SHARED:-$SOURCE/../shared}
TUNDISH=${TUNDISH:?the program to test}
DATA=$SOURCE/data
GOLDEN=$SOURCE/tests/golden/cli

setup() {
	T=$BATS_TEST_TMPDIR/t
	mkdir "$T"
	cd "$T" || return 1
}

teardown() {
	cd / || return 1
	chmod -R u+w "$BATS_TEST_TMPDIR" 2>/dev/null || true
}

tundish() {
	"$TUNDISH" "$@"
}

needs_shared() {
	[ -d "$SHARED" ] || skip "no shared test material"
}

# run_split CODE ARG...: the program with that exit code; $output, $stderr and their lines
run_split() {
	run "-$1" --separate-stderr tundish "${@:2}"
}

# The text or $1 holds $2.
holds() {
	[[ $1 == *"$2"* ]] || {
		printf 'expected to hold: %s\nbut it is: %s\n' "$2" "$1"
		return 1
	}
}

same() {
	[ "$1" = "$2" ] || {
		printf 'expected: %s\nbut it is: %s\n' "$2" "$1"
		return 1
	}
}

# The usage error of a command line: exit 2, nothing on stdout, something on stderr,
# and nothing written to the folder.
usage_error() {
	run_split 2 "$@"
	same "$output" ""
	[ -n "$stderr" ]
	same "$(ls -A "$T")" ""
}

# golden NAME: $output is what golden/NAME holds.
golden() {
	if [ -n "${TUNDISH_BLESS:-}" ]; then
		mkdir -p "$GOLDEN"
		printf '%s\n' "$output" >"$GOLDEN/$1"
	fi
	diff -u "$GOLDEN/$1" <(printf '%s\n' "$output")
}

# on_terminal FILE COMMAND...: runs it with a terminal as standard output and error,
# writes what appeared there to FILE, and returns the command's exit code.
on_terminal() {
	python3 - "$@" <<'PY'
import os, pty, sys
out = open(sys.argv[1], "wb")
def read(fd):
    data = os.read(fd, 65536)
    out.write(data)
    out.flush()
    return data
os.dup2(os.open("/dev/null", os.O_RDWR), 1)
status = pty.spawn(sys.argv[2:], read, lambda fd: b"")
sys.exit(os.waitstatus_to_exitcode(status))
PY
}

# records FILE FIRST COUNT [BYTES]: makes a record file
records() {
	python3 "$BATS_TEST_DIRNAME/mkrecords.py" "$@"
}

# json EXPRESSION: a Python expression about the JSON object `j` in $output must hold
json() {
	python3 -c 'import json, sys; j = json.loads(sys.argv[1]); sys.exit(not eval(sys.argv[2]))' "$output" "$1" || {
		printf 'does not hold: %s\nof: %s\n' "$1" "$output"
		return 1
	}
}

# examples EXPRESSION FILE...: a Python expression about r, the records of the files
examples() {
	python3 "$BATS_TEST_DIRNAME/holds.py" "$@"
}

# memory COMMAND...: runs it; its largest size in kB is in $kb, without what meson
# fills and the freed memory that a sanitizer holds back; its exit code in $code
memory() {
	kb=$(MALLOC_PERTURB_=0 ASAN_OPTIONS=$ASAN_OPTIONS:quarantine_size_mb=0:thread_local_quarantine_size_kb=0 python3 - "$@" <<'PY'
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, code)
PY
	)
	code=${kb#* }
	kb=${kb% *}
}
