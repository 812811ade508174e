/*
 * Fuzz target: the lines of a session's journal, or (what begins with a brace) the record of a step.
 *
 * SPDX-License-Identifier: MIT
 */
#include "target.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "store/journal.h"
#include "store/step.h"

static void read_step(const char *data, size_t len)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	EWS_CLEANUP(step) struct ews_step again = EWS_STEP_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf text_again = EWS_BUF_INIT;
	int rc = ews_step_parse(&step, data, len);

	if (rc < 0) {
		must(rc == EWS_EDAMAGED || rc == EWS_EUNSUPPORTED, "refused with the code %d", rc);
		must(*ews_error_message(), "refused without a word");
		must(!step.id, "refused, and yet something was given out");
		return;
	}
	ews_step_format(&text, &step);
	must(ews_step_parse(&again, text.ptr, text.len) == 0, "what was written is refused: %s", ews_error_message());
	ews_step_format(&text_again, &again);
	must(!strcmp(text.ptr, text_again.ptr), "what was written is read as something else");
	must(ews_step_is_unfinished(&step) == ews_step_is_unfinished(&again), "it is in another state");
	must(ews_step_needs(&step, step.before), "it doesn't need what was before it");
	(void)ews_step_needs(&step, "snap-20260101-000000-abcdef");
}

/* Who is unfinished in a journal that holds `text` and then `more`? */
static char *unfinished(const char *text, size_t len, const char *more)
{
	EWS_CLEANUP(buf) struct ews_buf copy = EWS_BUF_INIT;
	char *id = NULL, *verb = NULL;

	ews_buf_add(&copy, text, len);
	/* as a line is appended: a torn one ends where the new one begins */
	if (*more && copy.len && copy.ptr[copy.len - 1] != '\n')
		ews_buf_addc(&copy, '\n');
	ews_buf_adds(&copy, more);
	ews_journal_parse(&id, &verb, copy.ptr);
	must(id && verb, "no answer");
	must(!*id == !*verb, "a step without a verb, or a verb without a step");
	must(strlen(id) < 80 && strlen(verb) < 40, "a step or a verb that is too long");
	must(!strpbrk(id, " \n") && !strpbrk(verb, " \n"), "a step or a verb of several words");
	free(verb);
	return id;
}

static void read_lines(const char *text, size_t len)
{
	EWS_CLEANUP(free) char *id = unfinished(text, len, "");
	EWS_CLEANUP(free) char *begun = NULL, *done = NULL, *ended = NULL;
	EWS_CLEANUP(free) char *line = ews_strfmt("done %s\n", id);

	if (memchr(text, '\0', len))
		return; /* nothing is read behind it */
	begun = unfinished(text, len, "begin op-20260101-000000-abcdef revert\n");
	must(!strcmp(begun, "op-20260101-000000-abcdef"), "a step that begins is not seen");
	done = unfinished(text, len, "begin op-20260101-000000-abcdef revert\ndone op-20260101-000000-abcdef\n");
	must(!*done, "a step that ends is not seen");
	if (!*id || !len || text[len - 1] != '\n')
		return;
	ended = unfinished(text, len, line);
	must(!*ended, "the step that was begun can't end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	ews_json_init();
	ews_error_clear();
	if (len && *data == '{')
		read_step((const char *)data, len);
	else
		read_lines((const char *)data, len);
	return 0;
}
