/* SPDX-License-Identifier: BSD-2-Clause
 * tundish: raw data into record shards, and shards into training runs. */
#ifndef TUNDISH_H
#define TUNDISH_H

/*
 * INTRODUCTION
 *
 * libtundish reads and writes TFRecord files, converts raw data into sets of
 * shards, says what is in a set, and feeds batches of it to a training run.
 * Read this header from top to bottom and stop when you have enough:
 *
 *   1. Library      versions, error codes, limits of this machine
 *   2. Talk         how faults, notices and progress reach the caller
 *   3. Records      read and write TFRecord files, look into Examples
 *   4. Survey       count and inspect sets
 *   5. Pack         convert raw data, reshard sets
 *   6. Flow         records to batches, in a fixed order, at full speed
 *   7. Feed         hand batches to another program
 *
 * Rules that hold everywhere:
 *
 * - Functions return an int: 0 or positive is fine, negative is one of the
 *   closed list TUNDISH_E_*. They never print and never exit, and the library
 *   keeps no global state that a caller can see.
 * - Outputs are parameters called ret_...; on failure they are left untouched.
 * - Details of a failure ("train-00003: record 7 at byte 81920: ...") are
 *   written to the caller's struct tundish_error, where one can be given.
 * - Options structs start with `size`: set it with the initialiser function,
 *   which fills in the defaults, then change what you need. Strings and arrays
 *   in options belong to the caller and need to live until the call returns
 *   (for a handle: until its open function returns), unless said otherwise.
 * - Closers take NULL. A handle is used by one thread at a time; different
 *   handles may be used by different threads at once.
 * - Paths are bytes, as the kernel takes them. In messages they are escaped.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TUNDISH_VERSION_MAJOR 0
#define TUNDISH_VERSION_MINOR 1
#define TUNDISH_VERSION_PATCH 0

#if defined(__GNUC__)
#define TUNDISH_API __attribute__((visibility("default")))
#else
#define TUNDISH_API
#endif

/* ==== 1. Library ====================================================== */

/* Error codes. The numbers are stable. Under each, the exit code that the
 * command-line program gives for it. */
enum tundish_code {
	TUNDISH_OK = 0,
	TUNDISH_E_INVALID = -1,	    /* an argument that no caller should pass; a bug. exit 3 */
	TUNDISH_E_USAGE = -2,	    /* options that are wrong or cannot work with this input. exit 2 */
	TUNDISH_E_EXISTS = -3,	    /* a finished set is there already. exit 2 */
	TUNDISH_E_NOT_FOUND = -4,   /* a named path does not exist. exit 3 */
	TUNDISH_E_EMPTY = -5,	    /* nothing usable in the input. exit 3 */
	TUNDISH_E_IO = -6,	    /* the system refused: permission, EIO, ... exit 3 */
	TUNDISH_E_SPACE = -7,	    /* no space left, quota. exit 3 */
	TUNDISH_E_MEMORY = -8,	    /* out of memory. exit 3 */
	TUNDISH_E_MODULE = -9,	    /* a module or optional library is missing. exit 3 */
	TUNDISH_E_CLOSED = -10,	    /* the consumer went away (EPIPE). death by SIGPIPE */
	TUNDISH_E_STOPPED = -11,    /* the listener asked to stop. death by the signal */
	TUNDISH_E_CORRUPT = -12,    /* data contradict themselves or a checksum. exit 1 */
	TUNDISH_E_TRUNCATED = -13,  /* data end early. exit 1 */
	TUNDISH_E_UNSUPPORTED = -14,/* a known kind of data that is not supported. exit 1 */
	TUNDISH_E_LIMIT = -15,	    /* over max_record, max_pixels. exit 1 */
	TUNDISH_E_SCHEMA = -16,	    /* a feature is missing or of another type. exit 1 */
	TUNDISH_E_BAD = -17,	    /* too many bad items (on_error fail, max_bad). exit 1 */
};

/* What went wrong, in words. The caller owns it; zero it before first use.
 * Where a function is given one that already holds an error it is overwritten. */
struct tundish_error {
	int code;	 /* one of tundish_code */
	char text[1020]; /* one line without a newline, valid UTF-8, "" if code is 0 */
};

/* Version of the library that runs, "MAJOR.MINOR.PATCH". Static string. */
TUNDISH_API const char *tundish_version(void);

/* The libraries in use with their versions, space separated:
 * "libjpeg-turbo/2.1.5 libpng/1.6.39 isa-l/2.30 ...", then what serves on this machine:
 * "jpeg-entropy/own io_uring/on". Static string. */
TUNDISH_API const char *tundish_features(void);

/* Short text for a code, "no space left"; never NULL. Static string. */
TUNDISH_API const char *tundish_strerror(int code);

/* Cores that this process may really use: the smaller of its affinity mask and
 * the CPU quota of its cgroup, rounded up; at least 1. */
TUNDISH_API unsigned tundish_usable_cores(void);

/* Default memory budget in bytes: the smaller of a quarter of MemAvailable and
 * a quarter of what the cgroup's limit leaves. At least 64 MiB. */
