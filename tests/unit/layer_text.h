/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Descriptions of layers and runtimes from texts; include <cmocka.h> before. */
#ifndef CLEW_TESTS_LAYER_TEXT_H
#define CLEW_TESTS_LAYER_TEXT_H

#include <string.h>

#include "relate/layer.h"

/* Reads a description that is right. The caller frees it. */
static struct clew_layers *read_text(const char *text)
{
	struct clew_layers *layers = NULL;
	char message[300];
	int r = clew_layers_read(text, strlen(text), "t", &layers, message, sizeof(message));

	if (r < 0)
		fail_msg("%d: %s", r, message);
	return layers;
}

#endif
