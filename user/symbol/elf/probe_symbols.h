/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the variables of a file are that arguments of its probes name. The tables are read when
 * something first asks.
 */
#ifndef CLEW_SYMBOL_ELF_PROBE_SYMBOLS_H
#define CLEW_SYMBOL_ELF_PROBE_SYMBOLS_H

#include "base/vector.h"
#include "symbol/elf/elf_symbols.h"

/* All zero but for `file`: nobody asked yet. */
struct probe_symbols {
	const struct elf_file *file;
	bool read;
	struct elf_symbol_texts texts;
	struct vector variables; /* struct elf_symbol, by name */
};

/* The address, as linked, of the only variable of that name. 0: there is none, or there are several
 * at different places, or the tables cannot be read. */
uint64_t probe_symbols_find(struct probe_symbols *symbols, const char *name, size_t length);
void probe_symbols_done(struct probe_symbols *symbols);

#endif