TUNDISH_API uint64_t tundish_default_memory(void);

/* ==== 2. Talk ========================================================= */

/* One bad piece of input. `path` may be "-" for a stream. */
struct tundish_fault {
	int code;	      /* TUNDISH_E_CORRUPT, _TRUNCATED, _UNSUPPORTED, ... */
	const char *path;     /* file, raw bytes (not escaped); NULL if there is none */
	int64_t record;	      /* record number in the file from 0, or line of a list; -1 if none */
	int64_t offset;	      /* byte offset in the (decompressed) file; -1 if none */
	uint64_t passed_bytes;/* bytes passed over because of it; 0 if none */
	const char *reason;   /* what is wrong, without path, record and offset; UTF-8 */
	const char *text;     /* the whole line, path escaped: what the program prints */
};

struct tundish_progress {
	uint64_t items, items_total; /* total is 0 while unknown */
	uint64_t bytes, bytes_total;
};

/* Callbacks of a running call. Any of them may be NULL. They are called one at
 * a time, possibly from a thread of the library, and in an order that does not
 * depend on the number of threads (progress excepted). */
struct tundish_listener {
	void *data;
	void (*fault)(void *data, const struct tundish_fault *fault);
	void (*notice)(void *data, const char *text);	/* one line, UTF-8 */
	void (*progress)(void *data, const struct tundish_progress *progress);
	int (*stop)(void *data); /* polled between items; non-zero stops with TUNDISH_E_STOPPED */
};

/* What to do with a bad item. */
enum tundish_on_error {
	TUNDISH_SKIP = 0, /* name it, count it, leave it out */
	TUNDISH_FAIL = 1, /* stop at the first in order */
	TUNDISH_BLANK = 2,/* flow only: deliver zeros and label -1 */
};

/* ==== 3. Records ====================================================== */

enum tundish_compression {
	TUNDISH_AUTO = -1, /* reading: recognised by content */
	TUNDISH_NONE = 0,
	TUNDISH_GZIP = 1,
	TUNDISH_ZLIB = 2,
	TUNDISH_SNAPPY = 3,
};

enum tundish_crc {
	TUNDISH_CRC_FULL = 0,	/* length and payload checksums */
	TUNDISH_CRC_LENGTH = 1, /* length checksums only */
	TUNDISH_CRC_OFF = 2,	/* none: for files whose writer got them wrong */
};

struct tundish_reader_options {
	size_t size;
	int compression;	  /* enum tundish_compression; TUNDISH_AUTO */
	int crc;		  /* enum tundish_crc; TUNDISH_CRC_FULL */
	int on_error;		  /* TUNDISH_SKIP (resync behind damage) or TUNDISH_FAIL */
	uint64_t max_record_bytes;/* 2147483647 */
	struct tundish_listener listener; /* `fault`, `notice`; `stop` in long searches */
	unsigned threads;	  /* that may inflate the members of a gzip file ahead, the caller's
				   * counted; 1 */
};

/* A record. `data` points into the reader and is valid until its next call. */
struct tundish_record {
	const uint8_t *data;
	uint64_t bytes;
	uint64_t number; /* from 0; damaged records in between are counted where that is known */
	uint64_t offset; /* of the record's frame in the decompressed file */
};

struct tundish_reader;

/* Fills in the defaults and `size`. */
TUNDISH_API void tundish_reader_options_init(struct tundish_reader_options *ret_options);

/* Opens a TFRecord file; "-" is standard input, which may be a pipe. NULL
 * options mean the defaults. Reads what it needs to recognise the compression.
 * Errors: NOT_FOUND, IO, MEMORY, and with TUNDISH_FAIL: CORRUPT ("not a
 * TFRecord file: git-lfs pointer ..."); with TUNDISH_SKIP that is a fault, and
 * the reader then delivers no record. */
TUNDISH_API int tundish_reader_open(struct tundish_reader **ret_reader, const char *path,
    const struct tundish_reader_options *options, struct tundish_error *ret_error);

/* 1 and the next good record, or 0 at the end. With TUNDISH_SKIP damage goes to
 * the listener as a fault and reading goes on at the next place where length,
 * length checksum and payload checksum hold; with TUNDISH_FAIL it is returned.
 * I/O errors are always returned, and are sticky. */
TUNDISH_API int tundish_reader_next(struct tundish_reader *reader, struct tundish_record *ret_record,
    struct tundish_error *ret_error);

/* Makes record `number` (from 0) the next one: 1, or 0 when there are fewer. It is
 * found by the file's index where one fits, else by walking over headers, from the
 * nearest place seen before; gzip files are entered at the member before it that was
 * seen, or that the tundish.json beside the file tells. Damage on the way is not
 * reported. Errors: CORRUPT when that record is damaged (the reader then stands behind
 * it), UNSUPPORTED for going back in a stream, IO, MEMORY. */
TUNDISH_API int tundish_reader_seek(struct tundish_reader *reader, uint64_t number,
    struct tundish_error *ret_error);

/* The compression found: enum tundish_compression. */
TUNDISH_API int tundish_reader_compression(const struct tundish_reader *reader);

