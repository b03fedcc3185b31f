/* SPDX-License-Identifier: BSD-2-Clause
 * Reads the text of a chain of operations. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/real.h"
#include "optable.h"
#include "picture.h"

/* A run of the text. */
struct span {
	const char *s;
	size_t len;
};

struct reader {
	const char *text;
	struct tundish_error *e;
};

static int wrong(const struct reader *r, struct span at, const char *what, const char *form)
{
	return td_err(r->e, TUNDISH_E_USAGE, "ops, place %zu, \"%s\": %s%s%s",
	    (size_t)(at.s - r->text) + 1, td_escape((char[128]){ 0 }, 128, at.s, at.len), what,
	    form ? "; it is written " : "", form ? form : "");
}

static bool equals(struct span a, const char *name)
{
	return strlen(name) == a.len && memcmp(a.s, name, a.len) == 0;
}

/* What stands before the first `sep`; *rest goes on behind it, or becomes empty. */
static struct span cut(struct span *rest, char sep)
{
	const char *at = rest->len ? memchr(rest->s, sep, rest->len) : NULL;
	struct span first = { rest->s, at ? (size_t)(at - rest->s) : rest->len };
	size_t used = at ? first.len + 1 : first.len;
	*rest = (struct span){ rest->s + used, rest->len - used };
	return first;
}

static bool read_real(const struct td_param *param, struct span v, double *ret)
{
	double d;
	if (v.len == 0 || td_parse_real(&d, v.s, v.len) != v.len)
		return false;
	*ret = d;
	return d >= param->least && d <= param->most;
}

static bool read_whole(const struct td_param *param, struct span v, uint32_t *ret)
{
	uint64_t n = 0;
	if (v.len == 0 || v.len > 9)
		return false;
	for (size_t i = 0; i < v.len; i++) {
		if (v.s[i] < '0' || v.s[i] > '9')
			return false;
		n = n * 10 + (uint64_t)(v.s[i] - '0');
	}
	*ret = (uint32_t)n;
	return (double)n >= param->least && (double)n <= param->most;
}

/* N or HxW into width, height. */
static bool read_size(const struct td_param *param, struct span v, uint32_t size[2])
{
	struct span height = cut(&v, 'x');
	if (!read_whole(param, height, &size[1]))
		return false;
	size[0] = size[1];
	return v.s == height.s + height.len ? true : read_whole(param, v, &size[0]);
}

static bool read_range(const struct td_param *param, struct span v, double range[2])
{
	size_t n = td_parse_real(&range[0], v.s, v.len);
	if (n == 0 || n >= v.len || v.s[n] != '-')
		return false;
	struct span high = { v.s + n + 1, v.len - n - 1 };
	return read_real(param, high, &range[1]) && range[0] >= param->least &&
	    range[0] <= range[1];
}

static bool read_spread(const struct td_param *param, struct span v, double range[2])
{
	if (!read_real(param, v, &range[1]))
		return read_range(param, v, range);
	range[0] = -range[1];
	return range[1] >= 0;
}

/* Room for more elements behind the n that there are, up to the limit for lists. */
static void *more_room(void *list, uint32_t n, uint32_t more, size_t bytes)
{
	return more > TD_LIST_MOST - n ? NULL : realloc(list, ((size_t)n + more) * bytes);
}

static bool read_list(const struct td_param *param, struct span v, struct td_numbers *list)
{
	bool last;
	if (list->n) /* a file gave them */
		return false;
	do {
		last = v.len == 0 || memchr(v.s, '/', v.len) == NULL;
		struct span part = cut(&v, '/');
		double number, *more = read_real(param, part, &number) ?
		    more_room(list->list, list->n, 1, sizeof *more) : NULL;
		if (!more)
			return false;
		more[list->n++] = number;
		list->list = more;
	} while (!last);
	return true;
}

static bool read_bands(const struct td_param *param, struct span v, struct td_bands *bands)
{
	uint32_t first, last;
	struct span low = cut(&v, '-');
	if (!read_whole(param, low, &first))
		return false;
	last = first;
	if ((v.s != low.s + low.len && !read_whole(param, v, &last)) || last < first)
		return false;
	uint32_t *more = more_room(bands->list, bands->n, last - first + 1, sizeof *more);
	if (!more)
		return false;
	for (uint32_t band = first; band <= last; band++)
		more[bands->n++] = band - 1;
	bands->list = more;
	return true;
}

