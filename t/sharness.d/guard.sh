# A second fence, for where there is no first: rm of a path that begins with an empty variable is refused.
#
# SPDX-License-Identifier: MIT
# shellcheck shell=sh

rm() {
	for ews_path; do
		case $ews_path in
		"$ews_root"/* | [!/]* | '') ;;
		*)
			echo >&2 "rm: '$ews_path' is not the test's own"
			return 1
			;;
		esac
	done
	command rm "$@"
}
