/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of subcommands, and finding one by its name.
 */
#include "cli/front/commands.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

const struct clew_command clew_commands[] = {
	{"record", CLEW_GROUP_FIRST, "[-- COMMAND ARG..]",
	 "record this machine into a capture file", clew_command_record, clew_record_options, true,
	 CLEW_OUTPUT_RAW,
	 "  clew record -d 10s\n"
	 "      everything on this machine for ten seconds, into trace.clew\n"
	 "  clew record -o build.clew -- make -j4\n"
	 "      while a command runs\n"
	 "  clew record -f '/usr/sbin/nginx:ngx_http_*' -f libc.so.6:malloc -d 10s\n"
	 "      and when threads are in these functions\n"},
	{"trigger", CLEW_GROUP_RECORD, "test CAPTURE RULE",
	 "when a rule about long waits would have fired", clew_command_trigger,
	 clew_trigger_options, false, CLEW_OUTPUT_LINES,
	 "  clew trigger test slow.clew 'wait fsync > 50ms'\n"
	 "      which waits for fsync were longer\n"
	 "  clew trigger test slow.clew 'lock wait > 20ms' --json\n"
	 "      waits for locks, for a script\n"
	 "  clew trigger test slow.clew 'request write vda > 20ms'\n"
	 "      writes for which the disk vda took longer\n"},
	{"daemon", CLEW_GROUP_RECORD, "[status|stop]",
	 "record all the time, and keep the last minutes", clew_command_daemon, clew_daemon_options,
	 false, CLEW_OUTPUT_RAW,
	 "  clew daemon\n"
	 "      in the background, as /etc/clew/clew.conf says\n"
	 "  clew daemon -c my.conf --foreground\n"
	 "      as a service manager wants it\n"
	 "  clew daemon status\n"
	 "      what it keeps, and what it costs\n"
	 "  clew daemon stop\n"
	 "      end it, and wait until it has ended\n"},
	{"incidents", CLEW_GROUP_RECORD, "[ID]",
	 "what the daemon's rules fired for, and why it was slow", clew_command_incidents,
	 clew_incidents_options, false, CLEW_OUTPUT_PROSE,
	 "  clew incidents\n"
	 "      all of them, with a line about each\n"
	 "  clew incidents 42\n"
	 "      the explanation of one\n"},
	{"snapshot", CLEW_GROUP_RECORD, "[DIRECTORY]",
	 "the last time of the daemon, or of a recording with --rotate, while it goes on",
	 clew_command_snapshot, clew_snapshot_options, false, CLEW_OUTPUT_RAW,
	 "  clew snapshot --last 30s -o slow.clew\n"
	 "      the daemon's last 30 seconds as one capture\n"
	 "  clew snapshot --from 10:32:07 --to 10:32:09 -o slow.clew\n"
	 "      those of two seconds, as a log has them\n"
	 "  clew snapshot ring\n"
	 "      all that the recording into ring has kept, into snapshot.clew\n"},
	{"fetch", CLEW_GROUP_RECORD, "HOST..",
	 "what the daemons of several hosts have kept of one time, as one trace",
	 clew_command_fetch, clew_fetch_options, false, CLEW_OUTPUT_RAW,
	 "  clew fetch web1 db1 --from -30s -o incident\n"
	 "      what both did in the last 30 seconds, over ssh, as incident/stitched.ctrace\n"
	 "  clew fetch web1 db1 --from 10:32:07 --to 10:32:09 --remote 'sudo clew'\n"
	 "      two seconds, as a log has them, where clew needs sudo\n"},
	{"join", CLEW_GROUP_RECORD, "SEGMENT..",
	 "files of a recording with --rotate as one capture", clew_command_join, clew_join_options,
	 false, CLEW_OUTPUT_RAW,
	 "  clew join ring -o slow.clew\n"
	 "      all segments of the last recording in the directory ring\n"
	 "  clew join ring --from 10:32:07 --to 10:32:09 -o slow.clew\n"
	 "      those of two seconds, as a log has them\n"},
	{"top", CLEW_GROUP_FIRST, "",
	 "what threads wait for now and why, who blocks whom, again each two seconds",
	 clew_command_top, clew_top_options, false, CLEW_OUTPUT_RAW,
	 "  clew top\n"
	 "      the whole machine\n"
	 "  clew top --comm 'postgres*'\n"
	 "      PostgreSQL alone\n"
	 "  clew top -n 5 > periods.json\n"
	 "      five lines for a program\n"},
	{"report", CLEW_GROUP_FIRST, "[TRACE | -- COMMAND ARG..]",
	 "the first look: what hurt most, where the time went, who had what others waited for",
	 clew_command_report, clew_report_options, false, CLEW_OUTPUT_PROSE,
	 "  clew report\n"
	 "      the first look at trace.clew\n"
	 "  clew report -- make -j4\n"
	 "      record a command first, and look at that\n"
	 "  clew report slow.clew --from 10:32:07 --to 10:32:09\n"
	 "      two seconds of it, as a log has them\n"
	 "  clew report slow.clew --html\n"
	 "      a page for a browser, slow.html, with a timeline\n"},
	{"info", CLEW_GROUP_LOOK, "[TRACE]", "what a capture holds, what it lost and what it cost",
	 clew_command_info, clew_info_options, false, CLEW_OUTPUT_PROSE,
	 "  clew info slow.clew\n"
	 "      what is in the capture, and what it lost\n"
	 "  clew info slow.clew --json\n"
	 "      the same for a script\n"},
	{"waits", CLEW_GROUP_FIRST, "[TRACE | -- COMMAND ARG..]",
	 "every wait: on what, how long, who held it, who ended it", clew_command_waits,
	 clew_waits_options, false, CLEW_OUTPUT_LINES,
	 "  clew waits slow.clew --min 5ms\n"
	 "      the longest waits, from 5 ms on\n"
	 "  clew waits slow.clew --comm 'postgres*' --kind futex,lock\n"
	 "      what PostgreSQL waited for at locks\n"
	 "  clew waits slow.clew --by object\n"
	 "      what was waited for, in sum\n"
	 "  clew waits slow.clew --stacks\n"
	 "      from where in the code\n"},
	{"locks", CLEW_GROUP_EXPLAIN, "[TRACE | -- COMMAND ARG..]",
	 "what each contended lock cost, who held it, and why for so long", clew_command_locks,
	 clew_locks_options, false, CLEW_OUTPUT_PROSE,
	 "  clew locks slow.clew\n"
	 "      the locks that threads waited for, and what their holders did meanwhile\n"
	 "  clew locks slow.clew --comm 'mysqld*' --from 2s --to 3s\n"
	 "      the locks that MySQL waited for in one second\n"},
	{"latency", CLEW_GROUP_EXPLAIN, "[TRACE.. | -- COMMAND ARG..]",
	 "percentiles of calls, waits and operations, and where their time went",
	 clew_command_latency, clew_latency_options, false, CLEW_OUTPUT_LINES,
	 "  clew latency nginx.clew\n"
	 "      calls of the functions that `clew record -f` recorded, by path; else waits by "
	 "kind\n"
	 "  clew latency -f '/usr/sbin/nginx:ngx_http_*' -- nginx -g 'daemon off;'\n"
	 "      the same while a command runs, without a capture\n"
	 "  clew latency --live --by call --comm 'postgres*'\n"
	 "      PostgreSQL's waits in system calls, each second, until Ctrl-C\n"
	 "  clew latency monday.clew tuesday.clew --by call --json\n"
	 "      waits in system calls, of two captures together\n"},
	{"compare", CLEW_GROUP_EXPLAIN, "[BEFORE..] [-- AFTER..]",
	 "what got slower from one recording to another, because of what, and whether it is noise",
	 clew_command_compare, clew_compare_options, false, CLEW_OUTPUT_LINES,
	 "  clew compare monday.clew tuesday.clew\n"
	 "      what takes longer on Tuesday, and why\n"
	 "  clew compare old-*.clew -- new-*.clew\n"
	 "      the same from several recordings of each, so that chance counts less\n"
	 "  clew compare monday.clew --halves\n"
	 "      how much of a difference there is without any change\n"
	 "  clew compare --yesterday\n"
	 "      the last hour with that hour yesterday, of the daemon's history\n"},
	{"history", CLEW_GROUP_EXPLAIN, "[DIRECTORY]",
	 "what operations took hour by hour, as the daemon saw it, and since when",
	 clew_command_history, clew_history_options, false, CLEW_OUTPUT_LINES,
	 "  clew history\n"
	 "      the classes with most time, the last day\n"
	 "  clew history --class 'requests :8080' --last 72h\n"
	 "      since when these take longer, in three days\n"},
	{"edges", CLEW_GROUP_LOOK, "[TRACE | -- COMMAND ARG..]",
	 "who made whom go on: every dependency with its evidence", clew_command_edges,
	 clew_edges_options, false, CLEW_OUTPUT_LINES,
	 "  clew edges slow.clew --type unlock\n"
	 "      who handed a lock to whom\n"
	 "  clew edges slow.clew --tid 812\n"
	 "      what made thread 812 go on\n"
	 "  clew edges slow.clew --by kind\n"
	 "      how many of each kind, and how long they were waited for\n"},
	{"requests", CLEW_GROUP_LOOK, "[TRACE | -- COMMAND ARG..]",
	 "every block request: whose, how long queued and in the device, whom it woke",
	 clew_command_requests, clew_requests_options, false, CLEW_OUTPUT_LINES,
	 "  clew requests slow.clew\n"
	 "      the slowest requests to disks\n"
	 "  clew requests slow.clew --dev vda --by task\n"
	 "      who asked vda for how much\n"},
	{"spans", CLEW_GROUP_LOOK, "[TRACE | -- COMMAND ARG..]",
	 "how often functions were called, how long they took, and how they were left",
	 clew_command_spans, clew_spans_options, false, CLEW_OUTPUT_LINES,
	 "  clew spans nginx.clew\n"
	 "      the functions that `clew record -f` recorded; most own time first\n"
	 "  clew spans nginx.clew --name 'ngx_http_*' --list\n"
	 "      some of them, and each of their calls\n"
	 "  clew spans shop.clew --key order=1017\n"
	 "      the calls that programs announced for this order\n"},
	{"io", CLEW_GROUP_LOOK, "[TRACE | -- COMMAND ARG..]",
	 "what was written to files and by whom, what reached the disk, and who waited for it",
	 clew_command_io, clew_io_options, false, CLEW_OUTPUT_PROSE,
	 "  clew io slow.clew\n"
	 "      what was written, and what of it reached the disk\n"
	 "  clew io slow.clew --file /var/lib/db/wal\n"
	 "      one file: who wrote it, and who waited because of whom\n"
	 "  clew io slow.clew --by program --sort waited\n"
	 "      the programs, those that waited longest first\n"},
	{"why", CLEW_GROUP_FIRST, "[TRACE | -- COMMAND ARG..]",
	 "why a thread took so long, to the last nanosecond", clew_command_why, clew_why_options,
	 false, CLEW_OUTPUT_PROSE,
	 "  clew why slow.clew --slowest 3\n"
	 "      the three longest operations of all threads\n"
	 "  clew why slow.clew --comm 'postgres*' --slowest\n"
	 "      the longest operation of PostgreSQL\n"
	 "  clew why slow.clew --tid 812 --from 1.25s --to 1.5s\n"
	 "      one thread in a quarter of a second\n"
	 "  clew why slow.clew --tid 812 --steps\n"
	 "      its whole time, and the steps in their order\n"},
	{"dump", CLEW_GROUP_TRACE, "[TRACE]",
	 "all of a causal trace: its spans, dependencies and categories", clew_command_dump,
	 clew_dump_options, false, CLEW_OUTPUT_LINES,
	 "  clew dump slow.clew\n"
	 "      all spans and dependencies\n"
	 "  clew dump slow.clew --json\n"
	 "      the same for a program\n"},
	{"convert", CLEW_GROUP_TRACE, "[TRACE]",
	 "any causal trace as notation, for reading, editing and keeping", clew_command_convert,
	 clew_convert_options, false, CLEW_OUTPUT_RAW,
	 "  clew convert slow.clew -o slow.ctrace\n"
	 "      the causal trace as text\n"
	 "  clew convert slow.clew | less\n"
	 "      a look at it\n"},
	{"export", CLEW_GROUP_TOOLS, "[TRACE]",
	 "the trace for another tool: Perfetto, flame graphs, pprof", clew_command_export,
	 clew_export_options, false, CLEW_OUTPUT_RAW,
	 "  clew export slow.clew --to perfetto -o slow.pftrace\n"
	 "      to be opened at ui.perfetto.dev\n"
	 "  clew export slow.clew --to perfetto --from 2s --to 3s | gzip > slow.gz\n"
	 "      a second of it, packed\n"
	 "  clew export slow.clew --to folded --stacks wake -o slow.folded\n"
	 "      for a flame graph of what threads waited for\n"},
	{"sql", CLEW_GROUP_LOOK, "TRACE [QUESTION]",
	 "any question in SQL: waits, dependencies, requests, .. as tables", clew_command_sql,
	 clew_sql_options, false, CLEW_OUTPUT_LINES,
	 "  clew sql slow.clew\n"
	 "      the tables and their columns\n"
	 "  clew sql slow.clew 'SELECT holder, sum(ns) FROM waits GROUP BY 1'\n"
	 "      who held locks that others waited for, and for how long they waited\n"},
	{"import", CLEW_GROUP_TOOLS, "FILE",
	 "a capture of what perf, trace-cmd, ftrace or Perfetto recorded", clew_command_import,
	 clew_import_options, false, CLEW_OUTPUT_RAW,
	 "  clew import perf.txt -o slow.clew\n"
	 "      what `perf script --ns` printed of switches and wakes (docs/exports.md)\n"
	 "  clew import trace.txt -o slow.clew\n"
	 "      what trace-cmd report printed, or a copy of /sys/kernel/tracing/trace\n"},
	{"check", CLEW_GROUP_TRACE, "[TRACE]", "whether a causal trace is consistent",
	 clew_command_check, clew_check_options, false, CLEW_OUTPUT_LINES,
	 "  clew check slow.clew\n"
	 "      whether it is consistent\n"
	 "  clew check edited.ctrace\n"
	 "      the same of a trace that was edited by hand\n"},
	{"select", CLEW_GROUP_TRACE, "TRACE PATTERN",
	 "the spans or positions of a causal trace that a pattern means", clew_command_select,
	 clew_select_options, false, CLEW_OUTPUT_LINES,
	 "  clew select slow.clew '**/(^write)'\n"
	 "      the spans that the pattern selects: calls of write\n"
	 "  clew select slow.clew '(^postgres) @ 50%'\n"
	 "      the middle of each of PostgreSQL's threads\n"},
	{"path", CLEW_GROUP_EXPLAIN, "[TRACE | -- COMMAND ARG..]",
	 "the critical path between two moments, and where its time went", clew_command_path,
	 clew_path_options, false, CLEW_OUTPUT_PROSE,
	 "  clew path slow.clew --all '(^make)'\n"
	 "      how the time of each thread of make was spent\n"
	 "  clew path slow.clew --all '(^postgres)' --operations\n"
	 "      the operations of PostgreSQL, in sum\n"
	 "  clew path slow.clew --from 'db-70 @ 0%' --to 'db-70 @ 100%'\n"
	 "      between two moments of a thread\n"},
	{"slack", CLEW_GROUP_EXPLAIN, "[TRACE]",
	 "how late each part could have been, and what shortening it could gain",
	 clew_command_slack, clew_slack_options, false, CLEW_OUTPUT_LINES,
	 "  clew slack slow.clew\n"
	 "      what shortening each part alone could gain\n"
	 "  clew slack slow.clew --from 'db-70 @ 5%' --to 'db-70 @ 7%'\n"
	 "      the same for a part of the time\n"},
	{"blame", CLEW_GROUP_EXPLAIN, "[TRACE | -- COMMAND ARG..]",
	 "who kept whom waiting, for what", clew_command_blame, clew_blame_options, false,
	 CLEW_OUTPUT_PROSE,
	 "  clew blame slow.clew\n"
	 "      who kept whom waiting, for what\n"
	 "  clew blame slow.clew --from 10:32:07 --to 10:32:09\n"
	 "      the same for two seconds of it\n"
	 "  clew blame slow.clew --victims '(^postgres)'\n"
	 "      who kept PostgreSQL waiting\n"},
	{"what-if", CLEW_GROUP_EXPLAIN, "[TRACE [PROGRAM] | -- COMMAND ARG..]",
	 "how long all would have taken, had something been otherwise", clew_command_what_if,
	 clew_what_if_options, false, CLEW_OUTPUT_LINES,
	 "  clew what-if slow.clew 'scale spans(**/(^write)) by .5;'\n"
	 "      had the disk written twice as fast\n"
	 "  clew what-if slow.clew --cpus 8\n"
	 "      had the machine had eight CPUs\n"
	 "  clew what-if --try ./server:parse --span ./server:handle -- ./server\n"
	 "      parse takes longer now and then: how much does handle?\n"},
	{"pair", CLEW_GROUP_TRACE, "[TRACE]",
	 "dependencies from marks that carry a key: sent 17 here, received 17 there",
	 clew_command_pair, clew_pair_options, false, CLEW_OUTPUT_RAW,
	 "  clew pair rpc.ctrace\n"
	 "      pairs of marks 'sent 17' and 'received 17'\n"
	 "  clew pair rpc.ctrace -o joined.ctrace\n"
	 "      the trace with a dependency for each pair\n"},
	{"forest", CLEW_GROUP_TRACE, "[TRACE]",
	 "who started whom: threads and other root spans as trees", clew_command_forest,
	 clew_forest_options, false, CLEW_OUTPUT_LINES,
	 "  clew forest slow.clew\n"
	 "      who started whom, as trees\n"
	 "  clew forest slow.clew --types request\n"
	 "      who started which requests\n"},
	{"stitch", CLEW_GROUP_TRACE, "TRACE TRACE..",
	 "several traces as one, with the dependencies between them and their clocks together",
	 clew_command_stitch, clew_stitch_options, false, CLEW_OUTPUT_RAW,
	 "  clew stitch here.clew there.clew -m 'sent (.*) => got (.*)' -o both.ctrace\n"
	 "      two machines' traces as one, with one clock\n"
	 "  clew stitch a.ctrace b.ctrace c.ctrace -o all.ctrace\n"
	 "      three traces side by side\n"},
	{"annotate", CLEW_GROUP_TRACE, "TRACE [RULES]", "marks where dependencies begin and end",
	 clew_command_annotate, clew_annotate_options, false, CLEW_OUTPUT_RAW,
	 "  clew annotate both.ctrace -f rules\n"
	 "      marks where dependencies begin and end, by the rules in a file\n"
	 "  clew annotate both.ctrace -f rules -o marked.ctrace\n"
	 "      the same, kept\n"},
	{"functions", CLEW_GROUP_MACHINE, "PROGRAM [GLOB]",
	 "which functions of a program can be probed, how, and what a call then costs",
	 clew_command_functions, clew_functions_options, false, CLEW_OUTPUT_LINES,
	 "  clew functions libc.so.6 'pthread_mutex_*lock'\n"
	 "      where libc's functions would be probed, and what that costs\n"
	 "  clew functions /usr/sbin/nginx 'ngx_http_*' --json\n"
	 "      the same of a program, for a script\n"
	 "  clew functions 812 '*parse*'\n"
	 "      of all files that process 812 runs\n"},
	{"doctor", CLEW_GROUP_MACHINE, "", "what this kernel offers clew, and what is missing",
	 clew_command_doctor, clew_doctor_options, false, CLEW_OUTPUT_LINES,
	 "  clew doctor\n"
	 "      what clew can and cannot see here\n"
	 "  clew doctor --json\n"
	 "      the same for a script\n"},
	{.name = NULL},
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
	struct word_nearest nearest = {.typed = name};

	for (const struct clew_command *command = clew_commands; command->name; command++)
		word_nearest_try(&nearest, command->name);
	return nearest.best ? clew_command_find(nearest.best) : NULL;
}

