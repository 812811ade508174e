/*
 * Checkups: see checkup.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/checkup.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"

__attribute__((format(printf, 1, 0))) static char *format(const char *fmt, va_list args)
{
	struct ews_buf text = EWS_BUF_INIT;

	ews_buf_vaddf(&text, fmt, args);
	return ews_buf_steal(&text);
}

static struct ews_check *add(struct ews_checkup *out, const char *name, enum ews_check_status status, char *message)
{
	EWS_GROW(out->items, out->n, out->cap);
	out->items[out->n] = (struct ews_check){ .name = name, .status = status, .message = message };
	return &out->items[out->n++];
}

void ews_checkup_ok(struct ews_checkup *out, const char *name, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)add(out, name, EWS_CHECK_OK, format(fmt, args));
	va_end(args);
}

struct ews_check *ews_checkup_find(struct ews_checkup *out, const char *name, enum ews_check_status status,
				   const char *fmt, ...)
{
	struct ews_check *check;
	va_list args;

	va_start(args, fmt);
	check = add(out, name, status, format(fmt, args));
	va_end(args);
	return check;
}

void ews_check_advise(struct ews_check *check, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	check->fix = format(fmt, args);
	va_end(args);
}

void ews_check_mend(struct ews_check *check, int (*mend)(const struct ews_patient *patient, const char *mend_arg),
		    const char *mend_arg, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	check->fix = format(fmt, args);
	va_end(args);
	check->mend = mend;
	check->mend_arg = ews_strdup(mend_arg);
}

struct ews_check *ews_checkup_error(struct ews_checkup *out, const char *name)
{
	struct ews_check *check = add(out, name, EWS_CHECK_PROBLEM, ews_strdup(ews_error_message()));

	if (*ews_error_hint_text())
		check->fix = ews_strdup(ews_error_hint_text());
	ews_error_clear();
	return check;
}

bool ews_checkup_has(const struct ews_checkup *checkup, const char *name)
{
	for (size_t i = 0; i < checkup->n; i++)
		if (!strcmp(checkup->items[i].name, name))
			return true;
	return false;
}

void ews_checkup_release(struct ews_checkup *checkup)
{
	for (size_t i = 0; i < checkup->n; i++) {
		free(checkup->items[i].message);
		free(checkup->items[i].fix);
		free(checkup->items[i].mend_arg);
	}
	free(checkup->items);
	*checkup = (struct ews_checkup)EWS_CHECKUP_INIT;
}
