/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stitching what another command has collected. */
#ifndef CLEW_CLI_ONE_STITCH_H
#define CLEW_CLI_ONE_STITCH_H

/* As `clew stitch -o OUTPUT NAME..` does; the list ends with NULL. Returns an exit status. */
int clew_stitch_captures(char **names, const char *output);

#endif