/* Closes the file and frees the reader and its last record. */
TUNDISH_API void tundish_reader_close(struct tundish_reader *reader);

enum tundish_kind {
	TUNDISH_KIND_NONE = 0, /* a Feature with no kind set */
	TUNDISH_BYTES = 1,
	TUNDISH_FLOAT = 2,
	TUNDISH_INT64 = 3,
};

/* A feature inside a serialised tf.train.Example, read in place: no heap, no
 * copy. It points into the record's bytes. */
struct tundish_feature {
	const char *key; /* not NUL-terminated; any bytes */
	size_t key_bytes;
	int kind;	 /* enum tundish_kind */
	uint64_t count;	 /* number of values */
	const uint8_t *list; /* the serialised list; use the functions below */
	size_t list_bytes;
	int merged;	 /* the list comes in several parts; for the functions below */
};

/* Finds feature `key` in an Example. 1 found, 0 not there, CORRUPT if the bytes
 * are no Example. Of duplicated keys the last one counts; repeated `features`
 * fields are merged, as protobuf does. Time: one pass over the top level. */
TUNDISH_API int tundish_example_find(const void *example, size_t example_bytes, const char *key,
    size_t key_bytes, struct tundish_feature *ret_feature);

/* Walks the features in the order of the bytes. Set *position to 0 before the
 * first call. 1 and a feature, 0 at the end, CORRUPT. Duplicated keys are all
 * delivered. */
TUNDISH_API int tundish_example_next(const void *example, size_t example_bytes, size_t *position,
    struct tundish_feature *ret_feature);

/* Value number `index` of a feature. 1 found, 0 when index >= count, SCHEMA if
 * the kind differs. Packed and unpacked lists are read alike. */
TUNDISH_API int tundish_feature_bytes(const struct tundish_feature *feature, uint64_t index,
    const uint8_t **ret_data, size_t *ret_bytes);
TUNDISH_API int tundish_feature_int64(const struct tundish_feature *feature, uint64_t index,
    int64_t *ret_value);
TUNDISH_API int tundish_feature_float(const struct tundish_feature *feature, uint64_t index,
    float *ret_value);

struct tundish_writer;

/* Writes a TFRecord file at `path` ("-": standard output), through a hidden
 * temporary name that becomes the real one in tundish_writer_close(). `level` is
 * 0 for the default of the compression, else zlib's 1 to 9. */
TUNDISH_API int tundish_writer_open(struct tundish_writer **ret_writer, const char *path,
    int compression, int level, struct tundish_error *ret_error);
TUNDISH_API int tundish_writer_append(struct tundish_writer *writer, const void *data, uint64_t bytes,
    struct tundish_error *ret_error);
/* Flushes, syncs and renames; frees the writer in any case. The first delayed
 * error is returned, and then nothing stands under the final name. */
TUNDISH_API int tundish_writer_close(struct tundish_writer *writer, struct tundish_error *ret_error);
/* Throws the file away and frees the writer. */
TUNDISH_API void tundish_writer_abort(struct tundish_writer *writer);

/* ==== 4. Survey ======================================================= */

/* Paths given to count, inspect, shard and the flow may be record files,
 * folders of them, quoted patterns, or "-" (one stream). Side-cars and litter
 * are passed over; a missing shard of "-of-N" is a fault. */

/* How to find the number of records. */
enum tundish_counting {
	TUNDISH_COUNT_READ = 0,	    /* read all files */
	TUNDISH_COUNT_ESTIMATE = 1, /* from a seeded sample of places in large uncompressed files;
				     * what is small or compressed is read */
	TUNDISH_COUNT_KNOWN = 2,    /* read nothing: only what side-cars tell that fit the files */
};

struct tundish_count_options {
	size_t size;
	const char *const *paths;
	size_t n_paths;
	const char *by;	    /* count the values of this feature too; NULL */
	int how;	    /* enum tundish_counting; READ */
	int trust;	    /* take counts from side-cars, dataset_info.json and names unseen; 0 */
	uint64_t seed;	    /* of the sample; 0 */
	int crc;	    /* TUNDISH_CRC_LENGTH; TUNDISH_CRC_FULL = verify */
	int compression;    /* TUNDISH_AUTO */
	int on_error;
	unsigned threads;   /* 0: the usable cores */
	uint64_t memory;    /* 0: the default */
	uint64_t max_record_bytes;
	struct tundish_listener listener;
};

struct tundish_count_file {
	const char *path;
	uint64_t records; /* good ones */
	uint64_t faults;
	uint64_t bytes;	  /* size of the file; 0 for a stream */
	int compression;  /* TUNDISH_AUTO when the file was not read */
	const char *source; /* "read", "estimate", "tundish.json", "index", "dataset_info.json",
			     * "name"; "" when the count is not known */
};

struct tundish_count_value {
	const char *value; /* the feature's value as text, escaped; "" for an empty list */
	uint64_t records;
};

