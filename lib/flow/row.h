/* SPDX-License-Identifier: BSD-2-Clause
 * One position made into its row, and what happens when its record is bad. */
#pragma once
#include "engine.h"

/* Writes the row, its label and whether it is good; what is wrong becomes the item's
 * note. Called without locks. */
void td_row_make(struct tundish_flow *f, struct td_hand *hand, struct td_item *item);
