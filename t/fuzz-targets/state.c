/*
 * Fuzz target: a session's state.json.
 *
 * SPDX-License-Identifier: MIT
 */
#include "target.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "store/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	EWS_CLEANUP(state) struct ews_state again = EWS_STATE_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf text_again = EWS_BUF_INIT;
	int rc;

	ews_json_init();
	ews_error_clear();
	rc = ews_state_parse(&state, (const char *)data, len);
	if (rc < 0) {
		must(rc == EWS_EDAMAGED || rc == EWS_EUNSUPPORTED, "refused with the code %d", rc);
		must(*ews_error_message(), "refused without a word");
		must(!state.id, "refused, and yet something was given out");
		return 0;
	}
	must(*ews_state_word(state.state), "a state without a word");
	ews_state_format(&text, &state);
	must(ews_state_parse(&again, text.ptr, text.len) == 0, "what was written is refused: %s",
	     ews_error_message());
	ews_state_format(&text_again, &again);
	must(!strcmp(text.ptr, text_again.ptr), "what was written is read as something else");
	return 0;
}
