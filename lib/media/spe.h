/* SPDX-License-Identifier: BSD-2-Clause
 * What the XML footer of an SPE 3 file says. */
#pragma once
#include "raster-kind.h"

struct td_spe_block {
	uint64_t count, width, height, size, stride;
	uint64_t ids[8]; /* of calibrations */
	unsigned n_ids;
};

struct td_spe_field {
	struct td_raster_field field;
	uint64_t block; /* id of its MetaBlock */
	unsigned bytes;
	bool known;	/* a number of a type that can be told */
};

struct td_spe_mapping {
	uint64_t id;
	size_t first, n; /* in wavelengths */
	double laser;	 /* 0: none */
};

/* Which part of the sensor a region shows. */
struct td_spe_sensor {
	uint64_t id, x, y, width, height, x_binning, y_binning;
};

/* Zeroed memory is an empty one. */
struct td_spe_footer {
	struct td_spe_block frame; /* calibrations too */
	uint64_t meta_format;
	char pixel_format[32];
	struct td_spe_block *regions;
	size_t n_regions, regions_cap;
	struct td_spe_field *fields;
	size_t n_fields, fields_cap;
	struct td_spe_mapping *mappings;
	size_t n_mappings, mappings_cap;
	struct td_spe_sensor *sensors;
	size_t n_sensors, sensors_cap;
	double *wavelengths;
	size_t n_wavelengths, wavelengths_cap;
	double exposure_ms; /* 0: not said */
	char created[64], creator[128], absolute_time[64];
};

/* Reads the footer from `offset` to the end. CORRUPT for what is no such XML; entities are
 * refused. */
int td_spe_footer_read(struct td_spe_footer *ret, const struct td_bytes *file, uint64_t offset,
    struct tundish_error *e);
void td_spe_footer_free(struct td_spe_footer *f);
