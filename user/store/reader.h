/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the reader's tests want to set.
 */
#ifndef CLEW_STORE_READER_H
#define CLEW_STORE_READER_H

#include "store/capture.h"

/* From the next rewinding on, chunks are decoded ahead if the capture has so many rows; UINT64_MAX:
 * never. */
void store_reader_ahead(struct clew_reader *reader, uint64_t rows);

#endif
