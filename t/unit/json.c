/*
 * JSON from outside is hostile; JSON of ours loses no byte.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/json.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"

TestSuite(json, .init = ews_json_init);

static int parse(const char *text)
{
	EWS_CLEANUP(json) cJSON *root = NULL;

	return ews_json_parse(&root, text, strlen(text));
}

Test(json, only_one_whole_object_is_taken)
{
	static const char *const bad[] = { "",
					   " ",
					   "[]",
					   "1",
					   "{",
					   "{\"a\":1,",
					   "{\"a\":1}}",
					   "{} {}",
					   "{\"a\":}",
					   "{\"a\":1} x",
					   "{\"a\":1,\"a\":1}",
					   "{\"b\":[{\"a\":1,\"a\":2}]}",
					   "{\"a",
					   "{\"a\":\"\\u0000\"}",
					   "}",
					   "nul" };
	size_t i;

	cr_assert_eq(parse(" {\"a\": [1, {\"a\": null}], \"A\": \"\\\\u0000\"}\n\t "), 0);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_expect_eq(parse(bad[i]), EWS_EDAMAGED, "%s", bad[i]);
}

Test(json, a_nul_byte_is_damage)
{
	static const char text[] = "{\"a\":\"\0\"}";
	cJSON *root = NULL;

	cr_assert_eq(ews_json_parse(&root, text, sizeof(text) - 1), EWS_EDAMAGED);
	cr_assert_eq(ews_json_parse(&root, "{}\0", 3), EWS_EDAMAGED);
	cr_assert_null(root);
}

Test(json, depth_has_a_limit_that_brackets_in_strings_do_not_reach)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int i;

	ews_buf_adds(&text, "{\"a\":\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"}");
	cr_assert_eq(parse(text.ptr), 0);
	ews_buf_truncate(&text, 0);
	for (i = 0; i < 32; i++)
		ews_buf_adds(&text, "{\"a\":");
	ews_buf_adds(&text, "1}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}");
	cr_assert_eq(parse(text.ptr), 0, "%s", ews_error_message());
	ews_buf_truncate(&text, 0);
	for (i = 0; i < 100000; i++)
		ews_buf_adds(&text, "{\"a\":[");
	cr_assert_eq(parse(text.ptr), EWS_EDAMAGED);
}

Test(json, getters_name_the_key_that_is_wrong)
{
	static const char text[] = "{\"s\":\"x\",\"n\":-5,\"h\":1.5,\"e\":1e300,\"t\":true,\"a\":[],\"z\":null}";
	EWS_CLEANUP(json) cJSON *root = NULL;
	const cJSON *array;
	const char *string = "left";
	int64_t number = 7;
	bool truth = false;

	cr_assert_eq(ews_json_parse(&root, text, sizeof(text) - 1), 0);
	cr_assert_eq(ews_json_get_int(&number, root, "n"), 0);
	cr_assert_eq(number, -5);
	cr_assert_eq(ews_json_get_bool(&truth, root, "t"), 0);
	cr_assert(truth);
	cr_assert_eq(ews_json_get_array(&array, root, "a"), 0);
	cr_assert_eq(ews_json_get_int(&number, root, "h"), EWS_EDAMAGED);
	cr_assert_eq(ews_json_get_int(&number, root, "e"), EWS_EDAMAGED);
	cr_assert_eq(ews_json_get_string(&string, root, "n"), EWS_EDAMAGED);
	cr_assert_str_eq(ews_error_message(), "key 'n' is not a string");
	cr_assert_eq(ews_json_get_string(&string, root, "S"), EWS_EDAMAGED);
	cr_assert_str_eq(ews_error_message(), "key 'S' is missing");
	cr_assert_str_eq(string, "left");
	cr_assert_eq(ews_json_find_string(&string, root, "n"), EWS_EDAMAGED);
	cr_assert_eq(ews_json_find_string(&string, root, "z"), 0);
	cr_assert_null(string);
	cr_assert_eq(ews_json_find_string(&string, root, "s"), 0);
	cr_assert_str_eq(string, "x");
}

Test(json, a_path_of_odd_bytes_is_there_whole_in_base64)
{
	EWS_CLEANUP(json) cJSON *root = cJSON_CreateObject();
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;

	ews_json_add_path(root, "p", "a\xff\xe2\x82");
	ews_json_add_path(root, "q", "\xe2\x82\xac");
	ews_json_print(&out, root, false);
	cr_assert_str_eq(out.ptr, "{\"p\":\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",\"p_bytes\":\"Yf/igg==\","
				  "\"q\":\"\xe2\x82\xac\"}\n");
}

Test(json, utf8_is_what_the_rfc_says)
{
	static const char *const bad[] = { "\x80",
					   "\xc0\xaf",
					   "\xe0\x9f\xbf",
					   "\xed\xa0\x80",
					   "\xf4\x90\x80\x80",
					   "\xf0\x8f\xbf\xbf",
					   "\xf8\x88\x80\x80",
					   "\xc3" };
	size_t i;

	cr_assert(ews_json_is_utf8("a\xc3\xa4\xef\xbf\xbf\xf4\x8f\xbf\xbf"));
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_expect_not(ews_json_is_utf8(bad[i]), "%zu", i);
}

Test(json, big_numbers_are_written_without_loss)
{
	EWS_CLEANUP(json) cJSON *root = cJSON_CreateObject();
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;

	ews_json_add_int(root, "max", INT64_MAX);
	ews_json_add_int(root, "min", INT64_MIN);
	ews_json_print(&out, root, false);
	cr_assert_str_eq(out.ptr, "{\"max\":9223372036854775807,\"min\":-9223372036854775808}\n");
}

Test(json, text_with_a_nul_is_told_apart_and_there_in_full)
{
	EWS_CLEANUP(json) cJSON *root = cJSON_CreateObject();
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;

	ews_json_add_text(root, "whole", "a\xc3\xa4", 3);
	ews_json_add_text(root, "cut", "a\0b", 3);
	ews_json_print(&out, root, false);
	cr_assert_str_eq(out.ptr, "{\"whole\":\"a\xc3\xa4\",\"cut\":\"a\xef\xbf\xbd"
				  "b\",\"cut_bytes\":\"YQBi\"}\n");
}
