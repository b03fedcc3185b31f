/* SPDX-License-Identifier: BSD-2-Clause
 * SequenceExamples, read in place: their feature lists, and how to tell them. */
#pragma once
#include "example.h"

enum td_message {
	TD_MESSAGE_OTHER = 0, /* not the bytes of either */
	TD_MESSAGE_EXAMPLE,
	TD_MESSAGE_SEQUENCE,
};

/* What a record holds. An Example and a SequenceExample without lists are the same
 * bytes: that is an Example. Looks at all of the features. */
enum td_message td_message_kind(const void *data, size_t bytes);
/* "Example", "SequenceExample", "not an Example". */
const char *td_message_name(enum td_message kind);

/* The features of a list that are still to come; a list may come in parts. */
struct td_steps {
	struct td_span list, entry;
};

/* A list of features, one a step. */
struct td_feature_list {
	const char *key;
	size_t key_bytes;
	int kind; /* of the first feature that has one */
	uint64_t steps;
	struct td_steps features; /* for td_sequence_step() */
};

/* Walks the feature lists in the order of the bytes. The context is read with
 * tundish_example_next(). */
struct td_sequence {
	struct td_span all, lists;
};
void td_sequence_start(struct td_sequence *s, const void *data, size_t bytes);
/* 1 and a list, 0 at the end, CORRUPT. */
int td_sequence_next(struct td_sequence *s, struct td_feature_list *ret);
/* The list of that name: 1, 0 when there is none, CORRUPT. */
int td_sequence_find(struct td_feature_list *ret, const char *key, const void *data, size_t bytes);
/* The features of a list one after another: `rest` starts as its `features`. 1, 0, CORRUPT.
 * The features have no key. */
int td_sequence_step(struct td_steps *rest, struct tundish_feature *ret);
