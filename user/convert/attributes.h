/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The attributes by which a causal trace keeps what a capture knows: one table
 * has the key and the form of the values of each. pairs.c writes rows by it,
 * rows.c reads them, and shift.c moves them to another clock.
 * docs/causal-trace.md says what the attributes mean.
 *
 * A value consists of rows with commas between them, a row of fields with
 * blanks between them. Blank, comma and backslash in a field have a backslash
 * before them. A form has a letter for each field:
 *
 *	t  a moment in ns; 0: there is none
 *	#  any other number, which no clock changes
 *	c  number of a CPU
 *	r  number of a request
 *	f  number of a function
 *	e  number of an end of a connection
 *	m  MAJOR:MINOR of a device
 *	n  name of a thread
 *	w  a word
 *	.  a word after a point, which may be empty
 *	x  16 bytes in hexadecimal
 *	+  a plus sign or nothing, and no blank after it
 *
 * A comma in the form means that a comma, not a blank, comes before the next
 * field, which may be empty. An asterisk lets the last field occur any number
 * of times. Two forms have no rows: T is text as it is, N is the name of a
 * thread as it is.
 */
#ifndef CLEW_CONVERT_ATTRIBUTES_H
#define CLEW_CONVERT_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * KEY(name, key, form, fields that a row has at least, what is wrong with any
 * other value). A key that ends with a point stands for all keys that begin
 * with it and are not in the table themselves. Where the last column is NULL,
 * the error says that the row is not as `clew convert` writes it.
 */
