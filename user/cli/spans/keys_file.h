/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The file of keys beside a capture: found, or made where there is none that fits. */
#ifndef CLEW_CLI_SPANS_KEYS_FILE_H
#define CLEW_CLI_SPANS_KEYS_FILE_H

#include "relate/keys.h"

/*
 * The keys of what an operand names. Where their file is missing or not of this capture, all of the
 * capture is read and the file made; one that cannot be kept there lasts as long as the keys are
 * open. Returns 0 or, after clew_fail(), an exit status.
 */
int clew_open_keys(const char *operand, struct clew_keys **ret_keys);

#endif
