/* SPDX-License-Identifier: BSD-2-Clause
 * Records, or items of raw data, that are frames: those of one group in a row are one item
 * of the order. */
#pragma once
#include "engine.h"

/* Where the first records of a source hold one picture and a text `group`, puts runs of
 * records with the same one together; else changes nothing. Of raw data items that belong
 * together; USAGE where none do. Errors also IO, MEMORY. */
int td_groups_open(struct tundish_flow *f, const struct td_keys *asked, struct tundish_error *e);
/* Whether a record is one frame of a group: one picture and a text `group`. */
bool td_groups_frame_of(const void *record, size_t bytes, const struct td_keys *asked);
/* Moves the spot of a group to the first frame of the clip that is drawn for a position.
 * One that is too short, or none, stays. */
void td_groups_start(const struct tundish_flow *f, struct td_spot *spot, uint64_t epoch, uint64_t position);
/* That many records further on in the group. */
struct td_spot td_groups_frame(const struct tundish_flow *f, const struct td_spot *spot, uint64_t steps);
