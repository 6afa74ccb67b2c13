/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sums over a capture that is too long to be read in one piece. Functions that return an int
 * return 0 or, after clew_fail(), an exit status.
 */
#ifndef CLEW_CLI_OPERAND_WINDOWS_H
#define CLEW_CLI_OPERAND_WINDOWS_H

#include "trace/windows.h"

/*
 * Opens what an operand names if it is a long capture: *ret_reader is NULL if it is anything else,
 * or cannot be opened, and is to be opened as usual. It is closed by the caller. `models`: causal
 * traces are made of the windows.
 */
int clew_windows_open(const char *operand, bool models, struct clew_reader **ret_reader);

/* Looks at all windows. `drop_types`: as for clew_open_trace(). Says what is damaged, too. */
int clew_windows_look(const char *operand, struct clew_reader *reader, uint32_t drop_types,
		      const struct clew_windows_taker *taker, struct clew_trace **ret_names);

/* Looks at all windows once more, as before. */
int clew_windows_again(const char *operand, struct clew_reader *reader,
		       const struct clew_windows_taker *taker);

/* Only reads the names, of the whole capture, and with `works` what struct clew_windows_taker says
 * of it; the reader is at the start again afterwards. */
int clew_windows_names(const char *operand, struct clew_reader *reader, bool works,
		       struct clew_trace **ret_names);

#endif