struct tundish_count {
	uint64_t records, faults, bytes;
	uint64_t error_bound; /* of an estimate: the true number is that near at 95 %; else 0 */
	size_t n_unknown;     /* files whose count is not known (TUNDISH_COUNT_KNOWN) */
	struct tundish_count_file *files; /* in the order of the paths, folders sorted bytewise */
	size_t n_files;
	struct tundish_count_value *values; /* of `by`; numbers ascending, then text bytewise */
	size_t n_values;
	uint64_t without_value; /* records that lack the feature `by` */
};

/* Fills in the defaults and `size`. */
TUNDISH_API void tundish_count_options_init(struct tundish_count_options *ret_options);

/* Counts records. Damage is a fault and counting goes on behind it; the call
 * still returns 0 and `faults` tells. Errors: NOT_FOUND, EMPTY, IO, USAGE. */
TUNDISH_API int tundish_count(const struct tundish_count_options *options,
    struct tundish_count **ret_count, struct tundish_error *ret_error);
TUNDISH_API void tundish_count_free(struct tundish_count *count);

/* Parts of the text; the JSON always holds all. */
enum tundish_section {
	TUNDISH_SECTION_SUMMARY = 1,
	TUNDISH_SECTION_SCHEMA = 2,
	TUNDISH_SECTION_CLASSES = 4, /* asked for by name: each class is listed, else the first 40 */
	TUNDISH_SECTION_FILES = 8,   /* likewise, else the first 20 */
	TUNDISH_SECTION_ORDER = 16,  /* how well the labels are mixed */
};

struct tundish_inspect_options {
	size_t size;
	const char *const *paths;
	size_t n_paths;
	int crc;	   /* TUNDISH_CRC_FULL */
	int compression;
	int on_error;
	int decode;	   /* decode every image, too; 0 */
	unsigned sections; /* of the text, enum tundish_section; 0: all */
	int64_t record;	   /* show this record instead of surveying, numbered from 0 through
			    * all files; -1 */
	const char *image_key, *label_key; /* NULL: found by the usual names */
	const char *stats; /* decode every image, write statistics of its channels to this JSON
			    * file; NULL */
	const char *extract; /* write the pictures of the records into this folder; NULL */
	const char *diff;  /* instead compare with this set: file, folder or pattern; NULL */
	int index;	   /* write index/NAME.idx beside each file, if not compressed or of small gzip
				members that begin with records; 0 */
	const char *sheet; /* draw a contact sheet to this PNG file; NULL */
	unsigned sheet_images; /* at most this many pictures on the sheet; 40 */
	unsigned threads;
	uint64_t memory;
	uint64_t max_record_bytes, max_pixels;
	uint64_t seed;	   /* draws the pictures of the sheet; 0 */
	struct tundish_listener listener;
};

struct tundish_survey;

/* Fills in the defaults and `size`. */
TUNDISH_API void tundish_inspect_options_init(struct tundish_inspect_options *ret_options);

/* Surveys a set in one parallel pass over its records. */
TUNDISH_API int tundish_inspect(const struct tundish_inspect_options *options,
    struct tundish_survey **ret_survey, struct tundish_error *ret_error);

/* The findings as one JSON object (UTF-8, NUL-terminated, documented in
 * tundish-inspect(1)). Owned by the survey. */
TUNDISH_API const char *tundish_survey_json(const struct tundish_survey *survey);
/* The findings as text for people: several lines, tables that line up. */
TUNDISH_API const char *tundish_survey_text(const struct tundish_survey *survey);
/* The bytes of the record that was shown (options.record); NULL when none was. */
TUNDISH_API const void *tundish_survey_record(const struct tundish_survey *survey, size_t *ret_bytes);
/* Number of faults found; in a comparison also of records that only one set has. */
TUNDISH_API uint64_t tundish_survey_faults(const struct tundish_survey *survey);
TUNDISH_API void tundish_survey_free(struct tundish_survey *survey);

/* ==== 5. Pack ========================================================= */

enum tundish_check {
	TUNDISH_CHECK_HEADER = 0,    /* kind, size, precision */
	TUNDISH_CHECK_STRUCTURE = 1, /* and all JPEG markers to EOI, all PNG chunk checksums */
	TUNDISH_CHECK_DECODE = 2,    /* and every pixel; libjpeg's warnings are damage */
};

/* Options of convert and shard alike; those marked * are for convert only,
 * + for shard only. The grammars are those of tundish-convert(1). */
/* What shards are. */
enum tundish_to {
	TUNDISH_TO_TFRECORD = 0,
	TUNDISH_TO_TAR = 1, /* a tar, a group of members for each record, as WebDataset reads it */
};

