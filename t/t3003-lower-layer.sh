#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='what an overlay refuses to rename, as in a container each directory of its image, is moved all the same (P2, P4)'

. "$(dirname "$0")/test-lib.sh"

if ! test_have_prereq OVERLAY; then
	skip_all='no overlay can be mounted here'
	test_done
fi

# What the scripts have: m is an overlay, with the project and home in it; "commit" makes an image of what is there, of which "container" begins
# one anew each time. Each script has a namespace, and so nothing in m outlives it.
cat >lib.sh <<'EOF'
set -e
top=$PWD
SUPERQODE_HOME=${top:?}/m/.superqode
export SUPERQODE_HOME
mkdir -p layers m
mount -t tmpfs -o mode=755 tmpfs layers
mkdir layers/l0
lower=l0
n=0
# between two of the points where it is killed; all where TEST_LOOKS is "all"
step=11
test "${TEST_LOOKS-}" != all || step=1
# of a directory that somebody was killed at moving it has another one
times=-m
# not <command>...: it fails, which alone would end no script.
not() {
	if "$@"; then return 1; fi
}
container() {
	cd "${top:?}/layers"
	if mountpoint -q "${top:?}/m"; then umount "${top:?}/m"; fi
	rm -rf u w
	mkdir u w
	mount -t overlay -o "lowerdir=$lower,upperdir=u,workdir=w,redirect_dir=off" overlay "${top:?}/m"
	cd "$top"
}
commit() {
	cd "${top:?}/layers"
	umount "${top:?}/m"
	n=$((n + 1))
	mv u "l$n"
	lower=l$n:$lower
	container
}
# list_ws <file>: all of the workspace, and of git's entry of it. The index may be written anew by who looks.
list_ws() {
	"$EWS_SRC/t/lister" $times -x .git "${ws:?}" >"$1"
	cat m/p/.git/worktrees/s/HEAD m/p/.git/worktrees/s/logs/HEAD >>"$1" 2>&1 || :
}
# whole: no part of anything that is moved is left, and nothing is interrupted.
whole() {
	find m ! -path 'm/p/.git/objects/*' \( -name '.ews-half-moved' -o -perm 5700 \) >found
	test ! -s found
	git -C m/p ews status --json --all >said
	not grep '"interrupted"\|"starting"\|"ending"' said
	git -C m/p fsck --strict --no-dangling
}
# is_as <file>
is_as() {
	list_ws now
	diff "$1" now
}
killat() {
	code=0
	"$EWS_BUILD/t/killat" "$@" >out 2>err || code=$?
}
# killed_anywhere <least> <regexp> <check> <argument>...: git ews is killed at its calls that match, each time in a new container; then comes
# recover, and the check. There are more such calls than <least>.
killed_anywhere() {
	least=$1
	regexp=$2
	check=$3
	shift 3
	at=1
	while killat -c "$regexp" $at git-ews -C m/p "$@" && test $code = 137; do
		git -C m/p ews recover --all
		$check
		container
		at=$((at + step))
	done
	test $code = 199
	test $at -gt "$least"
}
container
mkdir m/p m/.superqode
cp -a p/. m/p
EOF

# in_image: run the script on stdin, after lib.sh.
in_image() {
	{ cat lib.sh && cat; } >script && test_in_namespace sh -x ./script
}

test_expect_success 'setup: a project' '
	test_repo p
'

test_expect_success 'P4: killed anywhere in a start under an id that was, or in a cleaning, recover finishes it' '
	in_image <<-\EOF
		git -C m/p ews start s
		git -C m/p ews end s
		commit
		ends() {
			git -C m/p ews path s || git -C m/p ews start s
			git -C m/p ews end s
			git -C m/p ews clean --now
			whole
		}
		for verb in "start s" "clean --now"; do
			killed_anywhere 20 "half-moved|rename|unlinkat|chmod" ends $verb
		done
	EOF
'

