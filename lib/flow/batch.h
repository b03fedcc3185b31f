/* SPDX-License-Identifier: BSD-2-Clause
 * What is done to a batch once all its rows are there. */
#pragma once
#include "engine.h"

/* Moves the good rows together; their number. */
unsigned td_batch_close_up(const struct tundish_flow *f, struct td_slot *s);

/* Closes it up and draws who is mixed with whom; labels are mixed already. The number of
 * tasks that are left, or MEMORY. */
int td_batch_prepare(const struct tundish_flow *f, struct td_slot *s, struct td_desk *desk);
/* One of the tasks: some lines of all pictures. False without memory. */
bool td_batch_mix(const struct tundish_flow *f, struct td_slot *s, unsigned task, struct td_desk *desk);