struct tundish_pack_options {
	size_t size;
	const char *const *sources; /* convert: folders, files; shard: record files, folders, patterns */
	size_t n_sources;
	const char *output;	/* "OUT/NAME"; "-": one TFRecord stream on standard output */
	const char *shards;	/* "10", in each split, or "train=10,val=2"; NULL: by shard_bytes */
	uint64_t shard_bytes;	/* payload bytes a shard; 134217728 */
	const char *split;	/* "train=.9,val=.1", adding up to 1; NULL: all is "train" */
	/* Each shard and split gets each value of this feature in proportion: "label" (NULL:
	 * where there is one), "none"; shard: any feature. */
	const char *stratify;
	/* * "folder" (NULL): the first folder below the source; "none"; "regex:RE": its first
	 * group, in the path below the source; "csv:FILE[,path=COL][,label=COL][,delim=CHAR]";
	 * "json[:label=KEY]": NAME.json beside each file. */
	const char *labels;
	const char *columns;	/* * "A,B:int,C:float,D:text": of the table or the side-cars, as features */
	const char *class_list; /* * file with a class a line, in this order; others are refused */
	int64_t label_offset;	/* * added to each label; 0 */
	/* * "jpeg:95", "png", "raw", "raw:uint16", "jpeg-lossless", "jpeg-lossless:restart=off";
	 * NULL: bytes are kept, and what has to change becomes JPEG of quality 95, or PNG again. */
	const char *reencode;
	uint32_t shorter_side, max_side; /* * larger pictures are made smaller; 0 */
	int apply_orientation;	/* * turned as EXIF says */
	const char *alpha;	/* * "drop" (NULL), "white", "black": what transparent pixels become */
	const char *jpeg_index;	/* "rows", "mcus:8", "off"; NULL: convert makes none, shard leaves
				 * those that are there */
	int check;		/* * enum tundish_check; STRUCTURE */
	/* * "default" (NULL), "slim", or changes to either: "[slim,]image=NAME,height=" (no
	 * name: not written). */
	const char *keys;
	/* Items with the same value of this feature belong together, instead of those that
	 * were cut from one file. convert: a column of the table. NULL. */
	const char *group_by;
	/* * "group" (NULL): no split divides a group; "item"; "blocks:64x64": tiles belong to
	 * blocks of each array, those across a border are left out. */
	const char *split_by;
	/* * Arrays (ENVI, SPE, Radiance): */
	const char *tile;	/* * "64x64" or with a stride "64x64:32"; NULL: whole */
	const char *edge;	/* * tiles over the border: "drop" (NULL), "pad", "keep" */
	const char *bands;	/* * "10-40,55", from 1; NULL: all */
	int drop_bad_bands;	/* * those that the header's bbl says */
	const char *region;	/* * only "y:x:height:width" of each array */
	int apply_scale;	/* * gain, offset and reflectance factor, as float32 */
	int stack;		/* * all frames of a file in one record, not one each */
	const char *max_nodata;	/* * "25%" of a tile's pixels may have the data ignore value; NULL: all */
	/* * ENVI raster of labels for the cubes: "gt.hdr" or "gt.hdr:center", the value in the
	 * middle of a tile, "gt.hdr:majority", that of most of its pixels; {} in it stands
	 * for the name of each cube without folder and suffix. NULL. */
	const char *label_raster;
	const char *unlabelled;	/* * tiles that have none there: "drop" (NULL); "keep", with label -1 */
	const char *interleave;	/* * "bsq", "bil", "bip", whatever ENVI headers say; NULL */
	int pixel_origin;	/* * of SPE axes: number of the first column; 1 */
	/* * Frames of videos: "all" (NULL), "every:K", "fps:F" (those shown at even steps of
	 * time), "keys". */
	const char *frames;
	const char *clip;	/* * "16[:8[:4]]": frames in a record, between two, records a file */
	int sequence;		/* * clips are SequenceExamples, a step a frame */
	int follow_external;	/* * HDF5: other files that a file names, below its folder, are read */
	/* * Sound instead of frames: "mono" or "all" channels, with ":float32" or ":int16"; NULL:
	 * "all" where a rate or a window is given. */
	const char *sound;
	uint32_t rate;		/* * samples a second; 0: as they are */
	const char *window;	/* * "SECONDS[:HOP]"; NULL: whole files */
	/* * "imu=imu.csv,time=t,columns=ax:ay:az": series of numbers beside the frames, several
	 * behind semicolons; NULL: none */
	const char *align;
	/* * "jpg:FOLDER", "png:FOLDER": each picture or frame becomes a file there, instead of
	 * records; output is not needed then. NULL: records */
	const char *to_files;
	const char *max_gap;	/* * seconds between two rows of them, else a notice; NULL: any */
	/* Words {name} {split} {shard} {shards} {count};
	 * NULL: "{name}-{split}.tfrecord-{shard}-of-{shards}". */
	const char *name_template; /* of a tar: "{name}-{split}-{shard}.tar" */
	int count_in_name;	/* NAME-SPLIT-SHARD-of-SHARDS_COUNT.tfrecord; SPLIT_COUNT for one */
	/* "12" or "1%" bad items are allowed for, more end the run with BAD; NULL: any
	 * number, but each shows in the result. */
	const char *max_bad;
	/* + "KEY in A,B", "KEY=A", "!=", "<", "<=", ">", ">=" on the first value of a feature;
	 * class names stand for their labels. NULL: all. */
	const char *filter;
	int to;			/* + enum tundish_to; TFRECORD */
	int shuffle;		/* by seed; shard: 0 keeps the order within a shard; convert: -1 is 0
				 * for frames, clips and windows, which follow one another, else 1 */
	int compression;	/* of the output; TUNDISH_NONE; AUTO: GZIP where it saves 3 % */
	int level;		/* 0: the default; 1 to 9 are zlib's */
	int input_compression;	/* + TUNDISH_AUTO */
	int crc;		/* + TUNDISH_CRC_FULL */
	int on_error;		/* TUNDISH_SKIP; or FAIL: the first bad item is the error */
	int dry_run;		/* plan and report only */
	int list;		/* * only look: result.items; no output is needed, splits and shards
				 * do not matter */
	int overwrite;		/* replaces a finished set, removed when the new one is whole */
	int append;		/* * adds splits to the finished set that is there, whose classes they have */
	int resume;		/* takes over whole shards of a run that was broken off */
	uint64_t skip, limit;	/* of the items as they are listed; limit 0: all */
	uint64_t seed;
	unsigned threads;
	uint64_t memory;
	uint64_t max_record_bytes, max_pixels;
	struct tundish_listener listener;
};

