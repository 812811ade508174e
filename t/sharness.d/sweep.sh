# Verbs that are killed on their way: from a saved state, at many points, and what must hold after recover.
#
# SPDX-License-Identifier: MIT
# shellcheck shell=sh

kill_points=10

killat() {
	"$EWS_BUILD/t/killat" "$@"
}

# save <name>, restore <name>: the project and all of home, as they are now.
save() {
	mkdir "$1" && cp -a p "${1:?}/p" && cp -a "$HOME/.superqode" "${1:?}/home"
}

restore() {
	rm -rf p "$HOME/.superqode" && cp -a "${1:?}/p" p && { test ! -d "${1:?}/home" || cp -a "${1:?}/home" "$HOME/.superqode"; }
}

# No verb leaves these for good.
no_litter() {
	find p/.git "$HOME/.superqode" \( -path '*/working/*/qe' -o -path '*/working/*/trash' \) -prune -o \
		\( -name '*.lock' -o -name 'tmp_*' -o -name '.tmp-*' \) -print >litter 2>find.err
	test_must_be_empty litter
}

# sound: what holds of p whatever was killed; a test that asks for more has its own.
sound() {
	no_litter && git -C p fsck --strict --no-dangling >fsck.out 2>&1 && test_must_be_empty fsck.out
}

# sweep <saved state> <check> <verb and arguments>...: kill the verb at $kill_points points (ten; all with TEST_LONG), each
# time from the saved state, recover, and check; it must be `sound`.
sweep() {
	saved=$1 check=$2
	shift 2
	restore "$saved" && killat -o log 0 git -C p ews "$@" >out 2>err || {
		cat err >&2
		return 1
	}
	points=$(cut -f 1 log) && n=1 && step=$(((points - 1) / (kill_points - 1))) && test "$step" -ge 1 || return 1
	test -z "$TEST_LONG" || step=1
	while test "$n" -le "$points"; do
		restore "$saved" || return 1
		code=0
		killat -o log "$n" git -C p ews "$@" >out 2>err || code=$?
		test $code = 137 -o $code = 199 || {
			echo >&2 "$* at $n of $points: status $code" && cat err >&2
			return 1
		}
		timeout 60 git -C p ews recover --all >recover.out 2>recover.err && timeout 60 git -C p ews recover --all >again.out 2>again.err &&
			sound && $check || {
			echo >&2 "$* was killed at $n of $points: $(cat log)"
			cat recover.out recover.err >&2
			return 1
		}
		n=$((n + step))
	done
}