static bool read_edges(const struct td_param *param, struct span v, uint32_t edge[4])
{
	bool one = memchr(v.s, '/', v.len) == NULL;
	for (int i = 0; i < 4; i++) {
		struct span part = one ? v : cut(&v, '/');
		if (!read_whole(param, part, &edge[i]))
			return false;
	}
	return one || v.len == 0;
}

static bool read_word(const struct td_param *param, struct span v, int *ret)
{
	for (const struct td_word *w = param->words; w->name; w++) {
		if (equals(v, w->name)) {
			*ret = w->value;
			return true;
		}
	}
	return false;
}

static bool read_shape(const struct td_param *param, struct span v, struct td_op *op)
{
	do {
		struct span side = cut(&v, 'x');
		if (op->axes == TD_TENSOR_AXES || !read_whole(param, side, &op->shape[op->axes]))
			return false;
		op->axes++;
		if (v.s == side.s + side.len)
			return true;
	} while (true);
}

static bool read_value(const struct td_param *param, struct span v, struct td_op *op)
{
	void *at = (char *)op + param->offset;
	switch (param->type) {
	case P_SIZE:
		return read_size(param, v, at);
	case P_NUMBER:
		return read_whole(param, v, at);
	case P_EDGES:
		return v.len > 0 && read_edges(param, v, at);
	case P_REAL:
		return read_real(param, v, at);
	case P_RANGE:
		return read_range(param, v, at);
	case P_SPREAD:
		return v.len > 0 && read_spread(param, v, at);
	case P_LIST:
		return read_list(param, v, at);
	case P_BANDS:
		return read_bands(param, v, at);
	case P_WORD:
		return read_word(param, v, at);
	case P_PRESET:
		return read_word(param, v, at) || td_normalize_file(op, v.s, v.len);
	case P_SHAPE:
		return read_shape(param, v, op);
	case P_TEXT:
		op->text = v.s;
		op->text_len = v.len;
		return v.len > 0;
	}
	return false;
}

/* One "value" or "key=value"; `seen` has a bit for each parameter given. */
static int read_param(const struct reader *r, struct td_op *op, struct span part, unsigned *seen)
{
	struct span value = part, key = { part.s, 0 };
	if (part.len && memchr(part.s, '=', part.len))
		key = cut(&value, '=');
	const struct td_param *p = op->kind->params;
	if (p->key && p->type == P_TEXT) {
		value = part;
		key.len = 0;
	}
	while (p->key && !equals(key, p->key))
		p++;
	if (!p->key)
		return wrong(r, part, key.len ? "there is no such parameter" : "takes no value",
		    op->kind->form);
	unsigned bit = 1u << (p - op->kind->params);
	if ((*seen & bit) && p->type != P_BANDS)
		return wrong(r, part, "given twice", NULL);
	*seen |= bit;
	if (!read_value(p, value, op))
		return wrong(r, part, p->type == P_PRESET ? "neither a known name nor a file that tells mean and std" :
		    "not understood, or out of range", op->kind->form);
	return 0;
}

static void set_defaults(struct td_op *op, const struct td_op_kind *kind)
{
	bool erasing = strcmp(kind->name, "random_erasing") == 0;
	bool mixes = strcmp(kind->name, "mixup") == 0 || strcmp(kind->name, "cutmix") == 0;
	*op = (struct td_op){
		.kind = kind,
		.p = mixes ? 1 : 0.5,
		.scale = { 0.08, 1 },
		.ratio = { 3.0 / 4, 4.0 / 3 },
		.sigma = { 0.1, 2 },
		.most = 255,
		.elem = -1,
		.stride = 1,
		.start = -1,
	};
	if (erasing) {
		op->scale[0] = 0.02;
		op->scale[1] = 0.33;
		op->ratio[0] = 0.3;
		op->ratio[1] = 3.3;
	}
}

static void close_op(struct td_op *op)
{
	free(op->mean.list);
	free(op->std.list);
	free(op->bands.list);
}

