/* SPDX-License-Identifier: BSD-2-Clause
 * Inside of the HDF5 module.
 *
 * The library is asked for what only it knows: names, types, where a chunk is. It has one
 * lock, so nothing that takes long is done in there: contiguous data, variable-length data
 * and what is in external files is read by pread, chunks are unpacked by our own threads.
 * What the library does by itself with other files - external links, external raw files,
 * sources of virtual datasets, where a missing one reads as zeros - it never gets to do: all
 * paths are walked link by link here, and those files are looked at first.
 */
#pragma once
#include <hdf5.h>

#include "base/thread.h"
#include "source/format.h"

/* ---- lib.c ---- */

/* Every call of the library stands between these. */
void td_h5_enter(void);
void td_h5_leave(void);
/* "WHAT: the library's own reason", inside. */
int td_h5_fail(struct tundish_error *e, int code, const char *fmt, ...) td_printf_like(3, 4);
/* Does it in a child process first: on forged files the library crashes, or never comes
 * back. 0: it can be done here, too; CORRUPT. */
int td_h5_rehearse(void (*play)(void *ctx), void *ctx, struct tundish_error *e);
/* "deflate", or as the file calls it. */
const char *td_h5_filter_name(int id, const char *in_file);

/* ---- file.c ---- */

struct td_h5_file {
	char *path;
	int fd;
	uint64_t bytes;
	uint64_t base;	      /* bytes of the user block */
	unsigned addr_bytes, size_bytes; /* of addresses and lengths in it */
	hid_t id;
	struct td_h5_file *next; /* that external links led to */
};

/* What is open for one path, and what the paths in it go by. */
struct td_h5_files {
	struct td_h5_file *first;
	char *folder; /* the real one of the first */
	bool follow;
};

int td_h5_open(struct td_h5_files *ret, const char *path, bool follow, const struct tundish_listener *l,
    struct tundish_error *e);
void td_h5_close(struct td_h5_files *files);

/* Where a path inside a file leads. */
struct td_h5_place {
	struct td_h5_file *file;
	char *path;	  /* without links in it; to be freed */
	char *member;	  /* of a compound, "a/b", or NULL; to be freed */
	bool group;
};
/* Errors: NOT_FOUND, UNSUPPORTED (a link to another file that is not followed), ... */
int td_h5_find(struct td_h5_place *ret, struct td_h5_files *files, const char *path, struct tundish_error *e);
void td_h5_place_free(struct td_h5_place *place);
/* The file of that name beside `beside`, when it is a regular one below the folder: its
 * descriptor. "WHAT TARGET: why not" else. */
int td_h5_open_beside(const struct td_h5_files *files, const struct td_h5_file *beside, const char *what,
    const char *target, char **ret_path, uint64_t *ret_bytes, struct tundish_error *e);

/* ---- type.c ---- */

enum td_h5_what {
	TD_H5_OTHER, /* that we have no use for */
	TD_H5_NUMBER,
	TD_H5_TEXT,   /* of fixed length */
	TD_H5_VTEXT,
	TD_H5_VLEN,   /* numbers */
	TD_H5_OPAQUE,
};

struct td_h5_names {
	size_t n;
	int64_t *values;
	char **names;
};

struct td_h5_type {
	enum td_h5_what what;
	enum td_elem elem; /* of NUMBER and VLEN */
	bool swap;	   /* big-endian */
	hid_t from, to;	   /* a conversion that the library must do; else 0 */
	size_t bytes;	   /* of one in the file: number, text, opaque; in VLEN of its numbers */
	size_t offset;	   /* in the dataset's elements, in the file */
	bool blanks;	   /* a text filled up with blanks */
	unsigned n_dims;   /* of an array in each element */
	uint64_t dims[TD_AXES];
	uint64_t count;	   /* numbers in each element */
	struct td_h5_names enumeration;
	char name[64];	   /* "uint16, big-endian" */
};

/* The type of a dataset's elements, or of a member of them. Inside. */
int td_h5_type(struct td_h5_type *ret, hid_t type, const char *member, unsigned addr_bytes,
    struct tundish_error *e);
void td_h5_type_free(struct td_h5_type *type);
/* Bytes of an element in the file: they are others than in memory where lengths vary. */
size_t td_h5_file_bytes(hid_t type, unsigned addr_bytes);
/* Numbers as they are in the file, `step` bytes apart, into an array of little-endian ones. */
int td_h5_numbers(void *out, const struct td_h5_type *type, const uint8_t *in, size_t n, size_t step,
    struct tundish_error *e);
