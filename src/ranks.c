/* SPDX-License-Identifier: BSD-2-Clause
 * Which of several processes this is, as launchers tell it in the environment. */
#include "ranks.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/attr.h"
#include "units.h"

static bool fits(uint64_t rank, uint64_t world, unsigned *ret_rank, unsigned *ret_world)
{
	if (world == 0 || world > INT32_MAX || rank >= world)
		return false;
	*ret_rank = (unsigned)rank;
	*ret_world = (unsigned)world;
	return true;
}

static bool from_pair(const char *rank, const char *world, unsigned *ret_rank, unsigned *ret_world)
{
	uint64_t r, w;
	rank = getenv(rank);
	world = getenv(world);
	return rank && world && units_parse_number(rank, &r, NULL) &&
	       units_parse_number(world, &w, NULL) && fits(r, w, ret_rank, ret_world);
}

/* The chief counts as worker 0; evaluators and parameter servers do not train. */
static bool from_tf_config(unsigned *ret_rank, unsigned *ret_world)
{
	const char *text = getenv("TF_CONFIG");
	json_t *config = text ? json_loads(text, 0, NULL) : NULL;
	const char *type = NULL;
	json_int_t index = 0;
	bool ok = false;
	if (json_unpack(config, "{s:{s:s, s:I}}", "task", "type", &type, "index", &index) == 0) {
		const json_t *cluster = json_object_get(config, "cluster");
		size_t chiefs = json_array_size(json_object_get(cluster, "chief"));
		size_t workers = json_array_size(json_object_get(cluster, "worker"));
		if (type[0] == 'w')
			ok = fits(chiefs + (uint64_t)index, chiefs + workers, ret_rank, ret_world);
		else if (type[0] == 'c')
			ok = fits((uint64_t)index, chiefs + workers, ret_rank, ret_world);
	}
	json_decref(config);
	return ok;
}

bool ranks_from_environment(unsigned *ret_rank, unsigned *ret_world, const char **ret_from)
{
	static const char *const pairs[][2] = {
		{ "RANK", "WORLD_SIZE" },
		{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
		{ "SLURM_PROCID", "SLURM_NTASKS" },
	};
	for (unsigned i = 0; i < TD_COUNT(pairs); i++) {
		if (from_pair(pairs[i][0], pairs[i][1], ret_rank, ret_world)) {
			*ret_from = pairs[i][0];
			return true;
		}
	}
	*ret_from = "TF_CONFIG";
	return from_tf_config(ret_rank, ret_world);
}