struct tundish_pack_shard {
	const char *path; /* final name */
	const char *split;
	uint64_t records, bytes;
};

struct tundish_pack_class {
	const char *name; /* "" when classes are plain numbers */
	int64_t label;
	uint64_t records;
};

/* What would be converted (options.list). */
struct tundish_pack_item {
	const char *name;	/* below its source */
	uint32_t part;		/* its number in a file that holds several */
	const char *kind;	/* "JPEG", "ENVI" */
	const char *dtype;	/* "uint8" */
	unsigned n_axes;
	uint64_t shape[4];
	int labelled;
	int64_t label;
	const char *class_name; /* "" when classes are plain numbers */
	uint64_t bytes;		/* about */
};

/* found = written + bad + left_out. */
struct tundish_pack_result {
	uint64_t found, written, bad, left_out;
	uint64_t payload_bytes, file_bytes;
	struct tundish_pack_shard *shards;
	size_t n_shards;
	struct tundish_pack_class *classes;
	size_t n_classes;
	const char *summary; /* several lines for people: splits, shards, classes, what was left out */
	struct tundish_pack_item *items; /* with options.list alone */
	size_t n_items;
};

/* Fill in the defaults and `size`. */
TUNDISH_API void tundish_convert_options_init(struct tundish_pack_options *ret_options);
TUNDISH_API void tundish_shard_options_init(struct tundish_pack_options *ret_options);

/* Converts raw data to a set of shards. The output is the same for any number
 * of threads. On failure nothing stands under a final name. With bad items and
 * TUNDISH_SKIP it returns 0 and the result counts them. */
TUNDISH_API int tundish_convert(const struct tundish_pack_options *options,
    struct tundish_pack_result **ret_result, struct tundish_error *ret_error);
/* The same from record files. */
TUNDISH_API int tundish_shard(const struct tundish_pack_options *options,
    struct tundish_pack_result **ret_result, struct tundish_error *ret_error);
TUNDISH_API void tundish_pack_result_free(struct tundish_pack_result *result);

/* ==== 6. Flow ========================================================= */

enum tundish_dtype {
	TUNDISH_UINT8 = 0,
	TUNDISH_FLOAT16 = 1,
	TUNDISH_BFLOAT16 = 2,
	TUNDISH_FLOAT32 = 3,
	/* from here on only of arrays that are fed as they are, and of features */
	TUNDISH_UINT16 = 4,
	TUNDISH_INT8 = 5,
	TUNDISH_INT16 = 6,
	TUNDISH_UINT32 = 7,
	TUNDISH_INT32 = 8,
	TUNDISH_UINT64 = 9,
	TUNDISH_DTYPE_INT64 = 10, /* TUNDISH_INT64 is a kind of feature */
	TUNDISH_FLOAT64 = 11,
	TUNDISH_COMPLEX64 = 12,
	TUNDISH_COMPLEX128 = 13,
};

enum tundish_last {
	TUNDISH_LAST_KEEP = 0, /* the last batch may be shorter */
	TUNDISH_LAST_DROP = 1, /* it is left out */
	TUNDISH_LAST_PAD = 2,  /* it is filled up; `count` tells the real ones */
};

/* What ranks share. */
enum tundish_rank_by {
	TUNDISH_RANK_RECORD = 0, /* the order of all records: each takes every WORLDth position */
	TUNDISH_RANK_FILE = 1,	 /* the files: each takes every WORLDth, and reads no other; orders
				    are drawn within a rank */
};

/* What to do when the records do not give all ranks the same number of batches. */
enum tundish_uneven {
	TUNDISH_UNEVEN_ERROR = 0, /* USAGE, with the numbers and the ways out */
	TUNDISH_UNEVEN_KEEP = 1,  /* every record once; some ranks end earlier */
	TUNDISH_UNEVEN_DROP = 2,  /* leave out the last records of the order */
	TUNDISH_UNEVEN_PAD = 3,	  /* repeat records from the start of the order */
};

/* Memory for the images of batches: pinned, shared, on another device's bus. Called by
 * threads of the library, at most (prefetch + 1) times. `alloc` gives memory aligned
 * to 64 bytes, or NULL. Both NULL: the library's own. */
