/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds questions and answers in what is sent and received. */
#include "trace/talk.h"

static struct talk question_of(const struct clew_message_record *message, uint64_t at)
{
	return (struct talk){.asked = at, .more = at, .task = message->task, .parts = 1};
}

/* One thread may send the next question after another one took the answer, but be seen first. */
static bool take_late_question(struct talk *talk, uint64_t at, struct talk *ret_over)
{
	if (!talk->before || at < talk->before)
		return false;
	*ret_over = *talk;
	ret_over->over = talk->before;
	talk->asked = talk->more = at;
	talk->answered = talk->last;
	talk->before = 0;
	talk->parts = 1;
	return true;
}

/* The same where the answer was taken for a stream's, as its question had not been seen. */
static void take_answered_question(struct talk *talk, uint64_t at)
{
	const struct talk known = *talk;

	*talk = (struct talk){.asked = at,
			      .more = at,
			      .answered = known.last,
			      .last = known.last,
			      .over = known.over,
			      .task = known.task,
			      .parts = 1};
}

static void note_crossing(struct talk_end *end)
{
	end->crossings++;
	end->pipelined |= end->crossings >= TALK_CROSSINGS;
}

static bool take_question(struct talk_end *end, const struct clew_message_record *message,
			  uint64_t at, bool crossed, struct talk *ret_over)
{
	struct talk *talk = &end->talk;
	bool over;

	if (crossed)
		note_crossing(end);
	if (talk->asked && (!talk->answered || (end->pipelined && (crossed || end->ahead)))) {
		talk->more = at;
		talk->parts++;
		end->ahead = false;
		return false;
	}
	if (talk->asked && end->side == SIDE_CLIENT && at < talk->over)
		return take_late_question(talk, at, ret_over);
	over = talk->asked;
	*ret_over = *talk;
	if (!over && end->side == SIDE_CLIENT && at < talk->last)
		take_answered_question(talk, at);
	else
		*talk = question_of(message, at);
	return over;
}

/* The part of the question that was seen last came behind the answer: it is the next question. */
static bool take_late_answer(struct talk *talk, const struct clew_message_record *message,
			     uint64_t at, struct talk *ret_over)
{
	*ret_over = *talk;
	ret_over->answered = ret_over->last = ret_over->over = at;
	ret_over->task = message->task;
	*talk = question_of(message, talk->more);
	return true;
}

static bool take_answer(struct talk_end *end, const struct clew_message_record *message,
			uint64_t at, struct talk *ret_over)
{
	struct talk *talk = &end->talk;
	uint64_t over = end->side == SIDE_CLIENT ? message->header.time : at;
	bool several = end->pipelined && talk->parts > 1;

	if (!talk->asked || (talk->answered && !several && !talk_goes_on(talk, at))) {
		*ret_over = *talk;
		*talk = (struct talk){.last = at, .over = over, .task = message->task};
		return ret_over->asked;
	}
	if (end->side == SIDE_SERVER && !talk->answered && at < talk->more && at > talk->asked)
		return take_late_answer(talk, message, at, ret_over);
	talk->before = talk->answered ? talk->over : 0;
	talk->answered = talk->answered ?: at;
	talk->last = at;
	talk->over = over;
	talk->task = message->task;
	end->ahead = message->header.flags & CLEW_MESSAGE_CROSSED;
	if (end->ahead)
		note_crossing(end);
	return false;
}

bool talk_take(struct talk_end *end, const struct clew_message_record *message, uint64_t at,
	       bool crossed, struct talk *ret_over)
{
	return talk_asks(end, message)
		       ? take_question(end, message, at,
				       crossed || message->header.flags & CLEW_MESSAGE_CROSSED,
				       ret_over)
		       : take_answer(end, message, at, ret_over);
}
