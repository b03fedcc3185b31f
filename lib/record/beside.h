/* SPDX-License-Identifier: BSD-2-Clause
 * What features.json in a set's folder says of features of raw bytes. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/elem.h"

#define TD_BESIDE_AXES 7

struct td_beside {
	enum td_elem elem;
	unsigned n_axes;
	uint64_t shape[TD_BESIDE_AXES]; /* 0: of this side only a record tells */
};

/* Looks in the folder of the record file `path`. False: it says nothing of `key`. */
bool td_beside_tensor(struct td_beside *ret, const char *path, const char *key);
