#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='what a new workspace costs: the first git status and the first make do no work, large files no memory (P2)'

. "$(dirname "$0")/test-lib.sh"

# within <command>...: it takes at most 64 MiB and 250 bytes a file, of which there are few here
within() {
	"$EWS_BUILD/t/peak" "$PWD/peak" "$@" && test "$(cat peak)" -le 65600 || { echo "$*: $(cat peak) KiB" >&2 && return 1; }
}

# Times of the index are whole seconds for git: what is as young as it is read again.
test_expect_success 'setup' '
	test_repo p && printf "out: in\n\tcp in out\n" >p/Makefile && echo 1 >p/in && echo out >>p/.gitignore &&
	git -C p add . && git -C p commit -q -m make && make -s -C p && find p ! -path "*/.git/*" ! -type d -exec touch -h -d "1 minute ago" {} + &&
	touch -d "30 seconds ago" p/out && git -C p update-index -q --refresh && start_ws p first
'

test_expect_success STRACE 'P2: the first git status reads no file and leaves the index as it is' '
	index=$(git -C "${ws:?}" rev-parse --path-format=absolute --git-path index) && stat -c "%i %Y %s" "$index" >before && (cd "${ws:?}" && test_strace "$OLDPWD/calls" -e trace=%file git status --porcelain) >out &&
	test_must_be_empty out && stat -c "%i %Y %s" "$index" >after && test_cmp before after && git -C "${ws:?}" ls-files -z | tr "\0" "\n" | grep -v "^\.git\|/\.git" >files &&
	grep "^[0-9 ]*openat(AT_FDCWD, \"" calls | sed "s/^[^\"]*\"//; s/\".*//" >opened && test_grep "index$" opened && test_must_fail grep -F -x -f files opened
'

# each_tree <suffix> <suffix>: rename the objects of the trees that are listed, from one to the other
each_tree () {
	while read -r object; do mv "p/.git/objects/$object$1" "p/.git/objects/$object$2" || return 1; done <trees
}

# With the tree of a directory out of reach git can only go by what the index says of it.
test_expect_success 'P2: the first git status reads no tree, of the project as it is and of a revision' '
	mkdir -p p/sub/deep p/sub.c/x && echo 1 >p/sub/deep/file && echo 2 >p/sub.c/x/file && echo 3 >p/sub/a && git -C p add . && git -C p commit -q -m deep &&
	git -C p commit -q --allow-empty -m later && (cd p && git ews start asis) >paths && (cd p && git ews start --base HEAD^ rev) >>paths &&
	for tree in sub sub/deep sub.c sub.c/x; do git -C p rev-parse "HEAD:$tree" | sed "s,^..,&/," || return 1; done >trees &&
	each_tree "" .gone && test_when_finished "each_tree .gone \"\"" && while read -r path; do git -C "$path" status --porcelain || return 1; done <paths >out && test_must_be_empty out
'

test_expect_success 'git finds no fault with what the index says of trees' '
	tree=$(git -C p rev-parse "HEAD^{tree}") && while read -r path; do git -C "$path" fsck && test "$(git -C "$path" write-tree)" = "$tree" || return 1; done <paths
'

test_expect_success 'P1: a tree that only the index named is gone, and git gc works after a revert' '
	test_repo gone && echo staged >gone/staged && git -C gone add staged && tree=$(git -C gone write-tree) && echo other >gone/other && start_ws -n there gone && echo new >"${there:?}/new" && git -C "$there" add new &&
	git -C gone reset -q --hard && git -C gone gc -q --prune=now && test_must_fail git -C gone cat-file -e "$tree" &&
	git -C "$there" ews revert >out && test_grep "Status: Verified" out && git -C gone gc -q --prune=now && git -C "$there" fsck
'

test_expect_success 'P2: the first make has nothing to do' '
	make -q -C "${ws:?}"
'

test_expect_success !SANITIZE,!VALGRIND 'a large file takes no memory: start, snapshot, diff, revert' '
	truncate -s 200M p/big && (cd p && within git ews start large) >path && take_ws path && echo more >>"${ws:?}/in" && cd p && within git ews snapshot create large >../id &&
	within git ews diff large >../diff && test_grep "^+more" ../diff && within git ews revert large >../out && test_grep "Status: Verified" ../out
'

test_done
