/* SPDX-License-Identifier: BSD-2-Clause
 * File names of shard sets: NAME-SPLIT.tfrecord-00000-of-00010 and its kin. */
#include "shardname.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits at s: their number, and the value where it fits in 18 of them. */
static size_t digits(const char *s, uint64_t *ret)
{
	size_t n = 0;
	uint64_t v = 0;
	while (is_digit(s[n]) && n < 19)
		v = v * 10 + (uint64_t)(s[n++] - '0');
	if (n == 0 || n > 18)
		return 0;
	*ret = v;
	return n;
}

/* "_00001234" at s, with an extension or the end behind it. */
static size_t count_part(const char *s, uint64_t *ret)
{
	size_t n;
	if (*s != '_' || (n = digits(s + 1, ret)) < 4)
		return 0;
	return s[n + 1] == 0 || s[n + 1] == '.' ? n + 1 : 0;
}

bool td_shard_name_parse(struct td_shard_name *ret, const char *name)
{
	struct td_shard_name out = { .name = name };
	bool found = false;
	for (const char *of = name; (of = strstr(of, "-of-")); of += 4) {
		const char *start = of;
		uint64_t shard, shards;
		while (start > name && is_digit(start[-1]))
			start--;
		size_t n = digits(of + 4, &shards);
		if (start == of || n == 0 || digits(start, &shard) != (size_t)(of - start) ||
		    shards == 0 || shards > TD_SHARDS_MAX)
			continue;
		found = true;
		out.prefix = (size_t)(start - name);
		out.shard = shard;
		out.shards = shards;
		out.suffix = of + 4 + n;
	}
	if (!found)
		return false;
	size_t n = count_part(out.suffix, &out.count);
	out.has_count = n > 0;
	out.suffix += n;
	*ret = out;
	return true;
}

bool td_shard_name_same(const struct td_shard_name *a, const struct td_shard_name *b)
{
	return a->prefix == b->prefix && memcmp(a->name, b->name, a->prefix) == 0 &&
	       a->has_count == b->has_count && strcmp(a->suffix, b->suffix) == 0;
}

bool td_name_count(uint64_t *ret_count, const char *name)
{
	struct td_shard_name shard;
	if (td_shard_name_parse(&shard, name)) {
		if (shard.has_count)
			*ret_count = shard.count;
		return shard.has_count;
	}
	const char *bar = strrchr(name, '_');
	return bar && count_part(bar, ret_count) > 0;
}
