/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one table of subcommands. See command.h for what a subcommand is.
 */
#ifndef CLEW_CLI_FRONT_COMMANDS_H
#define CLEW_CLI_FRONT_COMMANDS_H

#include "cli/front/command.h"
#include <stdio.h>

#define CLEW_VERSION "0.1"

/* All subcommands, ended by one without a name. */
extern const struct clew_command clew_commands[];

int clew_command_record(const struct clew_command *command, int argc, char **argv);
int clew_command_report(const struct clew_command *command, int argc, char **argv);
int clew_command_info(const struct clew_command *command, int argc, char **argv);
int clew_command_latency(const struct clew_command *command, int argc, char **argv);
int clew_command_locks(const struct clew_command *command, int argc, char **argv);
int clew_command_waits(const struct clew_command *command, int argc, char **argv);
int clew_command_edges(const struct clew_command *command, int argc, char **argv);
int clew_command_requests(const struct clew_command *command, int argc, char **argv);
int clew_command_io(const struct clew_command *command, int argc, char **argv);
int clew_command_why(const struct clew_command *command, int argc, char **argv);
int clew_command_dump(const struct clew_command *command, int argc, char **argv);
int clew_command_convert(const struct clew_command *command, int argc, char **argv);
int clew_command_top(const struct clew_command *command, int argc, char **argv);
int clew_command_sql(const struct clew_command *command, int argc, char **argv);
int clew_command_export(const struct clew_command *command, int argc, char **argv);
int clew_command_import(const struct clew_command *command, int argc, char **argv);
int clew_command_compare(const struct clew_command *command, int argc, char **argv);
int clew_command_history(const struct clew_command *command, int argc, char **argv);
int clew_command_check(const struct clew_command *command, int argc, char **argv);
int clew_command_snapshot(const struct clew_command *command, int argc, char **argv);
int clew_command_trigger(const struct clew_command *command, int argc, char **argv);
int clew_command_fetch(const struct clew_command *command, int argc, char **argv);
int clew_command_join(const struct clew_command *command, int argc, char **argv);
int clew_command_select(const struct clew_command *command, int argc, char **argv);
int clew_command_path(const struct clew_command *command, int argc, char **argv);
int clew_command_slack(const struct clew_command *command, int argc, char **argv);
int clew_command_blame(const struct clew_command *command, int argc, char **argv);
int clew_command_what_if(const struct clew_command *command, int argc, char **argv);
int clew_command_pair(const struct clew_command *command, int argc, char **argv);
int clew_command_forest(const struct clew_command *command, int argc, char **argv);
int clew_command_spans(const struct clew_command *command, int argc, char **argv);
int clew_command_stitch(const struct clew_command *command, int argc, char **argv);
int clew_command_annotate(const struct clew_command *command, int argc, char **argv);
int clew_command_functions(const struct clew_command *command, int argc, char **argv);
int clew_command_daemon(const struct clew_command *command, int argc, char **argv);
int clew_command_incidents(const struct clew_command *command, int argc, char **argv);
int clew_command_doctor(const struct clew_command *command, int argc, char **argv);

extern const struct clew_option clew_record_options[];
extern const struct clew_option clew_report_options[];
extern const struct clew_option clew_info_options[];
extern const struct clew_option clew_latency_options[];
extern const struct clew_option clew_locks_options[];
extern const struct clew_option clew_waits_options[];
extern const struct clew_option clew_edges_options[];
extern const struct clew_option clew_requests_options[];
extern const struct clew_option clew_io_options[];
extern const struct clew_option clew_why_options[];
extern const struct clew_option clew_dump_options[];
extern const struct clew_option clew_convert_options[];
extern const struct clew_option clew_top_options[];
extern const struct clew_option clew_sql_options[];
extern const struct clew_option clew_export_options[];
extern const struct clew_option clew_import_options[];
extern const struct clew_option clew_compare_options[];
extern const struct clew_option clew_history_options[];
extern const struct clew_option clew_check_options[];
extern const struct clew_option clew_snapshot_options[];
extern const struct clew_option clew_trigger_options[];
extern const struct clew_option clew_fetch_options[];
extern const struct clew_option clew_join_options[];
extern const struct clew_option clew_select_options[];
extern const struct clew_option clew_path_options[];
extern const struct clew_option clew_slack_options[];
extern const struct clew_option clew_blame_options[];
extern const struct clew_option clew_what_if_options[];
extern const struct clew_option clew_pair_options[];
extern const struct clew_option clew_forest_options[];
extern const struct clew_option clew_spans_options[];
extern const struct clew_option clew_stitch_options[];
extern const struct clew_option clew_annotate_options[];
extern const struct clew_option clew_functions_options[];
extern const struct clew_option clew_daemon_options[];
extern const struct clew_option clew_incidents_options[];
extern const struct clew_option clew_doctor_options[];

/* The command of this name, or NULL. */
const struct clew_command *clew_command_find(const char *name);

/* The command whose name is nearest to a mistyped one, or NULL if none is near. */
const struct clew_command *clew_command_nearest(const char *name);

/* The list of subcommands, as `clew help` shows it. */
void clew_commands_print(FILE *out);

#endif