/* The same, inside. */
int td_h5_numbers_inside(void *out, const struct td_h5_type *type, const uint8_t *in, size_t n, size_t step,
    struct tundish_error *e);
/* A number as it stands in memory, where it is a whole one that fits. */
bool td_h5_integer(int64_t *ret, enum td_elem elem, const void *number);
/* NumPy's complex numbers are compounds, too. Inside. */
bool td_h5_is_complex(hid_t type);
/* What members a compound has, as candidates: calls for each, with its path. Inside. */
bool td_h5_members(hid_t type, bool (*visit)(void *ctx, const char *member), void *ctx);

/* ---- cache.c ---- */

struct td_h5_chunk {
	struct td_h5_chunk *in_bucket, *newer, *older;
	const void *owner;
	uint64_t number;
	uint8_t *data;
	uint64_t bytes;
	unsigned users;
	uint64_t times, enough; /* how often it was wanted, and will be by those who go through once */
	bool ready, failed;
};

/* Chunks that were unpacked, of all files of a run, within a budget. */
#define TD_H5_BUCKETS 4096
struct td_h5_cache {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t budget, used;
	struct td_h5_chunk *buckets[TD_H5_BUCKETS];
	struct td_h5_chunk *newest, *oldest; /* all that nobody uses */
	struct td_h5_room *rooms;
	struct td_wait_stats waits;
};

void td_h5_cache_init(struct td_h5_cache *c, uint64_t budget);
/* A chunk, and those that will be wanted next: `left` more, `step` apart. */
struct td_h5_want {
	const void *owner;
	uint64_t number, step, left;
	uint64_t bytes; /* of each */
	uint64_t work;	/* that making it takes besides */
	uint64_t enough;/* how often each is wanted by those who go through once: its rows */
	/* Makes the one that is `ahead` steps away. */
	int (*fill)(void *ctx, uint64_t ahead, uint8_t *data, struct tundish_error *e);
	void *ctx;
};
/* The chunk, made the first time. Whoever would have to wait for one that another thread is
 * making makes one of the next meanwhile, where there is room. Whoever has one asks for no
 * other before it gives it back. */
int td_h5_cache_get(struct td_h5_chunk **ret, struct td_h5_cache *c, const struct td_h5_want *want,
    struct tundish_error *e);
void td_h5_cache_put(struct td_h5_cache *c, struct td_h5_chunk *chunk);
/* Drops what an owner has there. */
void td_h5_cache_drop(struct td_h5_cache *c, const void *owner);
void td_h5_cache_fini(struct td_h5_cache *c);

/* Where one thread unpacks; recycled, so there are as many as threads. NULL without memory. */
struct td_h5_room {
	struct td_h5_room *next;
	struct td_buf raw, scratch;
};
struct td_h5_room *td_h5_room_take(struct td_h5_cache *c);
void td_h5_room_put(struct td_h5_cache *c, struct td_h5_room *room);

/* ---- filter.c ---- */

struct td_h5_filter {
	int id;
	unsigned values[8], n_values;
	char name[32];
};

/* Whether all of them can be undone here. */
bool td_h5_filters_ours(const struct td_h5_filter *filters, unsigned n);
/* Undoes them to what is in room->raw: `bytes` come out, or it is CORRUPT. Bits of `mask` are
 * filters left out. */
int td_h5_unfilter(uint8_t *out, uint64_t bytes, struct td_h5_room *room, const struct td_h5_filter *filters,
    unsigned n, uint32_t mask, struct tundish_error *e);

/* ---- data.c ---- */

enum td_h5_layout {
	TD_H5_PIECES,  /* runs of bytes in this file or others */
	TD_H5_COMPACT, /* beside the header */
	TD_H5_CHUNKS,
	TD_H5_LIBRARY, /* the library puts it together */
};

struct td_h5_piece {
	int fd;
	bool own_fd;
	uint64_t at, offset, bytes; /* in the dataset; in the file */
};

