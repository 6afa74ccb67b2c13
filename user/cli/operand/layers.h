/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Descriptions of layers from files. */
#ifndef CLEW_CLI_OPERAND_LAYERS_H
#define CLEW_CLI_OPERAND_LAYERS_H

#include "relate/layer.h"

/*
 * Reads the files, whose names are separated by commas. *ret_text: their texts
 * one after the other, as a capture keeps them. Returns 0, and the caller frees
 * both results, or an exit status after clew_fail().
 */
int clew_load_layers(const char *files, const char *runtimes, struct clew_layers **ret_layers,
		     char **ret_text, bool *ret_auto);

#endif
