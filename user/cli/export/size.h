/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Estimates how large an export becomes. */
#ifndef CLEW_CLI_EXPORT_SIZE_H
#define CLEW_CLI_EXPORT_SIZE_H

#include "export/export.h"

/*
 * Before an export that becomes large, by itself or against the capture, prints one line on
 * standard error: about how large, and how it becomes smaller. `operand`: the capture's name.
 */
void clew_export_note_size(const struct clew_export *export,
			   const struct clew_export_format *format, const char *operand);

#endif
