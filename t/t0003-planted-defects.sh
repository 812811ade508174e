#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='The suite notices: a defect that is planted fails the run

Criterion swallows the status of its children, and a program that is expected
to fail may do so for the wrong reason. So reports go to files, and any file fails.'

# Criterion wants a socket there
ews_writable=/tmp
. "$(dirname "$0")/test-lib.sh"

if command -v valgrind >/dev/null && test -z "$EWS_SANITIZE"; then
	test_set_prereq VALGRIND_TOOL
fi

# house <name>: a little one, with the Makefile and the runner of this one, and no fence within the fence;
# its unit tests come from stdin
house() {
	mkdir -p "$1/lib/base" "$1/t/unit" &&
		cp "$EWS_SRC/Makefile" "$1/" &&
		cp "$EWS_SRC/t/run-tests" "$EWS_SRC/t/check-reports" "$EWS_SRC/t/lsan.supp" "$1/t/" &&
		printf "%s\n" "#!/bin/sh" "while test \"\$1\" != --; do shift; done; shift" "exec \"\$@\"" >"$1/t/fence" &&
		chmod +x "$1/t/fence" &&
		echo "int main(void) { return 0; }" >"$1/git-ews.c" &&
		echo "extern int nothing; int nothing;" >"$1/lib/base/nothing.c" &&
		cat >"$1/t/unit/planted.c"
}

make_unit() {
	make -C "$1" unit SANITIZE=address,undefined
}

test_expect_success 'unit tests without a defect pass' '
	house clean <<-\EOF &&
	#include <criterion/criterion.h>
	#include <stdlib.h>
	Test(clean, frees) { free(malloc(77)); }
	EOF
	make_unit clean >out 2>&1 &&
	test_grep "Tested: 1 | Passing: 1" out
'

test_expect_success 'a leak in a child of Criterion fails the run, though Criterion is content' '
	house leak <<-\EOF &&
	#include <criterion/criterion.h>
	#include <stdlib.h>
	static void *volatile kept;
	Test(leak, forgets) { kept = malloc(77); kept = NULL; }
	EOF
	test_must_fail make_unit leak >out 2>&1 &&
	test_grep "Tested: 1 | Passing: 1" out &&
	test_grep "detected memory leaks" out &&
	test_grep "1 report(s)" out &&
	mkdir swallowed &&
	ASAN_OPTIONS="log_path=\"$PWD/swallowed/log\"" leak/build/address-undefined/t/unit-tests
'

test_expect_success 'undefined behaviour in a child of Criterion fails the run' '
	house undefined <<-\EOF &&
	#include <criterion/criterion.h>
	#include <limits.h>
	static volatile int big = INT_MAX;
	Test(undefined, overflows) { big = big + 1; }
	EOF
	test_must_fail make_unit undefined >out 2>&1 &&
	test_grep "Tested: 1 | Passing: 1" out &&
	test_grep "signed integer overflow" out &&
	test_grep "1 report(s)" out
'

test_expect_success 'unit tests that run no test fail the run' '
	house none </dev/null &&
	test_must_fail make_unit none
'

test_expect_success 'a program that was expected to fail, and crashed, fails the run' '
	cat >crash.c <<-\EOF &&
	#include <stdlib.h>
	int main(int argc, char **argv)
	{
		volatile char *p = malloc(8);
		p[8 * argc] = *argv[0];
		return 1;
	}
	EOF
	cc -g -fsanitize=address -o crash crash.c &&
	mkdir runner && cp -R "$EWS_SRC/t" runner/ &&
	cat >runner/t/t9999-crash.sh <<-EOF &&
	#!/bin/sh
	test_description=crash
	. "\$(dirname "\$0")/test-lib.sh"
	test_expect_success "it fails" "
		test_must_fail \"$PWD/crash\"
	"
	test_done
	EOF
	test_must_fail env EWS_REPORTS="$PWD/reports" runner/t/run-tests t/t9999-crash.sh >out 2>&1 &&
	test_grep "Result: PASS" out &&
	test_grep "heap-buffer-overflow" out
