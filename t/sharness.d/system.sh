# Users, tracing, and what this machine can do.
#
# Prerequisites: ROOT, !ROOT, FENCED (see t/fence), USERS (root, and another user can be played), XATTR, USERNS, TMPFS (one can be mounted), OVERLAY (likewise, as a container's image is), STRACE,
# LANDLOCK (the kernel can confine), SANITIZE and VALGRIND (the program runs under these: slow, and limits on memory fail),
# SMALL (a few is many for it: run-small).
#
# SPDX-License-Identifier: MIT
# shellcheck shell=sh

# test_as_user <command>...: run it as uid and gid 65534, in a home of its own; root is needed (USERS).
# What it may write must be given to it: test_give_user.
test_as_user() {
	ews_user_home=$SHARNESS_TRASH_DIRECTORY/home-65534
	if ! test -d "$ews_user_home"; then
		mkdir "$ews_user_home" && cp "$HOME/.gitconfig" "$ews_user_home/" &&
			test_give_user "$ews_user_home" || return 1
	fi
	HOME=$ews_user_home setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# test_give_user <path>...: it and all below belong to the user of test_as_user.
test_give_user() {
	chown -Rh 65534:65534 "$@"
}

# test_strace <log> <strace option>... -- <command>...: the calls of the command and its children.
# Leaks are not looked for meanwhile: the leak checker is a tracer, too. The calls that nobody asked for do not stop (three times as
# quick), but where a signal is put in: from a stop of that kind strace gives none.
test_strace() {
	ews_log=$1 ews_filter=--seccomp-bpf
	shift
	case $* in
	*:signal=*) ews_filter= ;;
	esac
	ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" strace -f ${ews_filter:+"$ews_filter"} -o "$ews_log" "$@"
}

# test_unread <error> <n> <regexp> <argument>...: git ews, whose n-th look at what matches ("<call> TAB <path>") fails with the error.
# 199: it takes no such look.
test_unread() {
	ews_error=$1 ews_n=$2 ews_look=$3
	shift 3
	ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" "$EWS_BUILD/t/killat" -r -w 60 -e "$ews_error" -c "$ews_look" "$ews_n" "$EWS_BIN/git-ews" "$@"
}

# test_more_looks and test_look <error> <regexp> <argument>...: git ews once for each of its looks at what matches, which fails then, and
# once with none that does. $code is what it exits with. To be used as
#	look=0 && while test_more_looks; do test_look EIO "/HEAD$" status >out 2>err && ... || return 1; done && test $look -gt 2
# Of the looks after the eighth each third alone is taken, as one place in the code looks several times; all where TEST_LOOKS is "all".
test_more_looks() {
	test "$look" = 0 || test "$code" != 199 || return 1
	if test "$look" -lt 8 || test "${TEST_LOOKS-}" = all; then look=$((look + 1)); else look=$((look + 3)); fi
	# with a program that is broken, or gone, it would go on for ever
	test $look -lt 500 || {
		echo >&2 "there is no end of its looks"
		exit 1
	}
	echo "look $look"
}

test_look() {
	ews_error=$1 ews_look=$2 code=0
	shift 2
	test_unread "$ews_error" "$look" "$ews_look" "$@" || code=$?
}

# test_stopped_at <call>[#<n>] <name> <command> <argument>...: git ews, stopped when its n-th (first) such call of <name> is done; meanwhile
# somebody runs <command>. What it says is in out and err.
test_stopped_at() {
	ews_call=${1%#*} ews_name=$2 ews_meanwhile=$3 ews_n=1
	test "$ews_call" = "$1" || ews_n=${1#*#}
	shift 3
	rm -f stopped.log
	test_strace stopped.log -qq -P "$ews_name" -e trace="$ews_call" -e inject="$ews_call:signal=SIGSTOP:when=$ews_n" "$EWS_BIN/git-ews" "$@" >out 2>err 3>&- 4>&- 5>&- &
	ews_pid=$!
	test_wait_for 30 grep -qs "stopped by SIGSTOP" stopped.log && eval "$ews_meanwhile" || {
		kill $ews_pid
		return 199
	}
	kill -CONT "$(sed -n "s/^\([0-9]*\) .*/\1/p; q" stopped.log)" && wait $ews_pid
}

# test_wait_for <seconds> <command>...: wait until the command succeeds, at most so long.
test_wait_for() {
	ews_tries=$(($1 * 20))
	shift
	until "$@"; do
		ews_tries=$((ews_tries - 1))
		test $ews_tries -gt 0 || {
			echo >&2 "waited in vain for: $*"
			return 1
		}
		sleep 0.05
	done
}

# test_in_namespace <command>...: run it where it may mount what it likes and nobody else sees that (prerequisite TMPFS).
test_in_namespace() {
	if test "$(id -u)" = 0; then unshare -m "$@"; else unshare -Urm "$@"; fi
}

case $(sed -n 's/^[^ ]* [^ ]* [^ ]* [^ ]* \/ \([^ ,]*\).*/\1/p' /proc/self/mountinfo) in
*ro*) test_set_prereq FENCED ;;
esac
if test "$(id -u)" = 0; then
	test_set_prereq ROOT
	setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null && test_set_prereq USERS
fi
ews_probe=$(mktemp "$TMPDIR/probe.XXXXXX") || exit 1
setfattr -n user.ews -v 1 "$ews_probe" 2>/dev/null && test_set_prereq XATTR
rm "$ews_probe"
unshare -Urm true 2>/dev/null && test_set_prereq USERNS
test_in_namespace mount -t tmpfs tmpfs "$TMPDIR" 2>/dev/null && test_set_prereq TMPFS
test_in_namespace sh -c 'mount -t tmpfs tmpfs "$TMPDIR" && cd "$TMPDIR" && mkdir l u w m && mount -t overlay -o lowerdir=l,upperdir=u,workdir=w,redirect_dir=off overlay m' 2>/dev/null &&
	test_set_prereq OVERLAY
strace -o /dev/null true 2>/dev/null && test_set_prereq STRACE
test "$("$EWS_BUILD/t/no-landlock" abi)" -ge 3 && test_set_prereq LANDLOCK
test -z "$EWS_SANITIZE" || test_set_prereq SANITIZE
test -z "$EWS_VALGRIND" || test_set_prereq VALGRIND
test -z "$EWS_SMALL" || test_set_prereq SMALL
