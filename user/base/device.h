/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The numbers of a device as text: "259:0". */
#ifndef CLEW_BASE_DEVICE_H
#define CLEW_BASE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#define DEVICE_TEXT_SIZE 24

/* Fills a buffer of DEVICE_TEXT_SIZE bytes, and returns it. */
const char *device_text(uint32_t device, char *buffer);
/* The same with a buffer of its own, as an argument. */
#define DEVICE_TEXT(device) device_text(device, (char[DEVICE_TEXT_SIZE]){0})

/* Reads such a text. False: it is none, or the numbers are too large. */
bool device_read(const char *text, uint32_t *ret_device);

#endif
