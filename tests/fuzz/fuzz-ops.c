/* SPDX-License-Identifier: BSD-2-Clause
 * The text of --ops and of the other small grammars of the command line. */
#include "fuzz.h"

#include "flow/ops.h"
#include "flow/order.h"
#include "pack/names.h"

static void chain(const char *text)
{
	struct tundish_error e = { 0 };
	struct td_chain c;
	int r = td_chain_parse(&c, text, &e);
	if (r) {
		MUST(r == TUNDISH_E_USAGE);
		must_be_told(r, &e);
		return;
	}
	MUST(c.n <= TD_OPS_MAX);
	struct td_size size = td_chain_size(&c);
	MUST(!size.width == !size.height);
	for (int elem = TD_UINT8; elem <= TD_COMPLEX128; elem++) {
		uint32_t channels;
		if (td_chain_channels(&c, (enum td_elem)elem, 3, &channels, &e) < 0)
			must_be_told(TUNDISH_E_USAGE, &e);
	}
	td_chain_close(&c);
}

static void order(const char *text)
{
	struct tundish_error e = { 0 };
	struct td_order_spec spec;
	int r = td_order_parse(&spec, text, &e);
	if (r)
		must_be_told(r, &e);
}

static void keys(const char *text)
{
	struct tundish_error e = { 0 };
	struct td_key_names names = { 0 };
	int r = td_key_names_parse(&names, text, &e);
	if (r)
		must_be_told(r, &e);
	else
		td_key_names_free(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);
	MUST(text);
	memcpy(text, data, len);
	text[len] = 0;
	chain(text);
	order(text);
	keys(text);
	free(text);
	return 0;
}
