/* SPDX-License-Identifier: BSD-2-Clause
 * Text of a side-car index, and names of shards. The input: a size, then the text. */
#include "fuzz.h"

#include "base/bits.h"
#include "record/frame.h"
#include "record/index.h"
#include "record/shardname.h"

static void names(const uint8_t *data, size_t len)
{
	char *name = strndup((const char *)data, len);
	struct td_shard_name n;
	uint64_t count;
	MUST(name);
	if (td_shard_name_parse(&n, name)) {
		MUST(n.shards > 0 && n.shards <= TD_SHARDS_MAX);
		MUST(n.prefix < strlen(name) && n.suffix > name && n.suffix <= name + strlen(name));
		MUST(td_shard_name_same(&n, &n));
	}
	td_name_count(&count, name);
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct td_index index = { 0 };
	uint64_t at = 0, size = len >= 8 ? td_le64(data) : 0;
	names(data, len);
	if (len < 8)
		return 0;
	if (td_index_parse(&index, (const char *)data + 8, len - 8, size) == NULL) {
		for (size_t i = 0; i < index.n; i++) {
			MUST(index.entries[i].offset == at && index.entries[i].bytes >= TD_FRAME_EXTRA);
			at += index.entries[i].bytes;
		}
		const struct td_pack_map *map = &index.map;
		MUST(at == (index.gzip ? map->bytes : size) && (map->n > 0) == (index.gzip && index.n > 0));
		for (size_t i = 0; i < map->n; i++) {
			const struct td_mark *mark = &map->marks[i];
			MUST(mark->raw < size && mark->number < index.n && index.entries[mark->number].offset == mark->offset);
			MUST(i == 0 || (mark->raw > mark[-1].raw && mark->number > mark[-1].number));
		}
		td_index_members_small(&index);
	}
	td_index_free(&index);
	return 0;
}