for method in worktree snapshot; do
	test_expect_success "P2, P4: $method: a workspace of the image ends, comes back as it was, and ends again" '
		in_image <<-\EOF
			ws=$(git -C m/p ews start --method='$method' s)
			echo edit >>"${ws:?}"/src/main.c
			mkdir -p "${ws:?}"/new/dir/deep
			echo new >"${ws:?}"/new/dir/deep/file
			chmod 555 "${ws:?}"/new/dir
			chmod 2750 "${ws:?}"/new
			touch -d 2001-02-03 "${ws:?}"/new/dir "${ws:?}"/src
			setfattr -n user.mine -v 1 "${ws:?}"/new/dir "${ws:?}" || :
			setfacl -d -m u:65534:rx "${ws:?}"/new || :
			times="-M .git"
			list_ws want
			commit
			git -C m/p ews end s
			test ! -e "${ws:?}"
			whole
			git -C m/p ews undo
			is_as want
			whole
			git -C m/p ews end s
			commit
			git -C m/p ews undo s
			is_as want
			whole
			git -C m/p ews revert s >out
			grep "Status: Verified" out
			git -C m/p ews end s
			commit
			git -C m/p ews start s
			git -C m/p ews end s
			whole
			commit
			git -C m/p ews clean --now
			whole
			ls m/.superqode/working/p/trash m/.superqode/working/p/sessions m/.superqode/working/p/qe >left
			not grep -v "^m/\|^s$\|^$" left
			git -C m/p ews start s
		EOF
	'

	test_expect_success "P4: $method: killed anywhere in its end, or in the undo of that, recover finishes it" '
		in_image <<-\EOF
			ws=$(git -C m/p ews start --method='$method' s)
			git -C "${ws:?}" commit -q --allow-empty -m work
			mkdir -p "${ws:?}"/new/dir
			echo new >"${ws:?}"/new/dir/file
			list_ws want
			commit
			ended() {
				test ! -e "${ws:?}" || git -C m/p ews end s
				whole
				git -C m/p ews undo
				is_as want
				whole
			}
			back() {
				test -e "${ws:?}" || git -C m/p ews undo s
				is_as want
				whole
			}
			killed_anywhere 20 "half-moved|rename|unlinkat|chmod" ended end --no-artifacts --force s
			git -C m/p ews end --no-artifacts s || :
			commit
			killed_anywhere 20 "half-moved|rename|unlinkat|chmod" back undo s
		EOF
	'

	test_expect_success "P4: $method: an image that was made of what a killed end left is no end either" '
		in_image <<-\EOF
			ws=$(git -C m/p ews start --method='$method' s)
			list_ws want
			commit
			killat -c "half-moved/" 9 git-ews -C m/p end --no-artifacts s
			test $code = 137
			find m -name .ews-half-moved | grep .
			commit
			git -C m/p ews recover --all
			whole
			git -C m/p ews undo
			is_as want
			whole
		EOF
	'

	test_expect_success "P4: $method: where trash is another file system, an end fails, and is none" '
		in_image <<-\EOF
			ws=$(git -C m/p ews start --method='$method' s)
			list_ws want
			mkdir -p m/.superqode/working/p/trash
			mount -t tmpfs -o mode=700 tmpfs m/.superqode/working/p/trash
			not git -C m/p ews end s 2>err
			grep "cross-device" err
			not grep "ews recover" err
			is_as want
			whole
			umount m/.superqode/working/p/trash
			git -C m/p ews end s
			mv m/.superqode/working/p/trash aside
			mkdir -m 700 m/.superqode/working/p/trash
			mount -t tmpfs -o mode=700 tmpfs m/.superqode/working/p/trash
			cp -a aside/. m/.superqode/working/p/trash
			not git -C m/p ews undo s 2>err
			grep "cross-device" err
			whole
		EOF
	'
done

test_expect_success 'P4: what somebody makes where a killed end has moved a file or a directory takes no place of the other kind' '
	in_image <<-\EOF
		ws=$(git -C m/p ews start s)
		mkdir "${ws:?}"/1
		echo older | tee "${ws:?}"/1/x >"${ws:?}"/2
		commit
		half=${ws:?}/.ews-half-moved
		at=9
		until test -f "${half:?}/1/x" && test -f "${half:?}/2" && test ! -e "${ws:?}"/1 && test ! -e "${ws:?}"/2; do
			container
			at=$((at + 1))
			killat -c half-moved $at git-ews -C m/p end --no-artifacts s
			test $code = 137
		done
		mkdir "${ws:?}"/2
		echo newer | tee "${ws:?}"/1 >"${ws:?}"/2/y
		git -C m/p ews recover --all
		test -e "${ws:?}" || git -C m/p ews undo s
		whole
		for file in 1 2/y; do
			echo newer | diff - "${ws:?}"/$file
		done
		for file in 1.ews-older-1/x 2.ews-older-1; do
			echo older | diff - "${ws:?}"/$file
		done
	EOF
