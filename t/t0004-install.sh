#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='make install and uninstall, with prefix and DESTDIR; afterwards git finds it'

. "$(dirname "$0")/test-lib.sh"

# what was built is what gets installed: -o, so that no other setting builds it again under the other tests
installs() {
	make -s -C "$EWS_SRC" BUILD="$EWS_BUILD" -o "$EWS_BUILD/git-ews" "$@"
}

test_expect_success 'install below a prefix' '
	installs install prefix="$PWD/here" &&
	cmp "$EWS_BUILD/git-ews" here/bin/git-ews &&
	test_path_is_file here/share/man/man1/git-ews.1 && test_path_is_file here/share/bash-completion/completions/git-ews
'

test_expect_success 'git ews, from there' '
	PATH="$PWD/here/bin:/usr/bin:/bin" git ews version >out &&
	test_grep "^git-ews version [0-9]" out
'

# The pages are found by themselves: what this machine's settings of man say has no say.
test_expect_success 'git help ews, from there' '
	MAN_TEST_DISABLE_SYSTEM_CONFIG=1 && export MAN_TEST_DISABLE_SYSTEM_CONFIG &&
	PATH="$PWD/here/bin:/usr/bin:/bin" MANPATH="$PWD/here/share/man:" MANPAGER=cat git help ews >page &&
	test_grep "git-ews" page &&
	PATH="$PWD/here/bin:/usr/bin:/bin" MANPAGER=cat git help ews >page &&
	test_grep "git-ews" page &&
	PATH="$PWD/here/bin:/usr/bin:/bin" MANPAGER=cat git ews start --help >page &&
	test_grep "GIT-EWS-START" page
'

test_expect_success 'PREFIX is prefix, and a blank in it is no harm' '
	installs install PREFIX="$PWD/a b" DESTDIR="$PWD/d" && cmp "$EWS_BUILD/git-ews" "$PWD/d$PWD/a b/bin/git-ews" && installs uninstall PREFIX="$PWD/a b" DESTDIR="$PWD/d" &&
	find d ! -type d >left && test_must_be_empty left && installs -n install >out && test_grep "/usr/local/bin" out && PREFIX=/nowhere installs -n install >out && test_grep "/usr/local/bin" out
'

test_expect_success 'uninstall leaves no file' '
	installs uninstall prefix="$PWD/here" &&
	find here ! -type d >left &&
	test_must_be_empty left
'

test_expect_success 'DESTDIR goes before the prefix, and is not in what is installed' '
	installs install DESTDIR="$PWD/stage" prefix=/usr &&
	cmp "$EWS_BUILD/git-ews" stage/usr/bin/git-ews &&
	test_path_is_file stage/usr/share/man/man1/git-ews.1 &&
	installs uninstall DESTDIR="$PWD/stage" prefix=/usr &&
	find stage ! -type d >left &&
	test_must_be_empty left
'

test_done