struct tundish_allocator {
	void *data;
	void *(*alloc)(void *data, size_t bytes);
	void (*free)(void *data, void *memory, size_t bytes);
};

struct tundish_flow_options {
	size_t size;
	const char *const *paths;
	size_t n_paths;
	/* What comes when: */
	const char *shuffle; /* "off", "full", "block:N", "buffer:N", "shards+buffer:N+batch:N"; NULL: off */
	/* Not each record once: "weighted:FEATURE" draws records, each value of the feature as
	 * often as any other, or "weighted:FEATURE,table=FILE" by the weights of records in lines
	 * VALUE=WEIGHT; "stratified:FEATURE" gives each batch of all ranks its part of each value,
	 * and with ",equal" as many of each. Needs to read all records once. NULL: none. */
	const char *sampler;
	/* Instead of paths, sources "NAME=PATTERN:WEIGHT" that make up each batch by their
	 * weights, each of records or of raw data; batches then have an array source_id, numbers of
	 * sources from 0. An epoch has as many positions as all of them have records; a source that
	 * is through starts again. */
	const char *const *mix;
	size_t n_mix;
	unsigned min_per_source; /* in each batch, reached by records drawn once more; 0 */
	int no_reshuffle;     /* all epochs have the order of the first one; 0. Not with a sampler or a mix */
	unsigned cycle_length;/* read so many files in turn; 1 */
	unsigned block_length;/* records of a file before it is the next one's turn; 1 */
	uint64_t seed;	     /* 0 */
	uint64_t skip, limit;/* of the records in file order; limit 0: all */
	uint64_t epochs;     /* 1; UINT64_MAX: without end */
	int flow_epochs;     /* batches may hold the end of an epoch and the start of the next; 0 */
	unsigned rank, world;/* this process's share of the order, of how many; 0 of 1 */
	int rank_by;	     /* enum tundish_rank_by; RECORD */
	int uneven;	     /* enum tundish_uneven; ERROR */
	const char *start;   /* go on where a cursor says; NULL: at the start. With mixup or cutmix,
				and ranks by file, it must be of the same world. Streams are read up
				to there, and the index of batches counts from it */
	/* Of raw data that is read in place, as in struct tundish_pack_options: */
	const char *labels, *class_list, *columns, *group_by;
	int64_t label_offset;
	const char *tile, *edge, *bands, *region, *frames, *max_nodata, *label_raster, *unlabelled, *interleave;
	int drop_bad_bands, apply_scale, stack, pixel_origin;
	/* What becomes of it: */
	const char *image_key, *label_key; /* NULL: found by the usual names */
	const char *ops;     /* "random_resized_crop:224 hflip normalize"; NULL: decode */
	unsigned batch;	     /* 64 */
	int last;	     /* enum tundish_last; KEEP */
	int on_error;	     /* TUNDISH_SKIP */
	/* How it is read, and with what: */
	int compression;     /* TUNDISH_AUTO */
	uint64_t max_record_bytes, max_pixels;
	unsigned threads;    /* 0: the usable cores */
	uint64_t memory;     /* 0: the default */
	unsigned prefetch;   /* batches made ahead at most, more than 2 only as memory holds them (USAGE);
			      * 0: by memory, and as it helps */
	const char *cache;   /* "memory" or a folder, with ":decoded", ":ops", ":raw", or
				"memory:index"; NULL: none */
	int trace;	     /* keep what each thread did when, for tundish_flow_trace() */
	struct tundish_allocator allocator; /* of the images; needs to live until close */
	struct tundish_listener listener;   /* needs to live until close */
};

/* One of the arrays of a batch, C order. */
struct tundish_array {
	const char *name; /* "image", "label", or as `select` has it; "NAME/lengths" */
	int dtype;	  /* enum tundish_dtype */
	unsigned ndim;
	uint64_t shape[8]; /* rows first */
	const void *data;
	size_t bytes;
};

/* A batch, borrowed from the flow until tundish_flow_release(). */
struct tundish_batch {
	uint64_t epoch, index;	 /* from 0; index counts over all epochs */
	unsigned count;		 /* real samples */
	unsigned rows;		 /* rows of the arrays: count, or the batch size when padded */
	unsigned repeats;	 /* of `count`, the last ones: repeated to make ranks even */
	int dtype;		 /* of images */
	unsigned ndim;		 /* of images, the batch axis included */
	uint64_t shape[8];
	const void *images;	 /* C order; NULL when no pictures go out */
	size_t images_bytes;
	const int64_t *labels;	 /* [rows]; -1 where there is none, or none goes out */
	/* All that goes out, in order: images and labels, or what `select` names. What records
	 * have of different length is padded with zeros to the longest of the batch, and an
	 * array of lengths follows. */
	const struct tundish_array *arrays;
	unsigned n_arrays;
	size_t arrays_bytes;	 /* of all of them */
	void *slot;		 /* the library's */
};

/* Where time went. Times in nanoseconds, summed over threads. */
struct tundish_flow_stage {
	const char *name;     /* "fetch", "parse", "decode", "pixels" */
	uint64_t items, bytes;
	uint64_t busy_ns;     /* thread CPU time in the work itself */
	uint64_t wait_ns;     /* blocked, waiting for its turn or for room */
};

