/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Descriptions of runtimes: what is taken, what shares a point, and what each mistake is called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "layer_text.h"

static void test_description(void **state)
{
	struct clew_layers *layers = read_text(
		"runtime r \"some\"\n"
		"object x libx.so.1 /opt/x with .some\n"
		"hidden h = x:f callee code 2 jump 1\n"
		"layout x 2.* a=0x10 b=8\n"
		"field c x:ns.type.member\n"
		"span s key=(g,u64(g+@a)) coalesce\n"
		"submit enter x:@h behind x:maker g=arg1 name=code(u64(outer.arg0+8))\n"
		"start  before x:run icall 0,2 g=arg0-0x58\n"
		"end    after x:run icall 0,2\n"
		"cancel leave x:drop g=entry.arg0 if ret==0\n"
		"prefer cheap: state enter x:change g=arg0 to=arg2 map 1=ready 2=run 6=done\n"
		"layer l\n"
		"call usdt p:q\n"
		"runtime other\n"
		"object y *\n"
		"span t repeat\n"
		"start usdt p:q key=s32(u64(arg0+4)) status=arg1&255\n"
		"end tp sched:sched_process_exit key=tid\n");
	const struct clew_runtime *r = &layers->runtimes[0], *other = &layers->runtimes[1];
	const struct clew_runtime_event *event = r->events;

	(void)state;
	assert_int_equal(layers->runtime_count, 2);
	assert_int_equal(layers->count, 1);
	assert_string_equal(r->title, "some");
	assert_int_equal(r->objects[0].glob_count, 2);
	assert_string_equal(r->objects[0].section, ".some");
	assert_int_equal(r->hidden[0].step_count, 3);
	assert_int_equal(r->hidden[0].steps[1].number, 2);
	assert_int_equal(r->offset_count, 3);
	assert_string_equal(r->offsets[2].type, "ns.type");
	assert_string_equal(r->offsets[2].member, "member");
	assert_true(r->spans[0].coalesce);
	/* A key of two numbers: the value itself, and what is read from it. */
	assert_int_equal(event[0].key_count, 2);
	assert_int_equal(event[0].keys[0].expression.number, 1);
	assert_int_equal(event[0].keys[1].expression.steps[0].size, 8);
	assert_string_equal(event[0].keys[1].expression.steps[0].offset, "a");
	assert_int_equal(event[0].outer_kind, CLEW_OUTER_BEHIND);
	assert_true(event[0].values[1].expression.is_code);
	assert_int_equal(event[0].values[1].expression.at, CLEW_AT_OUTER);
	assert_true(r->points[event[0].point].hidden);
	assert_int_equal(r->points[event[0].outer].kind, CLEW_PLACE_ENTER);
	assert_int_equal(r->points[event[1].point].call_count, 2);
	assert_int_equal(event[1].keys[0].expression.steps[0].add, -0x58);
	assert_int_equal(event[2].key_count, 0);
	assert_int_equal(event[3].outer_kind, CLEW_OUTER_ENTRY);
	assert_int_equal(event[3].condition.expression.test, '=');
	assert_true(event[4].cheap);
	assert_int_equal(event[4].state_count, 3);
	assert_int_equal(event[4].states[2].verb, CLEW_VERB_END);
	/* Points are numbered across runtimes. */
	assert_int_equal(other->points[0].number, r->point_count);
	assert_ptr_equal(clew_runtime_point(layers, r->point_count, &r), &other->points[0]);
	assert_null(clew_runtime_point(layers, r->point_count + 100, NULL));
	assert_int_equal(other->events[0].values[0].expression.operand, 255);
	assert_int_equal(other->events[1].keys[0].slot, CLEW_RUNTIME_NONE);
	clew_layers_free(layers);
}

static void test_kept(void **state)
{
	struct clew_layers *layers =
		read_text("runtime r\n"
			  "object x x\n"
			  "hidden h = x:table \"some text\" +34 jump 2\n"
			  "span s repeat\n"
			  "start  enter x:@h key=u64(arg0+16) keep=u64(arg0+16)\n"
			  "end    leave x:@h key=kept if u32(kept+88)==2\n"
			  "span t\n"
			  "submit enter x:f key=arg0\n"
			  "wait   enter x:g key=arg0\n"
			  "waited leave x:g key=entry.arg0\n");
	const struct clew_runtime *r = layers->runtimes;

	(void)state;
	assert_true(r->hidden[0].table);
	assert_string_equal(r->hidden[0].symbol, "some text");
	assert_int_equal(r->hidden[0].words, 34);
	assert_int_equal(r->hidden[0].step_count, 1);
	/* The key is the number that is kept. */
	assert_int_equal(r->points[r->events[0].point].value_count, 1);
	assert_int_equal(r->points[r->events[0].point].kept, 1);
	assert_int_equal(r->events[1].keys[0].expression.base, CLEW_BASE_KEPT);
	assert_int_equal(r->events[1].outer_kind, CLEW_OUTER_NONE);
	assert_false(r->spans[0].submits);
	assert_false(r->spans[0].waited);
	assert_true(r->spans[1].submits);
	assert_true(r->spans[1].waited);
	clew_layers_free(layers);
}

