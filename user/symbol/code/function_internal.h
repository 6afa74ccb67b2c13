/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the steps of reading a file's functions: names (table.c), ranges of
 * code with names or without (ranges.c), what each range's instructions lead to (code.c),
 * which ranges are one function (parts.c).
 */
#ifndef CLEW_SYMBOL_CODE_FUNCTION_INTERNAL_H
#define CLEW_SYMBOL_CODE_FUNCTION_INTERNAL_H

#include "base/vector.h"
#include "symbol/code/function.h"
#include "symbol/elf/demangle.h"
#include "symbol/elf/elf_file.h"

#define NO_RANGE UINT32_MAX

struct function_name {
	uint64_t address;
	uint64_t size;	     /* 0: not known */
	const char *name;    /* without a version */
	const char *version; /* NULL: none */
	uint32_t file;	     /* number of the source file that a local name belongs to, 0: none */
	uint8_t binding;     /* STB_* */
	bool ifunc;
	bool cold; /* of a part of a function */
};

/* Executable code of the file, in memory. */
struct code_segment {
	uint64_t address, offset, size;
	uint8_t *bytes;
	uint64_t *targets; /* a bit a byte: something leads there other than what stands before */
};

enum range_kind {
	RANGE_NAMED,
	RANGE_COLD,  /* a part, by its name */
	RANGE_HIDDEN /* known from .eh_frame only */
};

struct range {
	uint64_t start, size;		    /* 0: not known */
	const struct code_segment *segment; /* NULL: not in code */
	uint32_t name, name_count;	    /* in functions->names, the first is the one to show */
	uint32_t owner;			    /* the range that this one is a part of, or itself */
	uint32_t next_part;		    /* of the same owner, NO_RANGE: the last */
	uint32_t flow, flow_count;	    /* in functions->flows */
	uint8_t kind;
	bool ifunc;
	bool undecodable;
	bool called;			     /* by another range */
	bool taken;			     /* its address is: anything may call it */
	bool open;			     /* it calls, or jumps to, what is not known here */
	bool recursive;			     /* of an owner */
	uint8_t stack;			     /* of an owner: enum stack_use */
	struct clew_function_symbol *symbol; /* made when it is asked for */
};

enum flow_kind {
	FLOW_RET,
	FLOW_JUMP,
	FLOW_CONDITIONAL,
	FLOW_INDIRECT,
	FLOW_TABLE,	/* an indirect jump within the range */
	FLOW_FUNCTIONS, /* one to a function of a table */
	FLOW_CALL
};

/* An instruction that leaves a range, or calls. */
struct flow {
	uint32_t at;	 /* from the range's start */
	uint32_t target; /* the range that it leads to, NO_RANGE: none known */
	uint8_t kind;
	uint8_t condition;
	bool tested;   /* CONDITIONAL: by the flags alone */
	bool to_start; /* of the target */
};

/* A pointer into code that the loader makes. */
struct pointer {
	uint64_t at, to;
};

#define DATA_PAGES 128
#define DATA_PAGE  4096

/* A piece of the file that tables are read from. */
struct data_page {
	uint64_t number;
	size_t size; /* 0: nothing is here yet */
	uint8_t bytes[DATA_PAGE];
};

struct clew_functions {
	struct elf_file file;
	struct clew_functions_options options;
	struct arena arena;
	struct vector texts;	/* char *: string tables, to free */
	struct vector names;	/* struct function_name, by address */
	struct vector ranges;	/* struct range, by start */
	struct vector flows;	/* struct flow, by range and place */
	struct vector pointers; /* struct pointer, by place */
	struct code_segment *segments;
	size_t segment_count;
	unsigned kept;		 /* registers that have to be intact at an entry's probe (bit n: the
				    machine's number n), besides options.arguments */
	bool twice;		 /* a function of Go may be met a second time if its stack grows */
	struct data_page *pages; /* of the file, that were read lately; NULL: none yet */
	bool stripped, go;
	bool debug_names; /* some names are those of the debug file */
	struct clew_functions_stack stack;
	uint8_t build_id[CLEW_BUILD_ID_MOST];
	size_t build_id_size;
};

static inline struct range *ranges_of(const struct clew_functions *functions)
{
	return functions->ranges.data;
}

static inline const struct function_name *names_of(const struct clew_functions *functions)
{
	return functions->names.data;
}

/* table.c: reads both symbol tables. */
int functions_read_names(struct clew_functions *functions, const char *path);
/* ranges.c: makes ranges of the names and .eh_frame. */
int functions_make_ranges(struct clew_functions *functions);
bool functions_in_plt(const struct clew_functions *functions, uint64_t address);
/* The range that an address lies in, the innermost; NO_RANGE: none. */
uint32_t functions_range_at(const struct clew_functions *functions, uint64_t address);
/* code.c: reads the code; looks at each range's instructions. */
int functions_read_code(struct clew_functions *functions);
int functions_scan(struct clew_functions *functions);
/* NULL: the address is not in code. */
const struct code_segment *functions_segment_at(const struct clew_functions *functions,
						uint64_t address);
bool functions_is_target(const struct code_segment *segment, uint64_t address);
void functions_mark_target(const struct clew_functions *functions, uint64_t address);
/* Something may call, or go on at, an address. */
void functions_take_address(struct clew_functions *functions, uint64_t address);
/* Functions that an IFUNC's resolver takes the address of; `found` gets each. */
int functions_walk_variants(struct clew_functions *functions, const struct range *range,
			    int (*found)(void *context, const struct range *variant),
			    void *context);
/* parts.c: finds out which ranges are parts of which functions. */
int functions_join_parts(struct clew_functions *functions);
/* stack_file_*.c: which functions use the stack in a way that a replaced return address changes. */
int functions_follow_stacks(struct clew_functions *functions);
/* call_graph.c: which functions are open, and which recursive. */
int functions_find_open(struct clew_functions *functions);
/* entry_point_*.c: where an entry is probed; `keep_stack`: nothing that moves the stack pointer may
 * be passed. NULL, or why it cannot be. */
const char *function_enter(const struct clew_functions *functions, const struct range *range,
			   bool keep_stack, struct clew_function_entry *ret);
/* exits.c: the exits of an owner and its parts, the entry, and how its return is seen. */
int function_leave(struct clew_functions *functions, const struct range *range,
		   struct clew_function_symbol *symbol);
/* pointers.c: pointers into code from the relocations. */
int functions_read_pointers(struct clew_functions *functions);
/* file_bytes.c: the bytes of the file at an address, all in one page. False: there are none. */
bool functions_read_bytes(struct clew_functions *functions, uint64_t address, void *bytes,
			  size_t size);

/* jump_table_*.c: an indirect jump. */
struct jump_place {
	uint64_t at;	/* its address */
	uint64_t block; /* of the first instruction from which all run up to it */
	uint32_t flow;	/* its number in functions->flows */
};
enum jump_end {
	JUMP_UNKNOWN,
	JUMP_STAYS, /* in its own range, by a table whose targets are then marked */
	JUMP_LEAVES /* by a table of functions */
};
/* An address that may be of a table. Each jump of a range may read each table: it is read once for
 * each kind of entries. */
struct jump_table {
	uint64_t address;
	uint8_t read[2]; /* of entries of 8 bytes and of 4: enum table_read */
};
enum table_read {
	TABLE_READ = 1,
	TABLE_INSIDE = 2, /* its first entry leads into the range */
	TABLE_LEAVES = 4, /* it leads to another function */
};
enum jump_end functions_jump_end(struct clew_functions *functions, const struct range *range,
				 const struct jump_place *jump, struct jump_table *tables,
				 size_t table_count);

#endif
