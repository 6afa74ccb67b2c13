/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Settings of the reader, for its tests. */
#ifndef CLEW_STORE_READER_H
#define CLEW_STORE_READER_H

#include "store/capture.h"

/*
 * After the next rewind, chunks are decoded ahead if the capture has at least
 * so many rows; UINT64_MAX: never.
 */
void store_reader_ahead(struct clew_reader *reader, uint64_t rows);

#endif
