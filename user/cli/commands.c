/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of subcommands, and finding one by its name.
 */
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

const struct clew_command clew_commands[] = {
	{"record", "[-- COMMAND ARG..]", "record this machine into a capture file",
	 clew_command_record, clew_record_options, true},
	{"report", "[TRACE]",
	 "the first look: what hurt most, where the time went, who had what others waited for",
	 clew_command_report, clew_report_options, false},
	{"info", "[TRACE]", "what a capture holds, what it lost and what it cost",
	 clew_command_info, clew_info_options, false},
	{"waits", "[TRACE]", "every wait: on what, how long, who held it, who ended it",
	 clew_command_waits, clew_waits_options, false},
	{"edges", "[TRACE]", "who made whom go on: every dependency with its evidence",
	 clew_command_edges, clew_edges_options, false},
	{"requests", "[TRACE]",
	 "every block request: whose, how long queued and in the device, whom it woke",
	 clew_command_requests, clew_requests_options, false},
	{"io", "[TRACE]",
	 "what was written to files and by whom, what reached the disk, and who waited for it",
	 clew_command_io, clew_io_options, false},
	{"why", "[TRACE]", "why a thread took so long, to the last nanosecond", clew_command_why,
	 clew_why_options, false},
	{"dump", "[TRACE]", "all of a causal trace: its spans, dependencies and categories",
	 clew_command_dump, clew_dump_options, false},
	{"convert", "[TRACE]", "any causal trace as notation, for reading, editing and keeping",
	 clew_command_convert, clew_convert_options, false},
	{"check", "[TRACE]", "whether a causal trace is consistent", clew_command_check,
	 clew_check_options, false},
	{"select", "TRACE PATTERN", "the spans or positions of a causal trace that a pattern means",
	 clew_command_select, clew_select_options, false},
	{"path", "[TRACE]", "the critical path between two moments, and where its time went",
	 clew_command_path, clew_path_options, false},
	{"slack", "[TRACE]",
	 "how late each part could have been, and what shortening it could gain",
	 clew_command_slack, clew_slack_options, false},
	{"blame", "[TRACE]", "who kept whom waiting, for what", clew_command_blame,
	 clew_blame_options, false},
	{"what-if", "TRACE [PROGRAM]",
	 "how long all would have taken, had something been otherwise", clew_command_what_if,
	 clew_what_if_options, false},
	{"pair", "[TRACE]",
	 "dependencies from marks that carry a key: sent 17 here, received 17 there",
	 clew_command_pair, clew_pair_options, false},
	{"forest", "[TRACE]", "who started whom: threads and other root spans as trees",
	 clew_command_forest, clew_forest_options, false},
	{"stitch", "TRACE TRACE..",
	 "several traces as one, with the dependencies between them and their clocks together",
	 clew_command_stitch, clew_stitch_options, false},
	{"annotate", "TRACE [RULES]", "marks where dependencies begin and end",
	 clew_command_annotate, clew_annotate_options, false},
	{"doctor", "", "what this kernel offers clew, and what is missing", clew_command_doctor,
	 clew_doctor_options, false},
	{NULL, NULL, NULL, NULL, NULL, false},
};

const struct clew_command *clew_command_find(const char *name)
{
	for (const struct clew_command *command = clew_commands; command->name; command++)
		if (!strcmp(command->name, name))
			return command;
	return NULL;
}

const struct clew_command *clew_command_nearest(const char *name)
{
	const struct clew_command *nearest = NULL;
	unsigned least = 3;

	for (const struct clew_command *command = clew_commands; command->name; command++) {
		unsigned distance = word_distance(name, command->name);

		/* Half of a short word replaced is another word. */
		if (distance < least && distance * 2 < strlen(command->name)) {
			least = distance;
			nearest = command;
		}
	}
	return nearest;
}

void clew_commands_print(FILE *out)
{
	fputs("clew explains why threads waited: it records a live machine and follows each wait "
	      "back to its cause.\n\n"
	      "Usage: clew COMMAND [OPTION..] [OPERAND..]\n\nCommands:\n",
	      out);
	for (const struct clew_command *command = clew_commands; command->name; command++)
		fprintf(out, "  %-8s %s\n", command->name, command->summary);
	fprintf(out, "  %-8s %s\n", "help", "this list, or a command's options: clew help COMMAND");
	fputs("\nOptions:\n  --help     as `clew help`, or after a command\n  --version\n"
	      "\nExit status: 0 done, 1 a negative answer, 2 unusable input or arguments, 3 the "
	      "system refused.\n",
	      out);
}