#define TD_H5_FILTERS 16
struct td_h5_data {
	struct td_h5_file *file;
	char *path;
	hid_t id, file_type;
	unsigned rank;
	uint64_t dims[H5S_MAX_RANK], n; /* n: along the first axis, 1 of a scalar */
	uint64_t row_elements, row_bytes, element_bytes; /* in the file */
	enum td_h5_layout layout;
	struct td_h5_piece *pieces;
	size_t n_pieces;
	uint8_t *compact, *fill; /* fill: of an element that was never written */
	uint64_t chunk[H5S_MAX_RANK], chunk_bytes;
	struct td_h5_filter filters[TD_H5_FILTERS];
	unsigned n_filters;
	bool ours; /* the filters */
	bool external; /* in other files */
	struct td_h5_type type; /* of the member that is wanted */
	uint64_t max_bytes;
};

/* Opens a dataset, or a member of its elements. */
int td_h5_data_open(struct td_h5_data *ret, struct td_h5_files *files, const struct td_h5_place *place,
    uint64_t max_bytes, struct tundish_error *e);
/* The one at a path. */
int td_h5_data_find(struct td_h5_data *ret, struct td_h5_files *files, const char *path, uint64_t max_bytes,
    struct tundish_error *e);
void td_h5_data_close(struct td_h5_data *d, struct td_h5_cache *cache);
/* Whole elements of rows first .. first+n-1, as they are in the file. */
int td_h5_rows(struct td_h5_data *d, struct td_h5_cache *cache, uint64_t first, uint64_t n, uint8_t *out,
    struct tundish_error *e);
/* Appends the bytes that a variable-length element in the file stands for. */
int td_h5_heap_read(struct td_buf *out, const struct td_h5_data *d, const uint8_t *element,
    uint64_t max_bytes, struct tundish_error *e);

/* ---- element.c ---- */

/* Whole elements of rows first .. first+n-1, as they are in the file, into `row`. */
int td_h5_read_row(struct td_buf *row, struct td_h5_data *d, struct td_h5_cache *cache, uint64_t first, uint64_t n,
    struct tundish_error *e);
/* Appends the bytes of one: as they are, or what they stand for. Texts lose what fills them
 * up, encoded pictures the zeros behind them. */
int td_h5_element_bytes(struct td_buf *out, const struct td_h5_data *d, const uint8_t *element, bool picture,
    struct tundish_error *e);
/* The little-endian numbers of n elements, each with type.count of them. */
int td_h5_element_numbers(struct td_buf *out, const struct td_h5_data *d, const uint8_t *elements, uint64_t n,
    struct tundish_error *e);
/* Those of a variable-length one. */
int td_h5_vlen_numbers(struct td_buf *out, const struct td_h5_data *d, const uint8_t *element, struct td_buf *scratch,
    uint64_t *ret_n, struct tundish_error *e);

/* ---- choose.c ---- */

/* What the user wrote behind the path and a colon. */
struct td_h5_spec {
	char *image, *label, *name; /* NULL: not said */
	char **columns, **keys;
	size_t n_columns;
};
int td_h5_spec_parse(struct td_h5_spec *ret, const char *spec, struct tundish_error *e);
void td_h5_spec_free(struct td_h5_spec *spec);
/* Fills in the dataset, or group of pictures, that a file without a spec is about. */
int td_h5_choose(struct td_h5_spec *spec, struct td_h5_files *files, struct td_h5_cache *cache, uint64_t max_bytes,
    struct tundish_error *e);
/* All paths that a pattern with "*" in its components means, bytewise sorted, with what the
 * stars stand for, each with a NUL. */
struct td_h5_match {
	char *path, *stars;
	size_t n_stars;
};
int td_h5_glob(struct td_h5_match **ret, size_t *ret_n, struct td_h5_files *files, const char *pattern,
    struct tundish_error *e);
void td_h5_matches_free(struct td_h5_match *matches, size_t n);
/* The pattern with its stars filled in; to be freed. */
char *td_h5_star(const char *pattern, const struct td_h5_match *match);
/* Whether an element, or what it stands for, is an encoded picture. */
bool td_h5_is_picture(const void *data, size_t bytes);

/* Walks all objects below the root once, by name, links to other objects apart. Inside the
 * library's lock all the time. `visit` returns negative to end. */
typedef int td_h5_visit(void *ctx, const char *path, H5O_type_t type, hid_t object, struct tundish_error *e);
int td_h5_walk(struct td_h5_files *files, td_h5_visit *visit,
    int (*link)(void *ctx, const char *path, const char *target, struct tundish_error *e), void *ctx,
    struct tundish_error *e);

/* ---- tree.c ---- */
int td_h5_describe(json_t **ret, const struct td_file *file, const struct tundish_listener *l,
    struct tundish_error *e);