/* A lock, and a span of which several are pending with one key; parts of a span. */
static void test_kinds(void **state)
{
	struct clew_layers *layers = read_text("runtime r\n"
					       "object x libx.so\n"
					       "hidden h = x:thunk rsi\n"
					       "hidden i = x:f call 3\n"
					       "span s several\n"
					       "start before-calls x:@h key=arg0\n"
					       "end after-calls x:@h\n"
					       "span part of s\n"
					       "start after x:@i call 0,1 key=tid in=arg1\n"
					       "span m lock of s\n"
					       "want enter x:want key=arg0+4\n"
					       "wait enter x:wait key=arg0\n"
					       "span n lock\n"
					       "wake enter x:wake key=arg0\n"
					       "span ring\n"
					       "submit tp io_uring:io_uring_submit_req key=req "
					       "name=opcode\n");
	const struct clew_runtime *r = &layers->runtimes[0];

	(void)state;
	assert_true(r->hidden[0].thunk);
	assert_int_equal(r->hidden[1].steps[0].kind, CLEW_HIDDEN_CALL);
	assert_true(r->spans[0].several && !r->spans[0].lock);
	assert_int_equal(r->spans[0].of, CLEW_RUNTIME_NONE);
	assert_int_equal(r->spans[1].of, 0);
	assert_true(r->spans[2].lock && r->spans[2].wants);
	assert_int_equal(r->spans[2].of, 0);
	assert_true(r->spans[3].lock && !r->spans[3].wants);
	assert_int_equal(r->points[r->events[0].point].kind, CLEW_PLACE_BEFORE_CALLS);
	assert_int_equal(r->points[r->events[1].point].kind, CLEW_PLACE_AFTER_CALLS);
	assert_true(r->points[r->events[2].point].direct);
	assert_int_equal(r->points[r->events[2].point].call_count, 2);
	assert_int_equal(r->points[r->events[6].point].kind, CLEW_PLACE_RING_SUBMIT);
	assert_int_equal(r->events[6].values[0].slot, CLEW_RING_FIELD_OPERATION);
	clew_layers_free(layers);
}

