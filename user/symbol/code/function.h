/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions of an ELF file, and where each can be probed: at an instruction that
 * the kernel runs as the processor would, on the way into the function before anything
 * that matters has happened, and at each instruction by which it is left.
 */
#ifndef CLEW_SYMBOL_CODE_FUNCTION_H
#define CLEW_SYMBOL_CODE_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/maps.h>

#include "base/message.h"

#define CLEW_BUILD_ID_MOST 20 /* bytes that are kept */

/* The ways in which the kernel runs a probed instruction; record/functions/probe_cost.h
 * measures the cost of each. */
enum clew_probe_class { CLEW_PROBE_EMULATED, CLEW_PROBE_NOP5, CLEW_PROBE_STEPPED };

/* The ways in which a function's return is seen. */
enum clew_return_way {
	CLEW_RETURN_TRAMPOLINE, /* the kernel replaces the return address */
	CLEW_RETURN_EXITS,	/* a probe at each instruction that leaves it */
	CLEW_RETURN_NONE	/* not at all */
};

enum clew_exit_kind {
	CLEW_EXIT_RET,
	CLEW_EXIT_JUMP, /* to another function, also one of a table, or to the own start: a tail
			   call */
	CLEW_EXIT_CONDITIONAL, /* the same, if the flags say so */
	CLEW_EXIT_INDIRECT     /* to an address that only the process knows */
};

struct clew_function_exit {
	uint64_t offset; /* of the instruction in the file */
	uint8_t kind;	 /* enum clew_exit_kind */
	uint8_t class;	 /* enum clew_probe_class */
	/* CONDITIONAL: the low 4 bits of the opcode. It counts only if the flags say that it is
	 * taken. */
	uint8_t condition;
	uint8_t reserved;
	/* INDIRECT: the register or the memory that has the target. It counts only if that lies
	 * outside the function. */
	struct clew_operand target;
};

/* Where the entry is probed. */
struct clew_function_entry {
	uint64_t offset;   /* of the instruction in the file */
	uint8_t class;	   /* enum clew_probe_class */
	bool past_load;	   /* a load is before it: a fault there is not in the function */
	uint16_t slid;	   /* bytes from the function's start */
	uint16_t below;	   /* bytes by which the stack pointer is lower than at the start */
	uint8_t arguments; /* bit n: argument n is still in its register */
};

struct clew_function_symbol {
	const char *name;
	const char *demangled;	     /* NULL: the same */
	const char *const *versions; /* of the name in the dynamic symbol table */
	size_t version_count;
	const char *const *aliases; /* other names of the same address */
	size_t alias_count;
	uint64_t address; /* as the file was linked */
	uint64_t offset;  /* in the file */
	uint64_t size;	  /* bytes, of all parts */
	size_t parts;	  /* ranges: 1, more with parts that lie elsewhere (.cold) */
	/* "vex", "nop5", "prefix", "syscall", "int3", "unknown" (its first instruction may not be
	 * probed), "ifunc", "go", "no-range", "undecodable"; NULL: it can be probed */
	const char *refused;
	const char *const *variants; /* "ifunc": the named functions that it chooses from */
	size_t variant_count;
	struct clew_function_entry entry;
	enum clew_return_way returns;
	const char *why; /* this way, a few words */
	/* By offset; of the instructions that leave it, also where another way is taken. */
	const struct clew_function_exit *exits;
	size_t exit_count;
	bool closed;	/* calls only functions of this file that are closed, all by name */
	bool recursive; /* may call itself, by direct calls */
	bool endless;	/* has no exit: a jump, an exception or the end of its thread leaves it */
};

enum clew_returns_wanted {
	CLEW_RETURNS_AUTO,
	CLEW_RETURNS_TRAMPOLINE, /* asserted to be harmless, but for what is known to fail */
	CLEW_RETURNS_EXITS,
	CLEW_RETURNS_NONE
};

struct clew_functions_options {
	size_t size;		/* of this structure */
	bool strict_entry;	/* no load before the entry's probe */
	bool long_nops_stepped; /* by this kernel: only the nop of a byte is emulated */
	bool all_closed; /* nothing that runs in a process with this file unwinds or switches stacks
			  */
	enum clew_returns_wanted returns;
	unsigned arguments; /* bit n: argument n must be in its register at the entry's probe */
};

struct clew_functions_object {
	bool stripped;	  /* has no .symtab: only exported functions have names */
	bool debug_names; /* others have them by its installed debug file */
	bool go;
	size_t count; /* of functions with names */
	const uint8_t *build_id;
	size_t build_id_size; /* 0: it has none */
};

/* Code in a file that would compute something else with a replaced return address on the stack: the
 * first function that was found. */
struct clew_functions_stack {
	const char *use;  /* "it may switch stacks"; NULL: there is none */
	const char *name; /* NULL: it has none */
	uint64_t address;
	bool unclear; /* there is code that could not be followed */
};

struct clew_functions;

/*
 * Reads a file, by read(2) and never mapped; `descriptor` is not needed afterwards, `path` is for
 * messages. `options`: NULL the defaults. 0, -EBADMSG (no ELF file), -ENOTSUP (of another
 * machine), -EFBIG or another -errno with a message. Close with clew_functions_close.
 */
int clew_functions_open(int descriptor, const char *path,
			const struct clew_functions_options *options, struct clew_functions **ret,
			struct clew_message *message);

/* Functions of which a name, mangled or demangled, with parameters or without, fits a glob (NULL:
 * all), in order of address; they stay the object's. 0 or -ENOMEM. */
int clew_functions_find(struct clew_functions *functions, const char *glob,
			const struct clew_function_symbol *const **ret, size_t *ret_count);
/* The same function, probed where these arguments are still in their registers (bit n: argument
 * n). 0 or -ENOMEM. */
int clew_functions_keep(struct clew_functions *functions, const struct clew_function_symbol *symbol,
			unsigned arguments, struct clew_function_symbol *ret);
/* The function that has an address (as linked) in one of its parts, NULL: none with a name. */
const struct clew_function_symbol *clew_functions_at(struct clew_functions *functions,
						     uint64_t address);
/* The name that is most like the one asked for, NULL: there is none alike. */
const char *clew_functions_nearest(struct clew_functions *functions, const char *name);
void clew_functions_about(const struct clew_functions *functions,
			  struct clew_functions_object *ret);
/* Its texts stay the object's. */
void clew_functions_stack(const struct clew_functions *functions, struct clew_functions_stack *ret);
/* NULL and 0: it has none. */
const uint8_t *clew_functions_build_id(const struct clew_functions *functions, size_t *ret_size);
void clew_functions_close(struct clew_functions *functions);

#endif
