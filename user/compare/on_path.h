/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tries what a comparison found: how much shorter operations become without a cause, as a what-if
 * run of the causal trace says. A cause beside which something else goes on that is waited for
 * anyway is off the path: operations take as long without it.
 */
#ifndef CLEW_COMPARE_ON_PATH_H
#define CLEW_COMPARE_ON_PATH_H

#include <clew/model.h>

#include "compare/compare.h"

/*
 * Sets `on_path` of the causes that changed most: the part, 0 to 1, of the time that goes with a
 * cause by which operations become shorter. It stays no number where nothing can be taken away.
 * `model`: of the first capture after. 0 or -ENOMEM.
 */
int on_path_try(const struct compare *compare, struct compare_result *result,
		const struct clew_model *model);

#endif
