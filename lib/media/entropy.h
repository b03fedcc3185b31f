/* SPDX-License-Identifier: BSD-2-Clause
 * Our entropy decoder in the place of libjpeg's, for baseline files. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include <jpeglib.h>

#include "base/buf.h"
#include "huffman.h"

/* Where a stretch of MCUs begins, so that decoding can begin there. In 8 bytes, from the
 * lowest bit: 25 bits offset in the scan (stuffed zeros counted), 3 bits for the bit in
 * that byte, three times 12 bits for the DC values before. */
#define TD_ENTRY_BYTES 8

/* Entries for all of a scan: one at the start of each row of MCUs and behind every
 * `spacing` MCUs of a row. */
struct td_entries {
	const uint8_t *packed;
	size_t n;
	uint32_t spacing;
};

/* Working memory, kept from picture to picture; zeroed is empty. */
struct td_entropy {
	struct td_huff_dc dc_tables[4];
	struct td_huff_ac ac_tables[4];
	struct td_huff_skip skip_tables[4];
	struct td_mcu mcu;
	const struct td_huff *huff;
	struct td_buf clean; /* the scan without stuffed zeros, or the stretch at hand */
	struct td_buf walk;  /* struct td_walk, while an index is made */
	struct td_buf ends;  /* size_t: where each restart interval ends in there */
	const uint8_t *scan;
	size_t scan_bytes;
	uint32_t mcus_per_row, first_col, last_col, interval;
	const struct td_entries *entries;

	struct td_bits bits;
	int32_t dc[4];
	size_t stretch;	       /* restart interval, or entry, that bits is in */
	uint64_t at;	       /* MCU that bits is at */
	uint64_t next;	       /* MCU that libjpeg will ask for next */
	uint64_t stretch_bits; /* with entries: what the stretch must come out at */
};

/* What client_data of the decompressor has to point to. */
struct td_entropy_client {
	struct td_entropy entropy;
	void (*give_up)(j_decompress_ptr c); /* does not return */
};

/* Right behind jpeg_start_decompress(): reads the scan's codes and takes the place of
 * libjpeg's decoder. Blocks outside of the columns of MCUs are not decoded. False:
 * not a scan for us, or out of memory; nothing has changed. */
bool td_entropy_attach(j_decompress_ptr c, uint32_t first_col, uint32_t last_col,
    const struct td_entries *entries);

/* Finds the entries of a scan, `spacing` MCUs apart, and appends them to out. Behind
 * jpeg_start_decompress() as well. False: damaged, too large, with restart markers, or
 * not a scan for us. */
bool td_entropy_index(j_decompress_ptr c, uint32_t spacing, struct td_buf *out);

void td_entropy_free(struct td_entropy *t);
