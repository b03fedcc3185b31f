/* SPDX-License-Identifier: BSD-2-Clause
 * The findings of an inspection, between the rooms that make them and that tell them. */
#pragma once
#include "bands.h"
#include "base/json.h"
#include "facts.h"
#include "record/beside.h"
#include "scan.h"
#include "source/classes.h"

/* How often a class is in one file. */
struct td_share {
	uint32_t label; /* number in labels.values */
	uint64_t records;
};

struct td_file_labels {
	struct td_share *shares; /* in the end by label, each once */
	size_t n, cap;
	uint64_t records;
};

/* A list of lines for people. */
struct td_lines {
	char **lines;
	size_t n, cap;
};

struct tundish_survey {
	struct tundish_inspect_options options; /* strings are the caller's: only during the call */
	struct td_paths paths;
	struct td_scan_file *files;		/* one for each path */
	struct td_file_labels *file_labels;	/* the same */
	struct td_facts facts;
	struct td_bands bands; /* of arrays */
	uint64_t records, faults, bytes;
	const char *image_key, *label_key; /* found; NULL */
	struct td_classes names;	   /* by label number; from a file beside the set */
	struct td_lines warnings;
	json_t *pictures; /* in files of their own; NULL */
	json_t *sources;  /* files of other raw data; NULL */
	struct td_buf json, text;
	struct td_buf record; /* the one that was shown */
	bool has_record;
};

/* classes.c */
struct td_class_row {
	int64_t number; /* of the label, where it is one number */
	bool numbered;
	const char *text; /* escaped */
	const char *name; /* "" when there is none */
	uint64_t records;
	uint32_t label; /* as in td_share */
};

struct td_class_table {
	struct td_class_row *items; /* numbers ascending, then text */
	size_t n;
	uint64_t records, smallest, largest;
	double evenness;   /* entropy over that of equal classes: 1 is balanced */
	double worst_shard;/* largest share of records that a file would have to exchange
			    * to have the classes of the whole set; 0 is best */
	const char *worst_path;
	char *strings;
	/* the order of records */
	double entropy;	       /* of the labels, in bits */
	double expected_runs;  /* of a shuffled set */
	double shuffled;       /* runs between those of a sorted set, 0, and a shuffled one, 1 */
	double window_entropy; /* mean of TD_ORDER_WINDOW records in a row; 0: too few */
	double first_file;     /* 1: its classes are those of the whole set */
};

/* Reads the names from LABELFEATURE.labels.txt beside the set, if it is there; a notice
 * when it is no list of classes. */
int td_class_names_read(struct tundish_survey *s, struct tundish_error *e);
bool td_class_table_build(struct td_class_table *ret, struct tundish_survey *s) td_must_check;
void td_class_table_free(struct td_class_table *c);
/* Records of a file with this label. */
uint64_t td_share_of(const struct td_file_labels *file, uint32_t label);
/* Notes the labels of a part of a file, before the part is merged; td_class_table_build()
 * puts them in order. */
bool td_file_labels_add(struct tundish_survey *s, size_t file, const struct td_by *part)
    td_must_check;

/* warn.c */
bool td_survey_warn(struct tundish_survey *s) td_must_check;

/* report.c, findings.c: fill s->text and s->json. */
bool td_survey_report(struct tundish_survey *s, const struct td_class_table *classes) td_must_check;
bool td_survey_to_json(struct tundish_survey *s, const struct td_class_table *classes) td_must_check;
/* For an inspection of nothing but files of raw data. */
bool td_survey_raw_only(struct tundish_survey *s) td_must_check;

/* show.c: one record, into text and json. */
int td_survey_show(struct tundish_survey *s, const char *path, const struct tundish_record *r,
    struct tundish_error *e);

/* A pass over files, and a reader without a listener, as the options say; the rest is the
 * caller's. */
struct td_scan td_survey_scan(const struct tundish_inspect_options *o, const struct td_paths *paths);
struct tundish_reader_options td_survey_reader(const struct tundish_inspect_options *o);

/* single.c: finds options.record, shows, keeps and extracts it. */
int td_survey_single(struct tundish_survey *s, struct tundish_error *e);