struct tundish_flow_stats {
	uint64_t records, batches, bad;
	uint64_t replaced;	/* bad ones whose place another record took (TUNDISH_LAST_DROP) */
	uint64_t topped_up;	/* records drawn once more for min_per_source */
	uint64_t record_bytes;	/* read */
	uint64_t consumer_wait_ns; /* the caller blocked in tundish_flow_next() */
	uint64_t workers_wait_ns;  /* workers without anything to do */
	uint64_t wall_ns;	/* since the first call of tundish_flow_next() */
	uint64_t waits, wakeups;   /* how often a thread went to sleep, and was woken up; the caller's too */
	uint64_t locks;		   /* how often the lock that all threads share was taken */
	uint64_t reads, uring_reads; /* of files with records at known places, and of these through io_uring */
	uint64_t memory, memory_peak; /* the budget, and bytes in the ledger */
	uint64_t decoded_bytes;	/* of all pictures of an epoch, about; 0: not known, or a cache holds them */
	uint64_t index_refused; /* JPEG indexes that did not fit their picture and were ignored */
	uint64_t files_walked;	/* without a side-car that fits: read for where their records are */
	uint64_t listing_ns;	/* until it was known where all records are, in real time */
	unsigned threads, prefetch;
	unsigned n_stages;
	struct tundish_flow_stage stages[16];
};

struct tundish_flow;

/* Fills in the defaults and `size`. */
TUNDISH_API void tundish_flow_options_init(struct tundish_flow_options *ret_options);

/* Paths may also be raw data, whatever tundish_convert() takes and can list, which is then read
 * in place: each item is the record that convert would write of it.
 * Opens a flow: checks the options, lists the records, reads a few of them to see under
 * which names they hold picture and label. Where `ops` leave the size to the picture,
 * the first good record in order gives it, and another size is an error (SCHEMA).
 * A set where no record has a label gives -1; a record without what the others have is
 * bad. Errors: USAGE, NOT_FOUND, EMPTY, SCHEMA, IO, MEMORY. */
TUNDISH_API int tundish_flow_open(struct tundish_flow **ret_flow,
    const struct tundish_flow_options *options, struct tundish_error *ret_error);
/* 1 and the next batch, 0 at the end. Same batches for any number of threads. Batch k
 * holds positions kB .. kB+B-1 of this rank's order, whatever turns out bad. Bad records
 * are told to the listener when their batch is handed out. An error is sticky, but for
 * INVALID: all batches that fit in memory are held by the caller. */
TUNDISH_API int tundish_flow_next(struct tundish_flow *flow, struct tundish_batch *ret_batch,
    struct tundish_error *ret_error);
/* Gives a batch back; batches may be held several at a time and given back in
 * any order, by any thread. */
TUNDISH_API void tundish_flow_release(struct tundish_flow *flow, const struct tundish_batch *batch);
/* Records in one epoch, of all ranks, and batches of this rank in all epochs. UINT64_MAX:
 * without end, or not known before it is read (streams, and compressed files where the
 * order does not ask for their members). */
TUNDISH_API uint64_t tundish_flow_records(const struct tundish_flow *flow);
TUNDISH_API uint64_t tundish_flow_batches(const struct tundish_flow *flow);
/* Where the flow stands: what `start` takes to go on behind the last batch handed out,
 * also with another number of threads, or, where ranks share records and pictures are not
 * mixed, another world of the same global batch. Owned by the flow, valid until the next call. */
TUNDISH_API const char *tundish_flow_cursor(struct tundish_flow *flow);
TUNDISH_API void tundish_flow_stats(struct tundish_flow *flow, struct tundish_flow_stats *ret_stats);
/* Writes what each thread did when to a file, in Chrome's trace event format, where the options
 * asked for `trace`. It ends the flow: only tundish_flow_close() may follow. Errors: INVALID,
 * IO, SPACE, MEMORY. */
TUNDISH_API int tundish_flow_trace(struct tundish_flow *flow, const char *path, struct tundish_error *ret_error);
TUNDISH_API void tundish_flow_close(struct tundish_flow *flow);

/* ==== 7. Feed ========================================================= */

struct tundish_feed;

/* Opens a sink: "npy" (the arrays of a batch one after another, in their order), "raw"
 * (the same bytes without headers), "hash" (SHA-256 over what "npy" would write) or
 * "null". npy and raw write to file descriptor `fd`, which stays the caller's. */
TUNDISH_API int tundish_feed_open(struct tundish_feed **ret_feed, const char *to, int fd,
    struct tundish_error *ret_error);
TUNDISH_API int tundish_feed_put(struct tundish_feed *feed, const struct tundish_batch *batch,
    struct tundish_error *ret_error);
/* For "hash": 64 hexadecimal digits over all batches so far; else "". */
TUNDISH_API const char *tundish_feed_digest(struct tundish_feed *feed);
TUNDISH_API void tundish_feed_close(struct tundish_feed *feed);

#ifdef __cplusplus
}
#endif

#endif
