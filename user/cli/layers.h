/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Descriptions of layers from files. */
#ifndef CLEW_CLI_LAYERS_H
#define CLEW_CLI_LAYERS_H

#include "relate/layer.h"

/*
 * Reads the files, whose names have commas between them. Returns 0, the caller frees
 * both then, or an exit status after clew_fail(). *ret_text: all of them one after the
 * other, as a capture keeps it.
 */
int clew_load_layers(const char *files, struct clew_layers **ret_layers, char **ret_text);

#endif
