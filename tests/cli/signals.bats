# SPDX-License-Identifier: BSD-2-Clause
# Runs that are ended by a signal: what is left, what is said, what the shell sees.
load lib.bash

# Waits until the command's temporary files are there, then sends the signal.
stop_convert() {
	python3 - "$1" <<'PY'
import glob, os, signal, subprocess, sys, time
number = getattr(signal, sys.argv[1])
p = subprocess.Popen([os.environ["TUNDISH"], "convert", "many", "-o", "out/set", "--check", "decode",
                      "--reencode", "jpeg:95", "--shards", "3", "-j", "1"], stderr=subprocess.PIPE)
while p.poll() is None and not glob.glob("out/.*.part"):
    time.sleep(.001)
p.send_signal(number)
message = p.communicate(timeout=20)[1].decode()
print(p.returncode == -number, "stopped by " + sys.argv[1] in message, message.count("\n"))
PY
}

make_many() {
	for i in 0 1 2 3 4 5 6 7 8 9; do
		mkdir -p many/class$i
		cp "$DATA"/photos/*/* many/class$i
	done
}

@test "SIGINT and SIGTERM: temporary files go, one line says how far it came" {
	make_many
	for signal in SIGINT SIGTERM; do
		run -0 stop_convert $signal
		same "$output" "True True 1"
		same "$(ls -A out 2>/dev/null)" ""
	done
}

@test "kill -9 leaves only hidden names, and the same command then succeeds" {
	make_many
	run -0 stop_convert SIGKILL
	holds "$output" "True"
	same "$(ls out)" ""
	[ -n "$(ls -A out)" ]
	tundish convert many -o out/set --shards 3 -q 2>/dev/null
	tundish convert many -o other/set --shards 3 -q 2>/dev/null
	diff -r out other
}

@test "one signal ends the search for records in a device that has none" {
	for command in count 'count --verify' inspect 'shard -o out/set' 'feed --to null'; do
		# shellcheck disable=SC2086
		run -130 timeout --preserve-status -s INT -k 10 1 "$TUNDISH" $command /dev/zero
	done
	same "$(ls -A out 2>/dev/null)" ""
}