static const char *const group_names[CLEW_GROUP_COUNT] = {
	[CLEW_GROUP_FIRST] = "To begin with",	    [CLEW_GROUP_RECORD] = "Recording all the time",
	[CLEW_GROUP_LOOK] = "Looking at a capture", [CLEW_GROUP_EXPLAIN] = "Explaining it",
	[CLEW_GROUP_TRACE] = "Causal traces",	    [CLEW_GROUP_TOOLS] = "To and from other tools",
	[CLEW_GROUP_MACHINE] = "This machine",
};

static void print_row(FILE *out, const char *name, const char *summary)
{
	fprintf(out, "  %-9s  %s\n", name, summary);
}

void clew_commands_print(FILE *out)
{
	fputs("clew explains why threads waited: it records a live machine and follows each wait "
	      "back to its cause.\n\n"
	      "Usage: clew COMMAND [OPTION..] [OPERAND..]\n\nCommands:\n",
	      out);
	for (unsigned group = 0; group < CLEW_GROUP_COUNT; group++) {
		fprintf(out, "%s%s:\n", group ? "\n" : "", group_names[group]);
		for (const struct clew_command *command = clew_commands; command->name; command++)
			if (command->group == group)
				print_row(out, command->name, command->summary);
	}
	print_row(out, "help", "this list, or a command's options: clew help COMMAND");
	fputs("\nOptions:\n  --help     as `clew help`, or after a command\n  --version\n"
	      "  --color    after a command: colours auto (on a terminal), always or never\n"
	      "  --no-pager after a command: long answers as they are on a terminal, too\n"
	      "\nExit status: 0 done, 1 a negative answer, 2 unusable input or arguments, 3 the "
	      "system refused.\n",
	      out);
}