'

test_expect_success 'P2, P4: in place, what a revert moves whole of the image goes, and comes back' '
	in_image <<-\EOF
		mkdir m/p/d
		seq 100 >m/p/a
		ln m/p/a m/p/d/hl
		ln m/p/a m/p/d/hl2
		git -C m/p add -A
		git -C m/p commit -q -m links
		git -C m/p ews start --method=in-place s
		echo x >>m/p/d/hl
		rm m/p/empty
		mkdir m/p/nest m/p/nest/sub m/p/out
		git -C m/p/nest init -q
		echo f >m/p/nest/sub/f
		chmod 500 m/p/nest
		echo o >m/p/out/o
		commit
		"$EWS_SRC/t/lister" -m m/p/nest >nest
		git -C m/p ews revert s >out
		grep "Status: Verified" out
		test ! -e m/p/nest
		test -f m/p/a
		git -C m/p status --porcelain >after
		test ! -s after
		whole
		git -C m/p ews undo s
		"$EWS_SRC/t/lister" -m m/p/nest | diff nest -
		whole
		# who is killed while it is made writable leaves it so
		container
		chmod 700 m/p/nest
		commit
		reverted() {
			test -e m/p/nest || git -C m/p ews undo s
			"$EWS_SRC/t/lister" -m -M .git m/p/nest >got
			grep sub/f got
			git -C m/p/nest fsck --strict
			whole
			git -C m/p ews revert s >out
			grep "Status: Verified" out
			test -z "$(git -C m/p status --porcelain)"
		}
		killed_anywhere 5 "half-moved|nest|f0" reverted revert s
	EOF
'

test_expect_success 'P4: apply --force takes what is in the way, also a directory of the image with ignored files' '
	in_image <<-\EOF
		mkdir -p m/p/d/bld
		echo b >m/p/d/b
		echo bld/ >>m/p/.gitignore
		git -C m/p add -A
		git -C m/p commit -q -m d
		echo o >m/p/d/bld/o
		commit
		ws=$(git -C m/p ews start s)
		rm -r "${ws:?}"/d
		echo file >"${ws:?}"/d
		git -C m/p ews apply --force s
		test file = "$(cat m/p/d)"
		whole
		git -C m/p ews undo
		test o = "$(cat m/p/d/bld/o)"
		whole
	EOF
'

test_expect_success 'P4: what is moved is durable, in order' '
	in_image <<-\EOF
		ordered() {
			"$EWS_BUILD/t/killat" -y -t trace 0 git-ews -C m/p "$@"
			grep "half-moved" trace
			"$EWS_SRC/t/sync-order" "${top:?}/m/p" trace
		}
		ws=$(git -C m/p ews start s)
		mkdir "${ws:?}"/new
		echo new >"${ws:?}"/new/file
		commit
		ordered end s
		commit
		ordered undo s
		git -C m/p ews end s
		commit
		ordered start s
		git -C m/p ews end s
		commit
		ordered clean --now
		git -C m/p ews start --method=in-place t
		git init -q m/p/nest
		echo f >m/p/nest/f
		commit
		ordered revert t
		commit
		ordered undo t
	EOF
'

test_expect_success 'P4: a round of the image ends, and comes back' '
	in_image <<-\EOF
		ws=$(git -C m/p ews round start --agent al)
		echo r >"${ws:?}"/r
		mkdir -p "${ws:?}"/.ews_scratch/verification
		echo s >"${ws:?}"/.ews_scratch/s
		commit
		git -C m/p ews round end --agent al
		whole
		git -C m/p ews undo
		test r = "$(cat "${ws:?}"/r)"
		whole
	EOF
'

test_done
