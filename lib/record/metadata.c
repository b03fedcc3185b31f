/* SPDX-License-Identifier: BSD-2-Clause
 * The tundish.json of the folders that a run reads from, each loaded once. */
#include "metadata.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/path.h"

struct folder {
	struct folder *next;
	char *path;
	json_t *root;	      /* of its tundish.json; NULL: it has none */
	struct td_map shards; /* by name: const json_t *, in root */
};

struct td_metadata {
	pthread_mutex_t lock;
	struct folder *folders;
};

struct td_metadata *td_metadata_new(void)
{
	struct td_metadata *m = calloc(1, sizeof *m);
	if (m)
		pthread_mutex_init(&m->lock, NULL);
	return m;
}

static void free_folder(struct folder *f)
{
	td_map_free(&f->shards);
	json_decref(f->root);
	free(f->path);
	free(f);
}

void td_metadata_free(struct td_metadata *m)
{
	if (!m)
		return;
	for (struct folder *f = m->folders, *next; f; f = next) {
		next = f->next;
		free_folder(f);
	}
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static bool list_shards(struct folder *f)
{
	const json_t *shard;
	size_t i;
	f->shards.value_bytes = sizeof shard;
	json_array_foreach(json_object_get(f->root, "shards"), i, shard) {
		const char *name = json_string_value(json_object_get(shard, "file"));
		const json_t **slot = name ? td_map_at(&f->shards, name, strlen(name)) : NULL;
		if (name && !slot)
			return false;
		if (slot && !*slot)
			*slot = shard;
	}
	return true;
}

/* Takes the path. */
static struct folder *load(char *path)
{
	struct folder *f = calloc(1, sizeof *f);
	if (!f) {
		free(path);
		return NULL;
	}
	f->path = path;
	f->root = td_json_read_in(path, "tundish.json", TD_METADATA_MAX, 0, NULL);
	if (list_shards(f))
		return f;
	free_folder(f);
	return NULL;
}

/* The lock is held while it is loaded: who else asks would have to wait too. */
int td_metadata_shard(struct td_metadata *m, const json_t **ret, const char *path,
    struct tundish_error *e)
{
	char *folder = td_path_folder(path);
	const char *name = td_path_base(path);
	if (!folder)
		return td_err_memory(e);
	pthread_mutex_lock(&m->lock);
	struct folder *f = m->folders;
	while (f && strcmp(f->path, folder) != 0)
		f = f->next;
	if (f) {
		free(folder);
	} else if ((f = load(folder))) {
		f->next = m->folders;
		m->folders = f;
	}
	const json_t **slot = f ? td_map_find(&f->shards, name, strlen(name)) : NULL;
	pthread_mutex_unlock(&m->lock);
	*ret = slot ? *slot : NULL;
	return f ? 0 : td_err_memory(e);
}