static void test_one_point(void **state)
{
	struct clew_layers *layers = read_text("runtime r\n"
					       "object x x\n"
					       "span s\n"
					       "submit enter x:f key=arg0 queue=arg1\n"
					       "span t\n"
					       "submit enter x:f key=arg1 name=str(arg2)\n");
	const struct clew_runtime *r = layers->runtimes;

	(void)state;
	assert_int_equal(r->point_count, 1);
	assert_int_equal(r->points[0].value_count, 3);
	assert_int_equal(r->events[0].values[0].slot, r->events[1].keys[0].slot);
	clew_layers_free(layers);
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"runtime", "t:1:8: the runtime's name is missing here"},
		{"runtime a\nruntime a", "t:2:9: there is a runtime 'a' already"},
		{"runtime a b", "t:1:11: the title has to be in quotes"},
		{"runtime a\nobject", "t:2:7: a short name of the object is missing here"},
		{"runtime a\nobject x",
		 "t:2:9: the object's file name, or a pattern of it, is missing "
		 "here"},
		{"runtime a\nobject x x with", "t:2:16: the name of a section is missing here"},
		{"runtime a\nhidden h = x:f", "t:2:12: there is no 'object x' above"},
		{"runtime a\nobject x x\nhidden h = x:f other 1",
		 "t:3:16: none of 'code N', 'callee', 'jump N', 'call N'"},
		{"runtime a\nobject x x\nhidden h = x:f code", "t:3:20: a number is missing here"},
		{"runtime a\nobject x x\nhidden h = x:table f",
		 "t:3:20: a text in quotes is missing here"},
		{"runtime a\nobject x x\nhidden h = x:table \"f\" 1",
		 "t:3:24: '+' is missing here"},
		{"runtime a\nobject x x\nspan s\nwaited enter x:f",
		 "t:4:17: 'waited' needs key=EXPRESSION"},
		{"runtime a\nobject x x\nspan s\nend enter x:f key=kept",
		 "t:4:19: 'kept' is for 'leave' alone"},
		{"runtime a\nobject x x\nspan s\nend leave x:f key=ret keep=sp",
		 "t:4:23: 'keep' is for one number at the entry of a function"},
		{"runtime a\nobject x x\nspan s\nend enter x:f key=arg0 keep=arg0 keep=arg1",
		 "t:4:34: the value 'keep' is there already"},
		{"runtime a\nobject x x\nlayout x",
		 "t:3:9: the version, or a pattern of it, is missing "
		 "here"},
		{"runtime a\nobject x x\nlayout y 1 a=1", "t:3:8: there is no 'object y' above"},
		{"runtime a\nobject x x\nfield c x:type", "t:3:11: 'type' is no TYPE.MEMBER"},
		{"runtime a\nspan s what",
		 "t:2:8: none of key=KEY, repeat, coalesce, several, lock, of SPAN"},
		{"runtime a\nspan s of t", "t:2:11: there is no 'span t' above"},
		{"runtime a\nobject x x\nspan s lock\nsubmit enter x:f key=arg0",
		 "t:4:1: want, wait, waited and wake are the events of a lock, and 'want' is of "
		 "nothing else"},
		{"runtime a\nobject x x\nspan s\nwant enter x:f key=arg0",
		 "t:4:1: want, wait, waited and wake are the events of a lock, and 'want' is of "
		 "nothing else"},
		{"runtime a\nobject x x\nspan s lock\nwant enter x:f",
		 "t:4:15: 'want' needs key=EXPRESSION"},
		{"runtime a\nobject x x\nhidden h = x:thunk", "t:3:19: a register is missing here"},
		{"runtime a\nobject x x\nhidden h = x:thunk zz",
		 "t:3:20: 'zz' is no register of this machine"},
		{"runtime a\nobject x x\nspan s\nend after x:f",
		 "t:4:14: 'icall N' or 'call N' is missing here"},
		{"runtime a\nsubmit enter x:f key=arg0",
		 "t:2:1: there is no span before this event"},
		{"runtime a\nspan s\nsubmit enter x:f key=arg0",
		 "t:3:14: there is no 'object x' above"},
		{"runtime a\nobject x x\nspan s\nsubmit at x:f",
		 "t:4:8: none of enter, leave, before, after, before-calls, after-calls, usdt, tp"},
		{"runtime a\nobject x x\nspan s\nsubmit enter x:f", "t:4:17: 'submit' needs key="
								    "EXPRESSION"},
		{"runtime a\nobject x x\nspan s\nsubmit enter x:@h key=arg0",
		 "t:4:17: there is no 'hidden h' above"},
		{"runtime a\nobject x x\nspan s\nsubmit enter x:f key=arg9",
		 "t:4:22: 'arg9' is none of argN reg.NAME ret sp thread tid pid, and no value of "
		 "this "
		 "event"},
		{"runtime a\nobject x x\nspan s\nsubmit enter x:f key=reg.zz",
		 "t:4:26: 'zz' is no register of this machine"},
		{"runtime a\nobject x x\nspan s\nsubmit enter x:f "
		 "key=u64(u64(u64(u64(u64(arg0)))))",
		 "t:4:22: more than 4 reads in one value"},
		{"runtime a\nobject x x\nspan s\nsubmit enter x:f key=u64(arg0+@z)",
		 "t:4:22: there is no layout or field 'z' above"},
		{"runtime a\nobject x x\nspan s\nsubmit enter x:f key=entry.arg0",
		 "t:4:22: 'entry.' is for 'leave' alone"},
		{"runtime a\nobject x x\nspan s\nsubmit enter x:f key=outer.arg0",
		 "t:4:22: 'outer.' needs 'within' or 'behind ALIAS:FUNCTION'"},
		{"runtime a\nobject x x\nspan s\nend enter x:f key=arg0 if arg1",
		 "t:4:27: a test with & == != < is missing here"},
		{"runtime a\nobject x x\nspan s\nstate enter x:f key=arg0",
		 "t:4:16: 'state' needs to=EXPRESSION and a map"},
		{"runtime a\nobject x x\nspan s\nstate enter x:f key=arg0 to=arg1 map 1=gone",
		 "t:4:38: none of ready, run, suspend, done"},
		{"runtime a\nobject x x\nspan s\nend tp syscalls:sys_enter_exit key=tid",
		 "t:4:8: none of task:task_newtask, sched:sched_process_exit, "
		 "io_uring:io_uring_submit_req, io_uring:io_uring_complete: others would slow down "
		 "the whole machine"},
		{"runtime a\nspan s\nsubmit tp io_uring:io_uring_submit_req key=arg0",
		 "t:3:44: nothing can be read here but req, user_data, opcode, ctx and tid"},
		{"runtime a\nspan s\nsubmit tp io_uring:io_uring_submit_req key=res",
		 "t:3:44: 'res' is none of argN reg.NAME ret sp thread tid pid, and no value of "
		 "this event"},
		{"runtime a\nobject x x\nspan s\nend tp sched:sched_process_exit key=arg0",
		 "t:4:37: nothing can be read here but tid, pid and values of 'outer.'"},
		{"runtime a\nobject x x\nspan s key=(g)\nend enter x:f name=arg0",
		 "t:4:24: the span's key has a value that this event does not give"},
		{"runtime a\nobject x x\nspan s\nprefer dear: end enter x:f key=arg0",
		 "t:4:8: 'cheap:' is missing here"},
		{"runtime a\nobject x x\nspan s\nbegin enter x:f key=arg0",
		 "t:4:1: none of object, hidden, layout, field, span, submit, start, end, suspend, "
		 "resume, ready, cancel, wait, waited, wake, name, after, state, want"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct clew_layers *layers;
		char message[300];

		assert_int_equal(clew_layers_read(cases[i].text, strlen(cases[i].text), "t",
						  &layers, message, sizeof(message)),
				 -EINVAL);
		assert_string_equal(message, cases[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_description), cmocka_unit_test(test_kept),
		cmocka_unit_test(test_kinds),	    cmocka_unit_test(test_one_point),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
