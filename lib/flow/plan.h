/* SPDX-License-Identifier: BSD-2-Clause
 * What is settled before a flow starts: its order, its share of it, its cache. */
#pragma once
#include "engine.h"

/* What is wanted of records where it does not do to read them one after the other. */
extern const char td_by_position[];

/* Once the records are listed: fills in f->sampler, f->share, the end and the start, or for
 * a stream what it is to do. Errors: USAGE, and those of sampler.h. */
int td_plan_order(struct tundish_flow *f, const struct tundish_flow_options *o,
    const struct td_sampler_spec *sampler, struct td_order_spec *spec, struct tundish_error *e);
/* Once its first records were looked at: up to where a stream is only read. */
int td_plan_stream_start(struct tundish_flow *f, const char *text, struct tundish_error *e);
/* Opens f->cache and tells the recipe. Errors: USAGE, IO, MEMORY. */
int td_plan_cache(struct tundish_flow *f, const struct tundish_flow_options *o,
    const struct td_cache_spec *spec, struct tundish_error *e);
