/*
 * A spec says what it says, and each slip of the pen by its line.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/archive_spec.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"

static int parse(struct ews_archive_spec *out, const char *text)
{
	return ews_archive_spec_parse(out, "s.yaml", "/srv/specs", text, strlen(text));
}

Test(archive_spec, all_of_it_is_read)
{
	EWS_CLEANUP(archive_spec) struct ews_archive_spec spec = EWS_ARCHIVE_SPEC_INIT;

	cr_assert_eq(parse(&spec, "keep: [a, b]\nignore: '*.log'\ncompress: zstd\nlocation: ./snapshots\nenv: [A, B]\n"
				  "static_assets:\n  one: ./x//y/\n  two: z\ndefault_ignores: no\n"),
		     0, "%s", ews_error_message());
	cr_expect_eq(spec.rules.keep.n, 2);
	cr_expect_str_eq(spec.rules.ignore.items[0], "*.log");
	cr_expect_eq(spec.compression, EWS_COMPRESSION_ZSTD);
	cr_expect_str_eq(spec.location, "/srv/specs/snapshots");
	cr_expect_eq(spec.env.n, 2);
	cr_expect_eq(spec.rules.assets.n, 2);
	cr_expect_str_eq(spec.rules.assets.items[0], "x/y");
	cr_expect(spec.rules.no_defaults && spec.has_defaults);
	cr_expect_eq(spec.warnings.n, 0);
}

Test(archive_spec, assets_may_be_a_list_and_what_is_not_said_is_as_ever)
{
	EWS_CLEANUP(archive_spec) struct ews_archive_spec spec = EWS_ARCHIVE_SPEC_INIT;

	cr_assert_eq(parse(&spec, "static_assets: [a, b/c]\nkeep:\nother: {deep: 1}\n"), 0, "%s",
		     ews_error_message());
	cr_expect_eq(spec.rules.assets.n, 2);
	cr_expect_not(spec.has_compression || spec.location || spec.rules.no_defaults);
	cr_expect_eq(spec.rules.keep.n, 0);
	cr_expect_geq(spec.warnings.n, 1);
	cr_expect_str_eq(spec.warnings.items[0], "s.yaml:3: other: nobody knows this key");
}

Test(archive_spec, what_is_wrong_is_named_by_its_line)
{
	static const char *const texts[] = {
		"#\ncompress: lzma",    "#\ncompress: [gz]",           "#\nlocation: ''",
		"#\nkeep: {a: b}",      "#\nstatic_assets: /x",        "#\nstatic_assets: [../x]",
		"#\nstatic_assets: .",  "#\ndefault_ignores: perhaps", "#\nlocation: /x",
		"#\nlocation: a/../..",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct ews_archive_spec spec = EWS_ARCHIVE_SPEC_INIT;

		cr_expect_eq(parse(&spec, texts[i]), EWS_ECONFIG, "%s", texts[i]);
		cr_expect_eq(strncmp(ews_error_message(), "s.yaml:2: ", 10), 0, "%s", ews_error_message());
	}
}
