/* SPDX-License-Identifier: BSD-2-Clause
 * libav's messages: kept instead of printed. */
#include "words.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <libavutil/error.h>
#include <libavutil/log.h>

/* They are more exact than error codes. */
static _Thread_local char said[160];

static void take_words(void *ctx, int level, const char *fmt, va_list args)
{
	(void)ctx;
	if (level > AV_LOG_ERROR)
		return;
	vsnprintf(said, sizeof said, fmt, args);
	said[strcspn(said, "\r\n")] = 0;
}

static void keep(void)
{
	av_log_set_callback(take_words);
}

void td_words_keep(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, keep);
}

void td_words_forget(void)
{
	said[0] = 0;
}

const char *td_words(int code)
{
	if (!said[0])
		av_strerror(code, said, sizeof said);
	return said;
}
