/* SPDX-License-Identifier: BSD-2-Clause
 * The picture and the label in an Example, under the names that people use. */
#pragma once
#include <stdbool.h>

#include "tundish.h"

/* Names to look for; NULL: the usual ones, `image` before `image/encoded`, `label` before
 * `image/class/label`. Whichever comes first in the list wins, wherever it stands in
 * the record. */
struct td_keys {
	const char *image, *label;
};

/* NULL where there is none; they point into the struct and the record. */
struct td_sample {
	const struct tundish_feature *image, *label, *index;
	struct tundish_feature image_feature, label_feature, index_feature;
};

/* The usual names, best first. */
#define TD_KEYS 2
extern const char *const td_image_keys[TD_KEYS];
extern const char *const td_label_keys[TD_KEYS];
/* 0: the key is the one asked for (NULL: none is), or else the best of the usual ones; 1: a
 * lesser one; -1: no. */
int td_key_rank(const char *key, size_t bytes, const char *asked, const char *const usual[TD_KEYS]);
/* Of the index of a JPEG, whatever the others are called. */
extern const char td_index_key[];
/* Of what a picture's file was, written where it was not the usual: "grey" and the like,
 * bits a sample, orientation. */
extern const char td_colours_key[], td_bits_key[], td_orientation_key[];
/* Whether records of pictures may well do without that feature: the four above. */
bool td_key_optional(const char *key, size_t bytes);

/* 0; or CORRUPT when the bytes are no Example. One pass, no heap. */
int td_sample_find(struct td_sample *ret, const struct td_keys *keys, const void *example, size_t bytes);
