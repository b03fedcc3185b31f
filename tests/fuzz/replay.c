/* SPDX-License-Identifier: BSD-2-Clause
 * Runs a fuzzer without an engine: each seed as it is, cut, and changed in ways that
 * are the same on every run. usage: replay-x ROUNDS FILE... */
#include <unistd.h>

#include "base/rng.h"
#include "fuzz.h"

/* A seed lies at the end of its own block, so that a read past it is seen. */
static void try_bytes(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	MUST(copy);
	memcpy(copy, data, len);
	LLVMFuzzerTestOneInput(copy, len);
	free(copy);
}

static uint8_t *read_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "re");
	MUST(f);
	uint8_t *data = malloc(1 << 20);
	MUST(data);
	*ret_len = fread(data, 1, 1 << 20, f);
	MUST(!ferror(f));
	fclose(f);
	return data;
}

/* Changes 1 to 4 places: a bit, a byte, or a number of one to eight bytes at its limits. */
static void change(uint8_t *data, size_t len, uint32_t file, uint32_t round)
{
	uint32_t draw[4], key[4] = { file, round, 0, 0 }, seed[4] = { 1, 2, 3, 4 };
	td_philox(draw, key, seed);
	unsigned places = 1 + draw[3] % 4;
	for (key[2] = 1; key[2] <= places; key[2]++) {
		td_philox(draw, key, seed);
		size_t at = (((uint64_t)draw[0] << 32) | draw[1]) % len;
		size_t width = TD_MIN((size_t)1 << (draw[2] >> 4 & 3), len - at);
		switch (draw[2] & 3) {
		case 0:
			data[at] ^= (uint8_t)(1u << (draw[3] & 7));
			break;
		case 1:
			data[at] = (uint8_t)draw[3];
			break;
		case 2:
			memset(data + at, draw[3] & 1 ? 0xff : 0, width);
			break;
		default:
			memmove(data + at, data + draw[3] % (len - width + 1), width);
		}
	}
}

static void replay(const uint8_t *data, size_t len, uint32_t file, uint32_t rounds)
{
	try_bytes(data, len);
	size_t step = TD_MAX(len / 64, 1);
	for (size_t cut = 0; cut < len; cut += step)
		try_bytes(data, cut);
	for (uint32_t round = 0; len && round < rounds; round++) {
		uint8_t *copy = malloc(len);
		MUST(copy);
		memcpy(copy, data, len);
		change(copy, len, file, round);
		try_bytes(copy, len);
		free(copy);
	}
}

int main(int argc, char **argv)
{
	MUST(argc > 2);
	alarm(250); /* a hang is a failure, whoever runs this */
	for (int i = 2; i < argc; i++) {
		size_t len;
		uint8_t *data = read_file(argv[i], &len);
		replay(data, len, (uint32_t)i, (uint32_t)atoi(argv[1]));
		free(data);
	}
	printf("%d seeds\n", argc - 2);
	return 0;
}
