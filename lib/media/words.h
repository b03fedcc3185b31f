/* SPDX-License-Identifier: BSD-2-Clause
 * libav's messages: kept instead of printed. For its modules. */
#pragma once

/* Nothing is printed from here on. Any thread, any number of times. */
void td_words_keep(void);
void td_words_forget(void);
/* What was said last on this thread since they were forgotten, else what the code means. */
const char *td_words(int code);