/* clang-format off */
#define ATTRIBUTES(KEY)                                                                            \
	/* threads */                                                                              \
	KEY(TID,             "tid",             "#",         1, NULL)                              \
	KEY(PID,             "pid",             "#",         1, NULL)                              \
	KEY(INNER_TID,       "inner_tid",       "#",         1, NULL)                              \
	KEY(PROCESS,         "process",         "N",         1, NULL)                              \
	KEY(PARENT,          "parent",          "N",         1, NULL)                              \
	KEY(NAMES,           "names",           "tw",        1, "a row is a time and a name")      \
	KEY(SCHEDULED,       "scheduled",       "t##",       3,                                    \
	    "a row is a time, a policy and a priority")                                            \
	KEY(COMMAND,         "command",         "T",         1, NULL)                              \
	KEY(EXECUTABLE,      "executable",      "T",         1, NULL)                              \
	KEY(EXECUTABLE_FILE, "executable_file", "m#",        2, "this is no device and inode")     \
	KEY(USER,            "user",            "#",         1, NULL)                              \
	KEY(TASK_FLAGS,      "task_flags",      "#",         1, NULL)                              \
	KEY(NAMESPACES,      "namespaces",      "##",        2, "these are not two numbers")       \
	KEY(CGROUP,          "cgroup",          "#",         1, NULL)                              \
	KEY(BORN,            "born",            "t",         1, NULL)                              \
	KEY(DIED,            "died",            "t",         1, NULL)                              \
	KEY(UNSEEN,          "unseen",          "T",         1, NULL)                              \
	KEY(SPINS,           "spins",           "tt##n",     5,                                    \
	    "a row is a start, an end, a lock, its type and a holder")                             \
	KEY(STAYS,           "stays",           "tt###",     5,                                    \
	    "a row is a start, an end, a call, what it did for memory, and evidence")              \
	KEY(TALLIES,         "tallies",         "tt##",      4,                                    \
	    "a row is a start, an end, what was counted, and how often")                           \
	KEY(FAILED,          "failed",          "tm######n", 9,                                    \
	    "a row is a time, a device, six numbers and a holder")                                 \
	KEY(EXCHANGES,       "exchanges",       "tt##e#nttt###", 7,                                \
	    "a row is a begin, an end, four numbers, the thread at the other end, three times and "\
	    "three numbers")                                                                       \
	KEY(MESSAGES,        "messages",        "tt####",    6,                                    \
	    "a row is two times, a socket, a place, bytes and flags")                              \
	KEY(TOUCHES,         "touches",         "m##tt##",   7,                                    \
	    "a row is a device, an inode, what was done, begin, end, place and bytes")             \
	KEY(ANNOUNCED,       "announced",       "#t##.*",    4,                                    \
	    "a row is a place, a time, a token, 0 or 1, and words")                                \
	KEY(MOMENTS,         "moments",         "#t###.",    6,                                    \
	    "a row is a place, a time, a stack pointer, a point, bits and bytes")                  \
	KEY(CODES,           "codes",           "#.",        2, "a row is an address and a name")  \
	KEY(ENVIRONMENT,     "environment",     "#.",        2, "a row is a number and a value")   \
	KEY(FRAMES,          "frames",          "ttf#####",  8,                                    \
	    "a row is a start, an end, a function and five numbers")                               \
	KEY(FRAMES_LEFT_OUT, "frames_left_out", "f##",       3, NULL)                              \
	KEY(LOGICAL,         "logical",         "#.",        2, NULL)                              \
	KEY(CLOSED,          "closed",          "T",         1, NULL)                              \
	KEY(PROBE,           "probe",           "#",         1, NULL)                              \
	KEY(INHERITED,       "inherited",       "T",         1, NULL)                              \
	KEY(INCLUSIVE,       "inclusive",       "T",         1, NULL)                              \
	KEY(INFERRED,        "inferred",        "T",         1, NULL)                              \
	KEY(FRAME_VALUES,    "frame_values",    "####n.",    6,                                    \
	    "a row is four numbers, a thread and bytes")                                           \
	KEY(ENDS,            "ends",            "t##m######", 10,                                  \
	    "a row is a time, flags, a kind, a device and six numbers")                            \
	/* waits, and what they have in common with dependencies */                                \
	KEY(OBJECT,          "object",          "T",         1, NULL)                              \
	KEY(ID,              "id",              "#",         1, NULL)                              \
	KEY(DEV,             "dev",             "m",         1, "this is no MAJOR:MINOR")          \
	KEY(FD,              "fd",              "#",         1, NULL)                              \
	KEY(OP,              "op",              "T",         1, NULL)                              \
	KEY(SHARED,          "shared",          "T",         1, NULL)                              \
	KEY(MEMORY,          "memory",          "#",         1, NULL)                              \
	KEY(CALL,            "call",            "T",         1, NULL)                              \
	KEY(CALL_ID,         "call_id",         "T",         1, NULL)                              \
	KEY(CONTEXT,         "context",         "T",         1, NULL)                              \
	KEY(ENDED_BY,        "ended_by",        "N",         1, NULL)                              \
	KEY(HOLDER,          "holder",          "nttww",     1,                                    \
	    "a row begins with a thread's name")                                                  \
	KEY(RUNQUEUE,        "runqueue",        "#",         1, NULL)                              \
	KEY(ENDED,           "ended",           "t",         1, NULL)                              \
	KEY(OPEN,            "open",            "T",         1, NULL)                              \
	KEY(FROZEN,          "frozen",          "T",         1, NULL)                              \
	KEY(BLIND,           "blind",           "T",         1, NULL)                              \
	KEY(RAW_AT,          "raw_at",          "t",         1, NULL)                              \
	KEY(EDGE,            "edge",            "T",         1, NULL)                              \
	KEY(EVIDENCE,        "evidence",        "T",         1, NULL)                              \
	KEY(FROM_TASK,       "from_task",       "N",         1, NULL)                              \
	KEY(FROM,            "from",            "t",         1, NULL)                              \
	KEY(LINKS,           "links",           "+#ttt##wnn", 10,                                  \
	    "a row is six numbers, the evidence and two names")                                    \
	KEY(OPERATION,       "operation",       "#",         1, NULL)                              \
	KEY(EPOLL,           "epoll",           "#",         1, NULL)                              \
	KEY(FLAGS,           "flags",           "#",         1, NULL)                              \
	KEY(RETRIED,         "retried",         "T",         1, NULL)                              \
	KEY(ASKED,           "asked",           "t",         1, NULL)                              \
	KEY(AWAY,            "away",            "#",         1, NULL)                              \
	KEY(EXCHANGE,        "exchange",        "T",         1, NULL)                              \
	KEY(REST,            "rest",            "T",         1, NULL)                              \
	KEY(SINCE,           "since",           "t*",        0, NULL)                              \
	KEY(UNTIL,           "until",           "t",         1, NULL)                              \
	KEY(KNOWN,           "known",           "T",         1, NULL)                              \
	/* dependencies alone */                                                                   \
	KEY(TO,              "to",              "t",         1, NULL)                              \
	KEY(FROM_COMM,       "from_comm",       "T",         1, NULL)                              \
	KEY(TO_COMM,         "to_comm",         "T",         1, NULL)                              \
	KEY(LONE,            "lone",            "T",         1, NULL)                              \
	KEY(CHOICE,          "choice",          "#",         1, NULL)                              \
	KEY(WEIGHT,          "weight",          "#",         1, NULL)                              \
	KEY(OWN,             "own",             "#",         1, NULL)                              \
	KEY(BRIDGED,         "bridged",         "T",         1, NULL)                              \
	KEY(CALLED,          "called",          "T",         1, NULL)                              \
	KEY(CALLER,          "caller",          "T",         1, NULL)                              \
	KEY(DESCRIPTORS,     "descriptors",     "T",         1, NULL)                              \
	/* requests */                                                                             \
	KEY(DISK,            "disk",            "T",         1, NULL)                              \
	KEY(SECTOR,          "sector",          "#",         1, NULL)                              \
	KEY(BYTES,           "bytes",           "#",         1, NULL)                              \
	KEY(OPERATION_CODE,  "operation_code",  "#",         1, NULL)                              \
	KEY(SUBMITTER,       "submitter",       "N",         1, NULL)                              \
	KEY(FILE,            "file",            "m##",       3, "this is no device, inode and page") \
	KEY(BELOW,           "below",           "r*",        0, NULL)                              \
	KEY(REASON,          "reason",          "T",         1, NULL)                              \
	KEY(REASON_BY,       "reason_by",       "N",         1, NULL)                              \
	KEY(LIMIT,           "limit",           "t##",       3, "a row is a time and two groups")  \
	KEY(SWAP,            "swap",            "#",         1, NULL)                              \
	KEY(PAGES,           "pages",           "m####t##wn*", 9,                                   \
	    "a row is a device, an inode, place, bytes, sector, time, two numbers and an evidence") \
	/* CPUs, and by the first of them the capture as a whole */                                \
	KEY(CPU,             "cpu",             "c",         1, NULL)                              \
	KEY(CAPTURE,         "capture",         "tt",        2, NULL)                              \
	KEY(CAPTURE_FILE,    "capture.file",    "###tt#",    6, NULL)                              \
	KEY(CAPTURE_COST,    "capture.cost",    "###",       3, NULL)                              \
	KEY(CAPTURE_COUNTS,  "capture.counts",  "##",        2, NULL)                              \
	KEY(CAPTURE_LEDGER,  "capture.ledger",  "c########", 9, NULL)                              \
	KEY(CAPTURE_CLOCKS,  "capture.clocks",  "t##",       3, NULL)                              \
	KEY(CAPTURE_GAPS,    "capture.gaps",    "ctt#",      4, NULL)                              \
	KEY(CAPTURE_MISSING, "capture.missing", "#",         1, NULL)                              \
	KEY(CAPTURE_HIDDEN,  "capture.hidden",  "#",         1, NULL)                              \
	KEY(CAPTURE_META,    "capture.",        "T",         1, NULL)                              \
	KEY(LOST,            "lost",            "ctt#",      4, NULL)                              \
	KEY(FUNCTIONS,       "functions",       "f##.*",     7,                                    \
	    "a row is three numbers, a build-id and three words")                                   \
	KEY(DROPPED,         "dropped",         "tf###",     5,                                    \
	    "a row is a time, a function and three numbers")                                        \
	KEY(KNOWN_FILE,      "file.",           "###tw",     4, NULL)                              \
	KEY(KNOWN_SOCKET,    "socket.",         "#####xx,w,w,w,#,#", 7, NULL)                       \
	KEY(KNOWN_CGROUP,    "cgroup.",         "#w",        1, NULL)                              \
	KEY(KNOWN_TEXT,      "text.",           "T",         1, NULL)                              \
	KEY(KNOWN_LOCK,      "lock.",           "#m#t#n",    6, NULL)                              \
	KEY(KNOWN_ADDRESS,   "address.",        "##,w,w",    2, NULL)
/* clang-format on */

enum attribute_key {
#define ATTRIBUTE_ENUM(name, key, form, least, refusal) ATTRIBUTE_##name,
	ATTRIBUTES(ATTRIBUTE_ENUM)
#undef ATTRIBUTE_ENUM
		ATTRIBUTE_COUNT
};

struct attribute {
	const char *key, *form;
	uint8_t least;
	const char *refusal; /* of the error; NULL: the general one */
};

extern const struct attribute attribute_table[ATTRIBUTE_COUNT];

/* The attribute with this key; ATTRIBUTE_COUNT: there is none. */
enum attribute_key attribute_find(const char *key);

#define ATTRIBUTE_ADDRESS_SIZE 16

union attribute_field {
	uint64_t number;	/* t # c r f m +; of a device its number */
	const char *word;	/* n w . */
	const uint8_t *address; /* x */
};

/* The letter of a form's next field, 0 at its end. `ret_comma`: a comma comes
 * before it. */
static inline char attribute_next_field(const char **form, bool *ret_comma)
{
	const char *at = *form;
	char letter;

	*ret_comma = *at == ',';
	at += *ret_comma;
	letter = *at;
	if (letter && at[1] != '*')
		at++;
	*form = at;
	return letter;
}

#endif