/* On failure, too, `op` is to be closed. */
static int read_op(const struct reader *r, struct td_op *op, struct span text)
{
	struct span rest = text, name = cut(&rest, ':');
	const struct td_op_kind *kind = td_op_kinds;
	while (kind->name && !equals(name, kind->name))
		kind++;
	*op = (struct td_op){ 0 };
	if (!kind->name)
		return wrong(r, name, "there is no such operation", NULL);
	set_defaults(op, kind);
	unsigned seen = 0;
	bool colon = name.len < text.len;
	while (colon) {
		bool whole = kind->params[0].key && kind->params[0].type == P_TEXT;
		struct span part = whole ? rest : cut(&rest, ',');
		int rc = read_param(r, op, part, &seen);
		if (rc < 0)
			return rc;
		colon = part.s + part.len < text.s + text.len;
	}
	for (const struct td_param *p = kind->params; p->key; p++) {
		if (p->must && !(seen & 1u << (p - kind->params)))
			return wrong(r, text, "a value is missing", kind->form);
	}
	const char *bad = kind->check ? kind->check(op) : NULL;
	return bad ? wrong(r, text, bad, kind->form) : 0;
}

static bool is(const struct td_op *op, const char *name)
{
	return strcmp(op->kind->name, name) == 0;
}

static bool is_mix(const struct td_op *op)
{
	return is(op, "mixup") || is(op, "cutmix");
}

/* Mixing comes at last: float16 and bfloat16 may follow, since they round what is mixed. */
static const char *check_mixes(const struct td_chain *c, const struct td_op *op, bool ended)
{
	bool weighs = false;
	for (unsigned i = 0; i < c->n_mixes; i++)
		weighs |= !c->mixes[i].cut;
	bool cast = is(op, "cast") && (op->dtype != TUNDISH_UINT8 || !weighs);
	if (is_mix(op) && ended)
		return "stands before cast:float16 and cast:bfloat16";
	if (is_mix(op) && c->n_mixes == TD_MIXES_MAX)
		return "too many of them";
	if (c->n_mixes && !is_mix(op) && !(op->kind->flags & TD_OP_APART) && !cast && !is(op, "layout"))
		return "only cast to floats and layout may follow mixup and cutmix";
	return NULL;
}

/* What may stand where: decode first, layout last, small floats before it alone. */
static int check_place(const struct reader *r, const struct td_chain *c, const struct td_op *op,
    struct span text, bool *ended)
{
	if ((is(op, "select") && c->select) || (is(op, "one_hot") && c->classes) ||
	    (is(op, "tensor") && c->tensor_axes) || (is(op, "clip") && c->clip.frames))
		return wrong(r, text, "given twice", NULL);
	const char *bad = check_mixes(c, op, *ended);
	if (bad)
		return wrong(r, text, bad, NULL);
	if (op->kind->flags & TD_OP_APART)
		return 0;
	if (is(op, "decode") && c->n > 0)
		return wrong(r, text, "decode stands first", NULL);
	if (*ended && !is(op, "layout"))
		return wrong(r, text, "only layout may follow cast:float16 and cast:bfloat16", NULL);
	if (c->n > 0 && is(&c->ops[c->n - 1], "layout"))
		return wrong(r, text, "layout stands last", NULL);
	*ended |= is(op, "cast") &&
	    (op->dtype == TUNDISH_FLOAT16 || op->dtype == TUNDISH_BFLOAT16);
	return 0;
}

bool td_op_random(const struct td_op *op)
{
	bool chance = op->kind->params[0].key && op->kind->params[0].type == P_REAL;
	return (op->kind->flags & TD_OP_RANDOM) && !(chance && (op->p <= 0 || op->p >= 1));
}

static void note_effect(struct td_chain *c, struct td_op *op, unsigned place)
{
	op->purpose = TD_RNG_OP + place;
	c->random |= td_op_random(op);
	if (is(op, "cast"))
		c->dtype = op->dtype;
	else if (op->kind->flags & TD_OP_FLOATS)
		c->dtype = TUNDISH_FLOAT32;
	if (is(op, "cast") || op->kind->flags & TD_OP_FLOATS)
		c->keeps = false;
	if (is(op, "layout"))
		c->nchw = op->layout;
	if (is(op, "select")) {
		c->select = op->text;
		c->select_len = op->text_len;
	}
	if (is(op, "one_hot"))
		c->classes = op->classes;
	if (is(op, "clip"))
		c->clip = (struct td_clip){ op->frames, op->stride, op->start };
	if (is_mix(op))
		c->mixes[c->n_mixes++] = (struct td_mix){ is(op, "cutmix"), op->alpha, op->p };
	if (is(op, "tensor")) {
		c->tensor_axes = op->axes;
		for (unsigned i = 0; i < op->axes; i++)
			c->tensor_shape[i] = op->shape[i];
		c->tensor_typed = op->elem >= 0;
		c->tensor_elem = (enum td_elem)op->elem;
	}
}