'

test_expect_success VALGRIND_TOOL 'a leak under valgrind is a report' '
	cat >lost.c <<-\EOF &&
	#include <stdlib.h>
	static void *volatile kept;
	int main(void)
	{
		kept = malloc(77);
		kept = NULL;
		return 0;
	}
	EOF
	cc -g -o lost lost.c &&
	mkdir valgrind &&
	valgrind -q --leak-check=full --log-file="$PWD/valgrind/%p" ./lost &&
	test_must_fail "$EWS_SRC/t/check-reports" valgrind 2>err &&
	test_grep "77 bytes" err &&
	rm valgrind/* &&
	valgrind -q --leak-check=full --log-file="$PWD/valgrind/%p" true &&
	"$EWS_SRC/t/check-reports" valgrind
'

test_expect_success 'a break that no test notices fails the run of breaks' '
	mkdir -p house/t/breaks &&
	cp "$EWS_SRC/t/run-breaks" "$EWS_SRC/t/fence" house/t/ &&
	printf "test-programs:\n\t@true\n" >house/Makefile &&
	printf "right\n" >house/answer &&
	printf "unseen\n" >house/other &&
	cat >house/t/t1000-answer.sh <<-\EOF &&
	#!/bin/sh
	cd "$(dirname "$0")/.." || exit 1
	echo 1..1
	if grep -q right answer; then echo "ok 1 - P1: right"; else echo "not ok 1 - P1: right"; exit 1; fi
	EOF
	cat >house/t/breaks/P1-seen.patch <<-\EOF &&
	Test: t/t1000-answer.sh

	--- a/answer
	+++ b/answer
	@@ -1 +1 @@
	-right
	+wrong
	EOF
	house/t/run-breaks >out 2>&1 &&
	test_grep "P1-seen.*noticed" out &&
	sed "s/answer$/other/; s/right/unseen/" house/t/breaks/P1-seen.patch |
		sed "s/^Test: .*/Test: t\/t1000-answer.sh/" >house/t/breaks/P1-unseen.patch &&
	test_must_fail house/t/run-breaks >out 2>&1 &&
	test_grep "P1-unseen.*NOT NOTICED" out &&
	rm house/t/breaks/P1-unseen.patch &&
	sed "s/^-right/-left/" house/t/breaks/P1-seen.patch >house/t/breaks/P1-stale.patch &&
	test_must_fail house/t/run-breaks >out 2>&1 &&
	test_grep "P1-stale.*does not apply" out
'

test_expect_success 'each patch of t/breaks applies, and names a test' '
	for patch in "$EWS_SRC"/t/breaks/*.patch; do
		(cd "$EWS_SRC" && GIT_CEILING_DIRECTORIES=${EWS_SRC%/*} git apply --check "$patch" && test -f "$(sed -n "s/^Test: //p" "$patch")") || { echo >&2 "$patch"; return 1; }
	done
'

test_expect_success 'each limit that run-small makes small is there' '
	sed -n "s/^\t\t\(lib[^ ]* [A-Z_]* [0-9]*\)$/\1/p" "$EWS_SRC/t/run-small" >limits && test_line_count -gt 40 limits &&
	while read -r file name value; do
		test "$(grep -c "^#define $name " "$EWS_SRC/$file")" = 1 || { echo >&2 "$file $name"; return 1; }
	done <limits
'

test_expect_success FENCED 'a break that writes elsewhere reaches nothing' '
	rm house/t/breaks/* && mkdir elsewhere && sed -i "s/^if grep/. .\/answer 2>\/dev\/null; &/" house/t/t1000-answer.sh &&
	cat >house/t/breaks/P5-out.patch <<-EOF &&
	Test: t/t1000-answer.sh

	--- a/answer
	+++ b/answer
	@@ -1 +1 @@
	-right
	+echo >"$PWD/elsewhere/file"
	EOF
	house/t/run-breaks >out 2>&1 && test_grep "P5-out.*noticed" out && test_path_is_missing elsewhere/file
'

test_done