int td_chain_parse(struct td_chain *ret, const char *text, struct tundish_error *e)
{
	static const char blanks[] = " \t\r\n";
	struct td_chain c = { .dtype = TUNDISH_UINT8, .keeps = true };
	struct reader r = { text ? text : "", e };
	bool ended = false;
	unsigned place = 0;
	for (const char *s = r.text + strspn(r.text, blanks); *s; s += strspn(s, blanks)) {
		struct span word = { s, strcspn(s, blanks) };
		s += word.len;
		struct td_op op = { 0 };
		int rc = c.n == TD_OPS_MAX ? wrong(&r, word, "too many operations", NULL) :
					     read_op(&r, &op, word);
		if (rc == 0)
			rc = check_place(&r, &c, &op, word, &ended);
		if (rc < 0) {
			close_op(&op);
			td_chain_close(&c);
			return rc;
		}
		/* a leading decode changes nothing, so it moves nobody's draws */
		note_effect(&c, &op, place);
		if (op.kind->flags & TD_OP_APART)
			continue;
		place += !is(&op, "decode");
		c.ops[c.n++] = op;
	}
	/* what the batch holds is the last step's business, not an operation */
	if (c.n > 0 && is(&c.ops[c.n - 1], "layout"))
		c.n--;
	if (c.n > 0 && is(&c.ops[c.n - 1], "cast") && c.ops[c.n - 1].dtype == c.dtype)
		c.n--;
	*ret = c;
	return 0;
}

void td_chain_close(struct td_chain *chain)
{
	for (unsigned i = 0; i < chain->n; i++)
		close_op(&chain->ops[i]);
	chain->n = 0;
}

bool td_chain_any(const struct td_chain *chain)
{
	for (unsigned i = 0; i < chain->n; i++) {
		if (!(chain->ops[i].kind->flags & TD_OP_ANY))
			return false;
	}
	return !chain->nchw;
}

/* The number of channels behind an operation; 0: it cannot be done to so many. */
static uint32_t channels_after(const struct td_op *op, uint32_t channels)
{
	if ((op->kind->flags & TD_OP_RGB) && channels != 3)
		return 0;
	if (is(op, "normalize") && op->mean.n > 1 && op->mean.n != channels)
		return 0;
	for (uint32_t i = 0; i < op->bands.n; i++) {
		if (op->bands.list[i] >= channels)
			return 0;
	}
	return op->bands.n ? op->bands.n : channels;
}

int td_chain_channels(struct td_chain *chain, enum td_elem elem, uint32_t channels, uint32_t *ret_channels,
    struct tundish_error *e)
{
	bool complex = td_elem_number_bytes(elem) != td_elem_bytes(elem);
	for (unsigned i = 0; i < chain->n; i++) {
		struct td_op *op = &chain->ops[i];
		uint32_t after = channels_after(op, channels);
		if (after == 0)
			return td_err(e, TUNDISH_E_USAGE, "%s cannot be done to pictures or arrays of %u channels",
			    op->kind->name, channels);
		channels = after;
		op->most = elem == TD_UINT8 ? 255 : 1;
		if (is(op, "normalize") && elem != TD_UINT8 && op->preset != TD_NORMALIZE_FILE && op->preset != 0)
			return td_err(e, TUNDISH_E_USAGE,
			    "normalize of %s arrays needs mean and std, which may come from a file", td_elem_name(elem));
	}
	if (complex && !chain->keeps)
		return td_err(e, TUNDISH_E_USAGE, "complex numbers can be cropped and turned only");
	*ret_channels = channels;
	return 0;
}

struct td_size td_chain_size(const struct td_chain *chain)
{
	struct td_size size = { 0 };
	for (unsigned i = 0; i < chain->n; i++) {
		if (chain->ops[i].kind->size)
			chain->ops[i].kind->size(&chain->ops[i], &size);
	}
	return size;
}

int td_op_apply(const struct td_op *op, struct td_picture *picture, struct td_rng *rng)
{
	return op->kind->apply(op, picture, rng);
}
